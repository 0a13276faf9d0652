// tests/unit/tools/UsageTest.cpp - wrong and unusual command lines: what each
// gives.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/File.h"
#include "support/Process.h"
#include "tests/unit/support/TemporaryFolder.h"

#include <gtest/gtest.h>

using namespace tessera;

namespace {

// Many registers, none of which looks like the one that is asked for.
std::string manyRegisters() {
  return ".version 8.7\n.target sm_80\n.address_size 64\n"
         ".visible .entry k(.param .u64 Y)\n.reqntid 32\n{\n"
         "  .reg .b32 %r<2000>;\n  .loc 1 2 4\n  mov.u32 %r1, %tid.x;\n"
         "  .file 1 \"k.py\"\n  ret;\n}\n";
}

struct Case {
  const char *command; // after `tessera`, in a shell, in the test's folder
  const char *variable;
  int code;
  const char *text; // in what it prints
  const char *hint = "";
};

class Usage : public testing::Test {
protected:
  Usage() {
    writeFile(folder.path() / "k.ptx", manyRegisters());
    writeFile(folder.path() / "add.cubin", "\x7f"
                                           "ELF\2\1");
    writeFile(folder.path() / "no_target.ptx",
              ".version 8.0\n.address_size 64\n.visible .entry k()\n{\n"
              "ret;\n}\n");
    writeFile(folder.path() / "unknown.ptx",
              ".version 8.0\n.target sm_9999\n.address_size 64\n"
              ".visible .entry k()\n{\nret;\n}\n");
    writeFile(folder.path() / "plain.py",
              "import triton\nimport triton.language as tl\n\n\n"
              "@triton.jit\ndef plain(x):\n    tl.store(x, 1.0)\n");
    writeFile(folder.path() / "add.py",
              "import triton\nimport triton.language as tl\n\n\n"
              "# tessera: instance add(x=\"*fp32\", n=\"i32\", B=64)\n"
              "@triton.jit\ndef add(x, n, B: tl.constexpr):\n"
              "    tl.store(x + tl.arange(0, B), 1.0)\n");
  }
  CommandResult run(const std::string &command, const std::string &variable) {
    return runCommand(
        {"/bin/bash", "-c",
         "cd " + folder.path().string() + " && " TESSERA_PROGRAM " " + command},
        std::chrono::seconds(60),
        {"TESSERA_WORKER=" TESSERA_FAKE_WORKER,
         "FAKE_WORKER_ARTIFACT=" TESSERA_FIXTURE_KERNEL,
         "TESSERA_CACHE_DIR=" + (folder.path() / "cache").string(), variable});
  }
  void expectCase(const Case &c) {
    const CommandResult result = run(c.command, c.variable);
    EXPECT_EQ(result.status.code, c.code) << c.command << result.errors;
    const std::string &text = c.code ? result.errors : result.output;
    EXPECT_NE(text.find(c.text), std::string::npos) << c.command << "\n"
                                                    << text;
    const std::string hint = *c.hint ? std::string("HINT: ") + c.hint : "";
    EXPECT_NE(text.find(hint), std::string::npos) << c.command << "\n" << text;
    EXPECT_LT(result.errors.size(), 1000u) << c.command;
    EXPECT_EQ(result.errors.find("no option -5"), std::string::npos);
  }
  TemporaryFolder folder;
};

} // namespace

