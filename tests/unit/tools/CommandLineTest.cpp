// tests/unit/tools/CommandLineTest.cpp - the program `tessera`, from outside.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/Cache.h"
#include "support/File.h"
#include "support/Hash.h"
#include "support/Json.h"
#include "support/Process.h"
#include "tests/unit/support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <sys/stat.h>

using namespace tessera;
namespace fs = std::filesystem;

namespace {

const char *const source = R"(import triton
import triton.language as tl


# tessera: instance add_small(x="*fp32:16", y="*fp32:16", n="i32", B=64)
# tessera: instance add_large(x="*fp32:16", y="*fp32:16", n="i32:16", B=1024)
@triton.jit
def add(x, y, n, B: tl.constexpr):
    offs = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + offs, tl.load(x + offs, mask=offs < n), mask=offs < n)
)";

class CommandLine : public testing::Test {
protected:
  CommandLine() { writeFile(folder.path() / "add.py", source); }

  CommandResult run(std::vector<std::string> arguments,
                    std::vector<std::string> environment = {}) {
    arguments.insert(arguments.begin(), TESSERA_PROGRAM);
    environment.insert(
        environment.end(),
        {"TESSERA_WORKER=" TESSERA_FAKE_WORKER,
         "FAKE_WORKER_ARTIFACT=" TESSERA_FIXTURE_KERNEL,
         "TESSERA_CACHE_DIR=" + (folder.path() / "cache").string()});
    return runCommand(arguments, std::chrono::seconds(60), environment);
  }
  std::string file() { return (folder.path() / "add.py").string(); }
  std::string out() { return (folder.path() / "out").string(); }

  void expectUsageError(const std::vector<std::string> &arguments,
                        const std::string &message, const std::string &hint) {
    const CommandResult result = run(arguments);
    EXPECT_EQ(result.status.code, 2);
    EXPECT_NE(result.errors.find(message), std::string::npos) << result.errors;
    EXPECT_NE(result.errors.find("HINT: " + hint), std::string::npos)
        << result.errors;
    EXPECT_EQ(result.output, "");
  }

  TemporaryFolder folder;
};

} // namespace

TEST_F(CommandLine, HelpTeaches) {
  CommandResult result = run({"--help"});
  EXPECT_EQ(result.status.code, 0);
  for (const char *part : {"compile", "train", "generate", "cache",
                           "TESSERA_CACHE_DIR", "First steps"})
    EXPECT_NE(result.output.find(part), std::string::npos) << part;
  result = run({"compile", "--help"});
  EXPECT_EQ(result.status.code, 0);
  EXPECT_NE(result.output.find("--signature"), std::string::npos);
  EXPECT_NE(result.output.find("Examples"), std::string::npos);
  EXPECT_EQ(run({}).status.code, 2);
}

TEST_F(CommandLine, UnknownNamesGetTheNearest) {
  expectUsageError({"complie", "x.py"}, "no verb `complie`",
                   "did you mean `compile`?");
  expectUsageError({"trian"}, "no verb `trian`", "did you mean `train`?");
  expectUsageError({"--hepl"}, "no option --hepl", "did you mean `--help`?");
  expectUsageError({"compile", file(), "--emti", "all"}, "no option --emti",
                   "did you mean `--emit`?");
  expectUsageError({"cache", "lst"}, "no verb `lst`", "did you mean `ls`?");
}

TEST_F(CommandLine, PathsThatAreNoKernelFileSayWhatTheyAre) {
  const auto message = [&](const std::string &name) {
    return run({"run", (folder.path() / name).string()}).errors;
  };
  const std::string base = folder.path().string() + "/";
  fs::create_directory(folder.path() / "folder");
  fs::create_symlink("gone.py", folder.path() / "link.py");
  ASSERT_EQ(::mkfifo((folder.path() / "pipe.py").c_str(), 0600), 0);
  EXPECT_NE(message("folder").find(base + "folder is a folder"),
            std::string::npos);
  EXPECT_NE(message("link.py").find("points to a file that does not exist"),
            std::string::npos);
  EXPECT_NE(message("pipe.py").find(base + "pipe.py is not a regular file"),
            std::string::npos);
  for (const char *name : {"ad.py", "add.PY", "add"})
    EXPECT_NE(message(name).find("HINT: did you mean " + base + "add.py?"),
              std::string::npos)
        << message(name);
}

