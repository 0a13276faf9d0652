// tests/unit/runtime/pack/PackTest.cpp - tests of runtime/pack/Pack.h, and of
// the compile service with a pack.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// The fake worker compiles and notes what it was asked for.
#include "runtime/pack/Pack.h"

#include "runtime/compile/CompiledFile.h"
#include "support/Error.h"
#include "tests/faults/Fixture.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::runtime;

namespace {

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

class PackedKernels : public Faults {
protected:
  PackedKernels() { write(); }

  static language::CompileRequest onGpu(const std::string &kernel) {
    language::CompileRequest made = request(kernel);
    made.target = "sm_80";
    return made;
  }

  std::string path() const { return (folder.path() / "run.tpack").string(); }

  // A pack of `a` for the cpu and for sm_80.
  void write(const std::string &compiler = "build") {
    PackIndex index;
    index.compiler = compiler;
    index.command = "tessera pack --config run.yaml -o run.tpack";
    index.kernels = {{"k.py", "a", sha256Hex(request("a").text), {}}};
    std::vector<Artifact> artifacts;
    for (const auto &made : {request("a"), onGpu("a")}) {
      PackEntry entry;
      entry.request = made.key();
      entry.target = made.target;
      index.entries.push_back(entry);
      CompiledKernel kernel;
      kernel.code = "code for " + made.target;
      kernel.stages["ptx"] = "ptx";
      artifacts.push_back(toKept(made, compiler, kernel));
    }
    writeFile(path(), encodePack(index, artifacts));
  }

  CompileService::Settings with(const Pack &pack) {
    CompileService::Settings result = settings();
    result.pack = &pack;
    return result;
  }
};

} // namespace

// Nothing is started, nothing looked for: no worker, no ptxas that
// works, no cache.
TEST_F(PackedKernels, ComeFirst) {
  ::setenv("TESSERA_WORKER", "/nonexistent", 1);
  ::setenv("TESSERA_PTXAS", "/nonexistent", 1);
  const Pack pack(path());
  CompileService service(with(pack));
  EXPECT_EQ(service.get(request("a"))->code, "code for cpu:x86-64-v3:0000");
  EXPECT_EQ(service.get(onGpu("a"))->code, "code for sm_80");
  ::unsetenv("TESSERA_PTXAS");
  EXPECT_EQ(service.workers().started(), 0u);
  EXPECT_EQ(service.counters().packed, 2u);
  EXPECT_EQ(service.counters().loaded, 2u);
  EXPECT_EQ(service.counters().compiled, 0u);
  EXPECT_EQ(service.counters().packMisses, 0u);
  EXPECT_TRUE(service.cache().list().empty());
}

// What the pack lacks is compiled, and counted.
TEST_F(PackedKernels, AMissIsCountedAndCompiled) {
  const Pack pack(path());
  CompileService service(with(pack));
  EXPECT_EQ(service.get(request("b"))->code, expectedCode("b"));
  EXPECT_EQ(service.counters().packMisses, 1u);
  EXPECT_EQ(service.counters().compiled, 1u);
  ASSERT_EQ(served().size(), 1u);
  // Stages are no part of a pack, and asking for them is not a miss.
  language::CompileRequest stages = request("a");
  stages.emit = {"llvm"};
  try {
    service.get(stages);
  } catch (const Error &) {
  }
  EXPECT_EQ(service.counters().packMisses, 1u);
  EXPECT_EQ(service.counters().packed, 0u);
}

TEST_F(PackedKernels, AMissHasAReason) {
  const Pack pack(path());
  EXPECT_TRUE(pack.find(request("a")));
  EXPECT_FALSE(pack.find(request("b")));
  EXPECT_TRUE(contains(pack.whyNot(request("b")), "no code of this kernel"));
  // The command that made the pack would leave the kernel out again.
  ::unsetenv("_TESSERA_PACK_ARGUMENTS");
  EXPECT_EQ(pack.remedy(request("b")),
            "it was made by `tessera pack --config run.yaml -o run.tpack`; "
            "give that command the settings of this call, or pack a run: "
            "tessera pack --config RUN.yaml --targets cpu:x86-64-v3:0000,sm_80 "
            "-o " +
                path());
  setPackArguments({"--config", "run.yaml", "attention_params=a=1; a=2"});
  EXPECT_EQ(pack.remedy(request("b")),
            "pack this run: tessera pack --config run.yaml "
            "'attention_params=a=1; a=2' --targets cpu:x86-64-v3:0000,sm_80 "
            "-o " +
                path());
  ::unsetenv("_TESSERA_PACK_ARGUMENTS");
  language::CompileRequest other = request("a");
  other.args[1].value = language::Value(128);
  EXPECT_TRUE(contains(pack.whyNot(other), "not this configuration"));
  other = request("a");
  other.text += "# more\n";
  EXPECT_TRUE(contains(pack.whyNot(other), "text of the kernel"));
  other.target = "sm_90";
  EXPECT_EQ(pack.whyNot(other),
            "it has no code for sm_90, only for cpu:x86-64-v3:0000, sm_80");
  other.target = "cpu:x86-64-v4:001f";
  EXPECT_TRUE(
      contains(pack.whyNot(other), "TESSERA_TARGET=cpu:x86-64-v3:0000 runs"));
}

TEST_F(PackedKernels, DamagedCodeIsAnError) {
  std::string bytes = readFile(path());
  const size_t at = bytes.find("code for sm_80");
  bytes[at] = 'C';
  writeFile(path(), bytes);
  const Pack pack(path());
  CompileService service(with(pack));
  EXPECT_TRUE(service.get(request("a")));
  const std::string failure = failureOf(service, onGpu("a"));
  EXPECT_TRUE(contains(failure, "the code of `a` for sm_80 is damaged: its "
                                "checksum does not match"))
      << failure;
  EXPECT_TRUE(contains(failure, "HINT")) << failure;
}

TEST_F(PackedKernels, AnotherCompilersPackIsRefused) {
  write("elsewhere");
  const Pack pack(path());
  EXPECT_NO_THROW(pack.requireCompiler("elsewhere"));
  try {
    pack.requireCompiler("build");
    FAIL();
  } catch (const Error &error) {
    EXPECT_TRUE(contains(error.message, "was made by another compiler"));
    EXPECT_TRUE(contains(error.hint, "tessera pack --config run.yaml"));
  }
}

TEST_F(PackedKernels, WhatIsNoFileIsAnError) {
  EXPECT_THROW(Pack(folder.path() / "none"), Error);
  EXPECT_THROW(Pack(folder.path()), Error);
  writeFile(folder.path() / "empty", "");
  EXPECT_THROW(Pack(folder.path() / "empty"), Error);
}