TEST_F(Usage, Messages) {
  const std::string arg = "analyze k.ptx --arg ";
  const std::string noRegister =
      "debug k.ptx --arg i32[4] --line 2 --registers %nope";
  const std::vector<Case> cases = {
      {"--version", "A=", 0, "tessera 0."},
      {"help compile", "A=", 0, "--signature"},
      {"help cache ls", "A=", 0, "Usage: ls"},
      {"help", "A=", 0, "First steps"},
      {"help complie", "A=", 2, "`tessera` has no verb `complie`",
       "did you mean `compile`?"},
      {"help compile now", "A=", 2, "`compile` has no verb `now`",
       "see tessera help compile"},
      {"compile add.py -5", "A=", 2, "-5", "see tessera compile --help"},
      {"run add.py --grid -5", "A=", 2, "`-5` is not a whole number",
       "see tessera run --help"},
      {"data prepare --out shards", "A=", 2, "input",
       "see tessera data prepare --help"},
      {"compile add.py -o out", "TESSERA_COMPILE_TIMEOUT=0", 1,
       "TESSERA_COMPILE_TIMEOUT=0 leaves a compilation no time",
       "set it to seconds, 1 or more"},
      {"analyze k.ptx --arg 'i32[99999999999999999999999]'", "A=", 1,
       "is too large", "write 4"},
      {"analyze k.ptx --arg 'i32[4]' --grid 4294967297", "A=", 1,
       "is too large", "write 4"},
      {"report add.cubin", "A=", 1, "add.cubin is a cubin or another binary",
       "name the PTX that it was made from"},
      {"report no_target.ptx", "A=", 1, "no_target.ptx names no target",
       "add --target sm_80"},
      {"analyze unknown.ptx", "A=", 1,
       "unknown.ptx: `.target sm_9999` does not name a GPU",
       "write the compute capability"},
      {"analyze k.ptx --arg 'i32[4]' --target sm_95", "A=", 1,
       "no data of a GPU `sm_95`", "did you mean `sm_90`?"},
      {"analyze k.ptx --arg 'i32[4]' --target v1", "A=", 1,
       "no data of a GPU `v1`",
       "known GPUs: a100, a100-pcie, h100, h200, sm_80, sm_90"},
      {"layout '((((' --shape 16x16", "A=", 1, "`((((` does not end with )",
       "write NAME(OPTION=VALUE, ...)"},
      {"diff add.py nofile.py", "A=", 1, "no kernel file nofile.py"},
      {"diff add.py add.py:add", "A=", 1, "which instance of add.py?",
       "write -i NAME, or FILE.py:NAME"},
      {"diff add.py:add .", "A=", 1,
       "add.py:add is an instance, and the other side is a folder",
       "give two folders"},
      {"diff nowhere .", "A=", 1, "no file or folder nowhere",
       "give two folders"},
      {noRegister.c_str(), "A=", 1, "has no register %nope",
       "known registers: %r0, %r1"}};
  for (const Case &c : cases)
    expectCase(c);
}

TEST_F(Usage, CompileRefusesOptionsThatContradict) {
  const std::vector<Case> cases = {
      {"compile add.py -s 'x=*fp32, n=i32, B=64' -i add", "A=", 1,
       "--signature and --instance both give the types",
       "leave one of the two out"},
      {"compile add.py -s 'x=*fp32, n=i32, x=*bf16, B=64'", "A=", 1,
       "--signature gives `x` twice", "give each argument once"},
      {"compile add.py --emit ''", "A=", 2, "--emit: the value is empty",
       "see tessera compile --help"},
      {"compile add.py --list -k add", "A=", 1,
       "--list prints all kernels of the file", "leave -k, -i, -s, -D"},
      {"compile add.py --num-stages 99", "A=", 2, "--num-stages: Value 99",
       "see tessera compile --help"},
      {"compile add.py --num-warps 65", "A=", 2, "--num-warps: Value 65",
       "see tessera compile --help"},
      {"compile plain.py -i nope", "A=", 1, "plain.py names no instances",
       "give types and constexprs"},
      {"compile add.py", "TESSERA_LOG=loud", 1,
       "TESSERA_LOG=loud is not a level",
       "set it to debug, info, warning, error or off"},
      {"compile add.py", "TESSERA_PRINT_LIMIT=abc", 1,
       "TESSERA_PRINT_LIMIT=abc is not a whole number", "set it to a number"},
      {"--help", "TESSERA_LOG=loud", 0, "First steps"}};
  for (const Case &c : cases)
    expectCase(c);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "add.so"));
}

TEST_F(Usage, AListOfTargetsEndsBeforeASetting) {
  expectCase({"pack --config none.yaml --targets sm_80 model.n_heads=8 --table "
              "none model.dim=64 -o x",
              "A=", 1, "cannot read none: No such file", "check the path"});
  expectCase({"pack-cases --targets sm_80 none -o x", "A=", 1,
              "no case in none", "name a folder"});
}