TEST_F(CommandLine, NumbersThatAreNotUsedOrDoNotFitAreRefused) {
  const std::vector<std::string> launch = {
      "run",        file(),  "--arg", "x=fp32[64]", "--arg",
      "y=fp32[64]", "--arg", "n=64",  "--arg",      "B=64"};
  const auto refused = [&](std::vector<std::string> more,
                           const std::string &message) {
    std::vector<std::string> all = launch;
    all.insert(all.end(), more.begin(), more.end());
    const CommandResult result = run(all);
    EXPECT_NE(result.status.code, 0);
    EXPECT_NE(result.errors.find(message), std::string::npos) << result.errors;
  };
  refused({"--grid", "1,,2"}, "is not a whole number");
  refused({"--grid", "8,"}, "is not a whole number");
  refused({"--grid", "1,2,3,4"}, "at most three numbers");
  refused({"--grid", "1073741825"}, "more than 2^30");
  refused({"--device", ""}, "the value is empty");
  refused({"--input", ""}, "the value is empty");
  refused({"--lengths", "100"}, "--lengths and --heads need an instance");
  writeFile(folder.path() / "empty.py", "x = 1\n");
  EXPECT_NE(run({"run", (folder.path() / "empty.py").string()})
                .errors.find("empty.py has no kernels"),
            std::string::npos);
  const CommandResult large =
      run({"run", file(), "--grid", "1", "--arg", "x=fp32[1000000000000]",
           "--arg", "y=fp32[64]", "--arg", "n=64", "--arg", "B=64"});
  EXPECT_FALSE(large.timedOut);
  EXPECT_NE(large.errors.find("does not fit the memory of this machine"),
            std::string::npos)
      << large.errors;
  const CommandResult timeout =
      run({"replay", folder.path().string(), "--timeout", "0"});
  EXPECT_NE(timeout.errors.find("0 is not a number above 0"), std::string::npos)
      << timeout.errors;
  EXPECT_LT(timeout.errors.size(), 300u);
}

TEST_F(CommandLine, CompilesInstances) {
  CommandResult result =
      run({"compile", file(), "-i", "add_small", "--emit", "all", "-o", out()});
  EXPECT_EQ(result.status.code, 0) << result.errors;
  const fs::path base = fs::path(out()) / "add_small";
  EXPECT_EQ(readFile(base.string() + ".so"), readFile(TESSERA_FIXTURE_KERNEL));
  EXPECT_EQ(readFile(base.string() + ".tile.mlir"), "text of tile");
  EXPECT_EQ(readFile(base.string() + ".ll"), "text of llvm");
  EXPECT_EQ(readFile(base.string() + ".s"), "text of asm");
  const Json meta = parseJson(readFile(base.string() + ".json"), "meta");
  EXPECT_EQ(meta["kernel"], "add");
  EXPECT_EQ(meta["parameters"].size(), 3u);
  EXPECT_EQ(meta["arguments"][3]["value"], "64");
  EXPECT_FALSE(fs::exists(fs::path(out()) / "add_large.so"));

  // Without a choice: all instances, from the cache what is there.
  result = run({"compile", file(), "-o", out()});
  EXPECT_EQ(result.status.code, 0) << result.errors;
  EXPECT_TRUE(fs::exists(fs::path(out()) / "add_large.so"));

  result = run({"cache", "ls"});
  EXPECT_NE(result.output.find("2 kernels"), std::string::npos)
      << result.output;
  EXPECT_NE(run({"cache", "clear"}).output.find("2 kernels removed"),
            std::string::npos);
  EXPECT_NE(run({"cache", "ls"}).output.find("0 kernels"), std::string::npos);
}

// Output goes through a link or device that has the name of a result.
TEST_F(CommandLine, OutputGoesThroughLinks) {
  fs::create_directory(out());
  const fs::path text = fs::path(out()) / "add_small.ll",
                 code = fs::path(out()) / "add_small.so";
  fs::create_symlink(folder.path() / "elsewhere", text);
  fs::create_symlink("/dev/null", code);
  const CommandResult result = run(
      {"compile", file(), "-i", "add_small", "--emit", "llvm,so", "-o", out()});
  EXPECT_EQ(result.status.code, 0) << result.errors;
  EXPECT_TRUE(fs::is_symlink(text));
  EXPECT_EQ(readFile(folder.path() / "elsewhere"), "text of llvm");
  EXPECT_TRUE(fs::is_symlink(code));
  EXPECT_TRUE(fs::is_character_file(code));
}

// A pipe next to the kernel file is not a module, and opening it would block
// forever.
TEST_F(CommandLine, AnImportOfAPipeIsAnError) {
  ASSERT_EQ(::mkfifo((folder.path() / "helper.py").c_str(), 0600), 0);
  writeFile(folder.path() / "add.py", "from .helper import twice\n" +
                                          std::string(source) +
                                          "    tl.store(y, twice(n))\n");
  const CommandResult result = run({"compile", file(), "-o", out()});
  EXPECT_FALSE(result.timedOut);
  EXPECT_EQ(result.status.code, 1);
  EXPECT_NE(result.errors.find("helper.py"), std::string::npos)
      << result.errors;
  EXPECT_NE(result.errors.find("HINT"), std::string::npos) << result.errors;
}

TEST_F(CommandLine, LooksAfterTheCache) {
  ASSERT_EQ(run({"compile", file(), "-o", out()}).status.code, 0);
  auto json = [&](std::vector<std::string> arguments, int code = 0) {
    arguments.insert(arguments.begin(), "cache");
    arguments.push_back("--json");
    const CommandResult result = run(arguments);
    EXPECT_EQ(result.status.code, code) << result.errors;
    return parseJson(result.output, "output");
  };
  Json stats = json({"stats"});
  EXPECT_EQ(stats["entries"], 2);
  EXPECT_EQ(stats["kernels"]["add"]["entries"], 2);
  EXPECT_EQ(stats["stale"]["entries"], 0);
  EXPECT_EQ(stats["limit_bytes"], uint64_t(4) << 30);
  const Json listed = json({"ls"});
  EXPECT_EQ(listed["bytes"], stats["bytes"]);
  EXPECT_EQ(listed["entries"][0]["configuration"], "B=1024");
  EXPECT_EQ(json({"verify"})["checked"], 2);

  const std::string victim = listed["entries"][0]["name"];
  writeFile(folder.path() / "cache" / victim, "damaged");
  EXPECT_EQ(json({"stats"})["bad"]["entries"], 1);
  const CommandResult verified = run({"cache", "verify"});
  EXPECT_EQ(verified.status.code, 1);
  EXPECT_NE(verified.output.find("2 kernels checked, 1 bad"),
            std::string::npos);
  EXPECT_EQ(run({"cache", "verify"}).status.code, 0);
  stats = json({"stats"});
  EXPECT_EQ(stats["entries"], 1);
  EXPECT_EQ(stats["quarantined"]["entries"], 1);
  EXPECT_NE(run({"cache", "stats"}).output.find("by kernel"),
            std::string::npos);

  Json pruned = json({"prune", "--max-size", "1k", "--dry-run"});
  EXPECT_EQ(pruned["removed"].size(), 1u);
  pruned = json({"prune", "--older-than", "1h", "--max-size", "1G"});
  EXPECT_EQ(pruned["removed"].size(), 0u);
  EXPECT_GE(pruned["leftovers"], 1);
  EXPECT_EQ(json({"stats"})["quarantined"]["entries"], 0);
  EXPECT_EQ(json({"prune"})["kept"], 1);
  EXPECT_EQ(json({"prune", "--max-size", "0"})["kept"], 0);
  for (const auto &[option, value] :
       {std::pair("--max-size", "lots"), std::pair("--older-than", "30")}) {
    const CommandResult result = run({"cache", "prune", option, value});
    EXPECT_EQ(result.status.code, 1);
    EXPECT_NE(result.errors.find(std::string(option) + "=" + value),
              std::string::npos)
        << result.errors;
    EXPECT_NE(result.errors.find("HINT"), std::string::npos);
  }
  expectUsageError({"cache", "prune", "--older"}, "no option --older", "");
}

// Kernels of another build of the compiler. --stale applies no limit of size.
TEST_F(CommandLine, PrunesStaleKernels) {
  ASSERT_EQ(run({"compile", file(), "-o", out()}).status.code, 0);
  runtime::Cache cache(folder.path() / "cache");
  runtime::Artifact other;
  other.code = "code";
  other.meta = {{"kernel", "other"}, {"build", "older"}};
  ASSERT_TRUE(cache.store(sha256("other"), other));
  const auto prune = [&](std::vector<std::string> more) {
    std::vector<std::string> all = {"cache", "prune", "--stale", "--json"};
    all.insert(all.end(), more.begin(), more.end());
    const CommandResult result = run(all, {"TESSERA_CACHE_SIZE=1k"});
    EXPECT_EQ(result.status.code, 0) << result.errors;
    return parseJson(result.output, "output");
  };
  for (const Json &pruned : {prune({"--dry-run"}), prune({})}) {
    ASSERT_EQ(pruned["removed"].size(), 1u);
    EXPECT_EQ(pruned["removed"][0]["kernel"], "other");
    EXPECT_EQ(pruned["removed"][0]["stale"], true);
    EXPECT_EQ(pruned["kept"], 2);
  }
  EXPECT_EQ(prune({})["removed"].size(), 0u);
}