// The work before would take minutes.
TEST_F(Usage, OutputsThatCannotBeWrittenAreRefusedBeforeTheWork) {
  std::filesystem::create_directory(folder.path() / "there");
  const char *missing = "the folder missing does not exist";
  const std::vector<Case> cases = {
      {"tune case --out missing/x.yaml", "A=", 1, missing,
       "create it: mkdir -p missing"},
      {"tune case --gpu h100 --out there", "A=", 1,
       "cannot write there: it is a folder", "name a file in it: there/NAME"},
      {"pack --config run.yaml -o missing/x.tpack", "A=", 1, missing,
       "create it: mkdir -p missing"},
      {"pack --config run.yaml -o k.ptx/x.tpack", "A=", 1,
       "k.ptx is not a folder", "name an output in a folder"},
      {"pack --config run.yaml --with-runtime -o k.ptx", "A=", 1,
       "k.ptx is not a folder", "name an output in a folder"},
      {"compile add.py -o k.ptx/out", "A=", 1, "k.ptx is not a folder",
       "name an output in a folder"}};
  for (const Case &c : cases)
    expectCase(c);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path() / "there"));
}

// Without the limit these commands would not end.
TEST_F(Usage, TheTimeLimitStopsPtxThatNeverEnds) {
  writeFile(folder.path() / "endless.ptx",
            ".version 8.7\n.target sm_80\n.address_size 64\n"
            ".visible .entry k()\n.reqntid 32\n{\n.reg .b32 %r<2>;\nL:\n"
            "  mov.u32 %r1, %tid.x;\n  bra L;\n}\n");
  for (const char *command :
       {"analyze endless.ptx --grid 100 --timeout 1",
        "analyze endless.ptx --lanes-apart --seed 3 --timeout 1",
        "debug endless.ptx --ptx-line 9 --hit 2 --timeout 1"}) {
    const CommandResult result = run(command, "A=");
    EXPECT_FALSE(result.timedOut) << command;
    EXPECT_EQ(result.status.code, 1) << command;
    EXPECT_NE((result.output + result.errors).find("endless-loop"),
              std::string::npos)
        << result.output << result.errors;
    EXPECT_NE(
        result.errors.find("HINT: a kernel that is only slow needs a larger "
                           "--timeout (1 s now) or a smaller --grid"),
        std::string::npos)
        << result.errors;
  }
  const CommandResult zero = run("analyze k.ptx --timeout 0", "A=");
  EXPECT_NE(zero.errors.find("0 is not a number above 0"), std::string::npos);
}

// Sanitizers reserve terabytes of addresses themselves.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// A gibibyte of addresses; the argument alone would take sixteen.
TEST_F(Usage, ALargeArgumentNamesItsSize) {
  const CommandResult result = runCommand(
      {"/bin/bash", "-c",
       "ulimit -v 1048576; exec " TESSERA_PROGRAM " analyze " +
           (folder.path() / "k.ptx").string() + " --arg 'i32[4294967296]'"},
      std::chrono::seconds(60), {});
  EXPECT_EQ(result.status.code, 1);
  EXPECT_NE(result.errors.find("takes 17179869184 bytes"), std::string::npos)
      << result.errors;
  EXPECT_NE(result.errors.find("HINT: give fewer"), std::string::npos);
}
#endif

// The help of every verb that writes lists -o,--out; --output is accepted as
// well.
TEST_F(Usage, OneSpellingOfWhereAVerbWrites) {
  for (const char *verb :
       {"compile", "run", "inspect", "report", "replay", "record", "pack",
        "pack-cases", "tune", "data prepare", "data tokenizer"}) {
    const CommandResult help = run(std::string("help ") + verb, "A=");
    EXPECT_NE(help.output.find("-o,--out TEXT"), std::string::npos)
        << verb << help.output;
    EXPECT_EQ(help.output.find("--output"), std::string::npos) << verb;
  }
  int k = 0;
  for (const char *spelling : {"-o", "--out", "--output"}) {
    const std::string to = "out" + std::to_string(k++);
    const CommandResult result =
        run("compile add.py " + std::string(spelling) + " " + to, "A=");
    EXPECT_EQ(result.status.code, 0) << result.errors;
    EXPECT_TRUE(std::filesystem::exists(folder.path() / to / "add.so"));
  }
}