// Tokens of a text without a tokenizer are its bytes.
TEST_F(CommandLine, PreparesShardsOfAsManyTokens) {
  std::string lines;
  for (int i = 0; i < 10; ++i)
    lines += R"({"text": "123456789"})"
             "\n";
  writeFile(folder.path() / "texts.jsonl", lines);
  const auto shards = [&](const std::string &name,
                          const std::vector<std::string> &more) {
    const fs::path shardFolder = folder.path() / name;
    std::vector<std::string> all = {"data",
                                    "prepare",
                                    (folder.path() / "texts.jsonl").string(),
                                    "--out",
                                    shardFolder.string(),
                                    "--held-out",
                                    "0"};
    all.insert(all.end(), more.begin(), more.end());
    const CommandResult result = run(all);
    EXPECT_EQ(result.status.code, 0) << result.errors;
    return std::distance(fs::directory_iterator(shardFolder), {});
  };
  EXPECT_EQ(shards("one", {}), 1);
  EXPECT_EQ(shards("many", {"--shard-tokens", "20"}), 5);
  EXPECT_EQ(run({"data", "prepare", "x", "--out", out(), "--shard-tokens", "0"})
                .status.code,
            2);
}

TEST_F(CommandLine, CompilesASignature) {
  CommandResult result =
      run({"compile", file(), "-k", "add", "-s", "x=*bf16:16, y=*bf16, n=i64",
           "-D", "B=2*64", "--target", "cpu:x86-64-v3:0000", "-o", out()});
  EXPECT_EQ(result.status.code, 0) << result.errors;
  const Json meta = parseJson(readFile(fs::path(out()) / "add.json"), "meta");
  EXPECT_EQ(meta["arguments"][0]["type"], "*bf16:16");
  EXPECT_EQ(meta["arguments"][3]["value"], "128");
  EXPECT_EQ(meta["target"], "cpu:x86-64-v3:0000");
}

// A crash keeps the request; it can be compiled again as it was.
TEST_F(CommandLine, CompilesTheRequestOfACrash) {
  std::string crashing = source;
  crashing.replace(crashing.find("def add("), 8, "def crash(");
  writeFile(folder.path() / "add.py", crashing);
  CommandResult result = run({"compile", file(), "-i", "add_small"});
  EXPECT_EQ(result.status.code, 1);
  const size_t begin = result.errors.find("reproducer: ");
  ASSERT_NE(begin, std::string::npos) << result.errors;
  const std::string path = result.errors.substr(
      begin + 12, result.errors.find(".json", begin) + 5 - begin - 12);
  EXPECT_NE(result.errors.find("tessera compile --request " + path),
            std::string::npos)
      << result.errors;
  result = run({"compile", "--request", path});
  EXPECT_EQ(result.status.code, 1);
  EXPECT_NE(result.errors.find("signal 11"), std::string::npos)
      << result.errors;
  Json request = parseJson(readFile(path), "request");
  request["kernel"] = "add";
  writeFile(path, request.dump());
  result = run({"compile", "--request", path, "-o", out()});
  EXPECT_EQ(result.status.code, 0) << result.errors;
  EXPECT_TRUE(fs::exists(fs::path(out()) / "add.so"));
}

TEST_F(CommandLine, MistakesSayWhatToDo) {
  auto expectError = [&](const std::vector<std::string> &arguments,
                         const std::string &part) {
    std::vector<std::string> all = {"compile", file(), "-o", out()};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const CommandResult result = run(all);
    EXPECT_EQ(result.status.code, 1);
    EXPECT_NE(result.errors.find(part), std::string::npos) << result.errors;
    EXPECT_NE(result.errors.find("HINT"), std::string::npos) << result.errors;
  };
  const CommandResult nothing = run({"compile"});
  EXPECT_EQ(nothing.status.code, 1);
  EXPECT_NE(nothing.errors.find("no kernel file"), std::string::npos);
  expectError({"-i", "add_smal"}, "did you mean `add_small`?");
  expectError({"--emit", "tiel"}, "did you mean `tile`?");
  expectError({"-k", "ad"}, "add");
  expectError({"-k", "add", "-s", "x=*fp32"}, "no type or value for: y, n, B");
  expectError({"-k", "add", "-D", "C=3"}, "no parameter `C`");
  expectError({"-k", "add", "-D", "B"}, "NAME=value");
  expectError({"-i", "add_small", "--target", "cpu:z80"}, "not a target");
}

TEST_F(CommandLine, ListsAndVersion) {
  const CommandResult listed = run({"compile", file(), "--list"});
  EXPECT_EQ(listed.output, "add(x, y, n, B: constexpr)\n"
                           "  --instance add_small\n"
                           "  --instance add_large\n");
  const CommandResult version = run({"version"});
  EXPECT_NE(version.output.find("target cpu:x86-64-v"), std::string::npos);
}

// One kernel that cannot be compiled does not hide the others.
TEST_F(CommandLine, ListsKernelsThatAreNotSupported) {
  writeFile(folder.path() / "mixed.py", R"(import triton
import triton.language as tl
from elsewhere import *
DATA = b"\xff"


@triton.jit
def good(x, N: tl.constexpr):
    tl.store(x, N)


@triton.jit
def handles(x, n):
    try:
        tl.store(x, n)
    except ValueError:
        pass


def factory(n):
    @triton.jit
    def inner(y):
        tl.store(y, n)
    return inner
)");
  const std::string path = (folder.path() / "mixed.py").string();
  const CommandResult listed = run({"compile", path, "--list"});
  EXPECT_EQ(listed.status.code, 0) << listed.errors;
  EXPECT_EQ(listed.output,
            "good(x, N: constexpr)\n"
            "handles(x, n)\n"
            "  unsupported: " +
                path +
                ":14: `try` is not supported\n"
                "inner(y)\n"
                "  unsupported: " +
                path + ":22: `inner` is defined inside a function or class\n");
  const Json manifest =
      parseJson(run({"compile", path, "--list", "--json"}).output, "manifest");
  ASSERT_EQ(manifest["kernels"].size(), 3u);
  EXPECT_FALSE(manifest["kernels"][0].contains("unsupported"));
  EXPECT_EQ(manifest["kernels"][1]["unsupported"][0], "`try` is not supported");
  const CommandResult compiled =
      run({"compile", path, "-k", "handles", "-s", "x=*i32, n=i32"});
  EXPECT_EQ(compiled.status.code, 1);
  EXPECT_NE(compiled.errors.find("[UnsupportedSyntax]"), std::string::npos);
}

// The types of an example follow from what the kernel does with an argument,
// and the hint can be written as it is printed.
TEST_F(CommandLine, ExamplesOfTypesNameTheCause) {
  writeFile(folder.path() / "plain.py", R"(import triton
import triton.language as tl


@triton.jit
def f(X, LSE, Base, n, B: tl.constexpr):
    at = tl.arange(0, B)
    where = Base + at * n
    x = tl.load(X + at, mask=at < n)
    for _ in range(n):
        tl.atomic_add(where[:, None], x[:, None])
    tl.store((LSE + at), x, mask=at < n)
)");
  const CommandResult plain =
      run({"compile", (folder.path() / "plain.py").string()});
  EXPECT_NE(plain.errors.find(
                "-s \"X=*fp32:16, LSE=*fp32:16, Base=*fp32:16, n=i32, B=64\""),
            std::string::npos)
      << plain.errors;
  writeFile(folder.path() / "bare.py",
            "import triton\nimport triton.language as tl\n\n\n"
            "# tessera: instance one(X=*fp32:16, LSE=i32, S=\"i32\", B=64)\n"
            "@triton.jit\ndef f(X, LSE, S, B: tl.constexpr):\n"
            "    tl.store(X, LSE)\n");
  const CommandResult bare =
      run({"compile", (folder.path() / "bare.py").string()});
  EXPECT_NE(bare.errors.find("the types of a hint are texts"),
            std::string::npos)
      << bare.errors;
  EXPECT_NE(bare.errors.find("HINT: write # tessera: instance "
                             "one(X=\"*fp32:16\", LSE=\"i32\", S=\"i32\", "
                             "B=64)"),
            std::string::npos)
      << bare.errors;
}
