// tests/unit/autotune/choice/TablesTest.cpp - tests of
// autotune/choice/Tables.h: which configuration a launch takes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Kernels are "compiled" by the fake worker of tests/faults.
#include "autotune/choice/Tables.h"

#include "autotune/choice/FindTable.h"
#include "autotune/choice/KernelKey.h"
#include "autotune/choice/StaleEntries.h"
#include "autotune/choice/ThisMachine.h"
#include "language/Request.h"
#include "runtime/launch/KernelName.h"
#include "runtime/launch/Routing.h"
#include "support/File.h"
#include "support/Hash.h"
#include "tests/unit/autotune/table/Entries.h"
#include "tests/unit/support/TemporaryFolder.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>

using namespace tessera;
using namespace tessera::tune;
namespace fs = std::filesystem;

namespace {

const char *const source = R"(import triton
import triton.language as tl

SCALE = 2.0


@triton.jit
def helper(x):
    """Doubles."""
    return x * SCALE


# tessera: cpu(BM=32)
@triton.autotune(configs=[triton.Config({"BM": 128}, num_warps=8)], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BM"] == 0})
@triton.jit
def record(out, n, x, D: tl.constexpr, BM: tl.constexpr, EVEN: tl.constexpr):
    """Stores."""
    tl.store(out, helper(n))  # a comment
)";

// One service serves the process: its environment is set before the first use.
class Environment : public testing::Environment {
public:
  void SetUp() override {
    folder = std::make_unique<TemporaryFolder>();
    ::setenv("TESSERA_WORKER", TESSERA_FAKE_WORKER, 1);
    ::setenv("TESSERA_CACHE_DIR", (folder->path() / "cache").c_str(), 1);
    ::setenv("FAKE_WORKER_ARTIFACT", TESSERA_FIXTURE_KERNEL, 1);
    ::setenv("TESSERA_TUNED", "none", 1);
  }
  void TearDown() override { folder.reset(); }

private:
  std::unique_ptr<TemporaryFolder> folder;
};
[[maybe_unused]] auto *const environment =
    testing::AddGlobalTestEnvironment(new Environment);

const DeviceModel &here() {
  return deviceModel(runtime::findLaunchDevice("cpu"));
}

std::string textOf(std::string part = "", const std::string &other = "") {
  std::string text = source;
  if (!part.empty())
    text.replace(text.find(part), part.size(), other);
  return text;
}

// A launch of `record` and what it would run with.
struct Launch {
  explicit Launch(const std::string &text = source)
      : kernel(Kernel::fromSource(text, "record", "own.py")) {
    options.sequence = 1000;
  }

  std::vector<Arg> args() { return {Pointer{out, DType::I64}, n, 2.5}; }
  TuneKey key() { return makeKey(kernel, args(), given, options); }
  int64_t tile() {
    return std::get<int64_t>(
        kernel.configuration(args(), given, options).at("BM"));
  }
  // Whether something was compiled for it.
  bool run() {
    const uint64_t before = kernelStats().compiled;
    kernel.launch({1, 1, 1}, args(), given, options);
    return kernelStats().compiled > before;
  }

  alignas(16) int64_t out[8] = {};
  int64_t n = 96;
  Kernel kernel;
  Constexprs given = {{"D", int64_t(64)}};
  LaunchOptions options;
};

TuneEntry entryFor(const TuneKey &key, int64_t tile) {
  TuneEntry entry = someEntry();
  entry.key = key;
  entry.use.constexprs = {{"BM", tile}};
  return entry;
}

TuneTable tableWith(const TuneEntry &entry, const DeviceModel &device) {
  TuneTable table;
  table.device = device;
  table.provenance.command = "tessera tune --config run.yaml --out t.yaml";
  table.set(entry);
  return table;
}

// The table of the cpu until the end of the scope.
class UseTable {
public:
  explicit UseTable(const TuneEntry &entry) {
    useTable("cpu", tableWith(entry, here()), "t.yaml");
  }
  ~UseTable() { useTable("cpu", std::nullopt); }
};

std::string loggedBy(const std::function<void()> &body) {
  testing::internal::CaptureStderr();
  body();
  return testing::internal::GetCapturedStderr();
}

} // namespace

TEST(TuneKeys, AreWhatTheLaunchGives) {
  Launch launch;
  const TuneKey key = launch.key();
  EXPECT_EQ(key.kernel, "own.py:record");
  EXPECT_EQ(key.dtypes, std::vector<std::string>{"i64"});
  EXPECT_EQ(key.constexprs, launch.given);
  EXPECT_EQ(key.bucket, 1024);
  launch.given["EVEN"] = true; // follows from the others
  launch.n = 97;
  launch.options.sequence = 1024;
  EXPECT_EQ(launch.key(), key);
  const std::string path = "kernels/nsa/select_fwd.py";
  EXPECT_EQ(runtime::kernelName(TESSERA_SOURCE "/" + path, "f"), path + ":f");
  EXPECT_EQ(runtime::kernelName(TESSERA_SOURCE "/tests/own.py", "f"),
            "own.py:f");
}

TEST(TuneKeys, TheHashIsThatOfTheCode) {
  const std::string hash = Launch().key().textHash;
  EXPECT_EQ(hash.size(), 32u);
  for (const auto &[part, other] :
       std::vector<std::pair<std::string, std::string>>{
           {"  # a comment", ""},
           {"\"\"\"Doubles.\"\"\"", "\"\"\"Doubles\n    it.\"\"\""},
           {"    \"\"\"Stores.\"\"\"\n", ""},
           {"BM=32", "BM=64"},
           {"\"BM\": 128", "\"BM\": 256"},
           {"x * SCALE", "(x  *  SCALE)"}})
    EXPECT_EQ(Launch(textOf(part, other)).key().textHash, hash) << part;
  for (const auto &[part, other] :
       std::vector<std::pair<std::string, std::string>>{
           {"SCALE = 2.0", "SCALE = 3.0"},
           {"x * SCALE", "x + SCALE"},
           {"helper(n)", "helper(out)"}})
    EXPECT_NE(Launch(textOf(part, other)).key().textHash, hash) << part;
}

TEST(Tables, AnEditedEntryChangesTheKernelThatRuns) {
  Launch launch;
  EXPECT_EQ(launch.tile(), 32);
  EXPECT_TRUE(launch.run());
  EXPECT_FALSE(launch.run());
  const TuneTable made = tableWith(entryFor(launch.key(), 16), here());
  useTable("cpu", made);
  EXPECT_EQ(launch.tile(), 16);
  EXPECT_TRUE(launch.run());
  EXPECT_FALSE(launch.run());
  // As with an editor.
  std::string text = printTable(made);
  text.replace(text.find("{BM: 16}"), 8, "{BM: 64}");
  useTable("cpu", parseTable(text, "t.yaml"));
  EXPECT_EQ(launch.tile(), 64);
  EXPECT_TRUE(launch.run());
  EXPECT_FALSE(launch.run());
  useTable("cpu", std::nullopt);
  EXPECT_EQ(launch.tile(), 32);
  EXPECT_FALSE(launch.run());
}

TEST(Tables, HeuristicsSeeTheTunedTile) {
  Launch launch;
  const auto even = [&] {
    return std::get<bool>(
        launch.kernel.configuration(launch.args(), launch.given, launch.options)
            .at("EVEN"));
  };
  EXPECT_TRUE(even()); // 96 % 32
  const UseTable used(entryFor(launch.key(), 64));
  EXPECT_FALSE(even());
  launch.run();
  const auto request =
      launch.kernel.compileRequest(launch.args(), launch.given, launch.options);
  for (const language::Argument &argument : request.args)
    EXPECT_TRUE(argument.name != "EVEN" || argument.value.repr() == "False");
}

TEST(Tables, OnlyALaunchOfTheSameKeyTakesAnEntry) {
  Launch launch;
  const UseTable used(entryFor(launch.key(), 16));
  EXPECT_EQ(launch.tile(), 16);
  launch.options.sequence = 513; // the same bucket
  EXPECT_EQ(launch.tile(), 16);
  launch.options.sequence = 1025;
  EXPECT_EQ(launch.tile(), 32);
  launch.options.sequence = 0;
  EXPECT_EQ(launch.tile(), 32);
  launch.options.sequence = 1000;
  launch.given["D"] = int64_t(128);
  EXPECT_EQ(launch.tile(), 32);
}

TEST(Tables, ALaunchThatChoosesItselfTakesNothing) {
  Launch launch;
  const UseTable used(entryFor(launch.key(), 16));
  launch.given["BM"] = int64_t(8);
  EXPECT_EQ(launch.tile(), 8);
  launch.given.erase("BM");
  launch.options.numWarps = 4;
  EXPECT_EQ(launch.tile(), 32);
  launch.options.numWarps.reset();
  launch.options.tuned = false;
  EXPECT_EQ(launch.tile(), 32);
  launch.options.tuned = true;
  EXPECT_EQ(launch.tile(), 16);
}

TEST(Tables, WarpsAndStagesAreThoseOfTheEntry) {
  Launch launch;
  TuneEntry entry = entryFor(launch.key(), 16);
  entry.use.numWarps = 2;
  entry.use.numStages = 5;
  const UseTable used(entry);
  const auto request =
      launch.kernel.compileRequest(launch.args(), launch.given, launch.options);
  EXPECT_EQ(request.options.numWarps, 2);
  EXPECT_EQ(request.options.numStages, 5);
}

TEST(Tables, AnotherBucketIsAnotherLaunch) {
  Launch launch;
  const UseTable used(entryFor(launch.key(), 4));
  EXPECT_TRUE(launch.run());
  launch.options.sequence = 2000;
  launch.run(); // the kernel's own tile
  launch.options.sequence = 1000;
  EXPECT_FALSE(launch.run());
  EXPECT_EQ(launch.tile(), 4);
}

// Lengths around every power of two: two launches have the same tag if and only
// if their lengths fall into the same bucket. Otherwise a launch would run the
// code of a neighbouring bucket.
TEST(Tables, LaunchesHaveOneTagForEachBucket) {
  Launch launch;
  const UseTable use(entryFor(launch.key(), 64));
  const auto &device = runtime::findLaunchDevice("cpu");
  std::map<uint64_t, int64_t> bucketOfTag;
  std::map<int64_t, uint64_t> tagOfBucket;
  const auto look = [&](int64_t sequence) {
    LaunchOptions options;
    options.sequence = sequence;
    const uint64_t tag = runtime::configurationTag(device, options);
    EXPECT_NE(tag, 0u);
    EXPECT_EQ(bucketOfTag.emplace(tag, bucketOf(sequence)).first->second,
              bucketOf(sequence))
        << sequence;
    EXPECT_EQ(tagOfBucket.emplace(bucketOf(sequence), tag).first->second, tag)
        << sequence;
  };
  for (int64_t power = 1; power <= longestSequence; power *= 2)
    for (int64_t sequence : {power - 1, power, power + 1})
      if (sequence <= longestSequence)
        look(sequence);
  EXPECT_EQ(bucketOfTag.size(), 42u); // 0, 1, 2, 4, ..., 2^40
  // Nor do two tables share a tag.
  const uint64_t before = bucketOfTag.rbegin()->first;
  const UseTable other(entryFor(launch.key(), 32));
  for (int64_t power = 1; power <= longestSequence; power *= 2) {
    LaunchOptions options;
    options.sequence = power;
    EXPECT_GT(runtime::configurationTag(device, options), before);
  }
}

// The ends of the neighbouring buckets of an entry.
TEST(Tables, ALaunchAtTheEndOfABucketRunsItsOwnCode) {
  Launch launch;
  launch.given["D"] = int64_t(16);
  const UseTable use(entryFor(launch.key(), 64)); // 513 to 1024
  const PreparedLaunch site(launch.kernel, launch.given);
  const std::vector<Arg> args = launch.args();
  for (const auto &[sequence, tile] : std::vector<std::pair<int64_t, int64_t>>{
           {512, 32}, {513, 64}, {1024, 64}, {1025, 32}, {1024, 64}, {512, 32}})
    EXPECT_EQ(site.constexprOf("BM", args, {}, sequence), tile) << sequence;
}

// One call site with sequences of two lengths: each launch has its own code.
TEST(Tables, OneCallSiteFollowsTheLengthOfEachLaunch) {
  Launch launch;
  const UseTable use(entryFor(launch.key(), 64));
  const PreparedLaunch site(launch.kernel, launch.given);
  const std::vector<Arg> args = launch.args();
  EXPECT_EQ(site.constexprOf("BM", args, {}, 1000), 64);
  EXPECT_EQ(site.constexprOf("BM", args, {}, 4000), 32);
  EXPECT_EQ(site.constexprOf("BM", args, {}, 1000), 64);
}

TEST(Tables, AnEntryOfOtherTextIsNotUsed) {
  Launch launch;
  const UseTable used(entryFor(launch.key(), 16));
  Launch edited(textOf("x * SCALE", "x - SCALE"));
  EXPECT_EQ(edited.tile(), 32);
  EXPECT_EQ(launch.tile(), 16);
}

TEST(Tables, StaleEntriesAreCountedOnceWithTheCommandThatRenewsThem) {
  const std::string kernel = "kernels/nsa/select_fwd.py:select_fwd";
  TuneEntry stale = someEntry(), fresh = someEntry(), gone = someEntry();
  fresh.key.textHash = currentHash(kernel).value();
  ASSERT_EQ(fresh.key.textHash.size(), 32u);
  gone.key.kernel = "kernels/nsa/select_fwd.py:select_foward";
  TuneTable table = tableWith(stale, here());
  table.set(fresh);
  table.set(gone);
  const auto found = staleEntries(table);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].reason, "no such kernel");
  EXPECT_EQ(found[1].reason, "the kernel has changed");
  const std::string said =
      loggedBy([&] { useTable("cpu", table, "cpu.yaml"); });
  EXPECT_TRUE(contains(said, "cpu.yaml: 2 of 3 tuned configurations are stale"))
      << said;
  EXPECT_TRUE(contains(said, "tessera tune --config run.yaml --out t.yaml"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  const UsedTable *used = tableOf(runtime::findLaunchDevice("cpu"));
  ASSERT_TRUE(used);
  EXPECT_EQ(used->stale, 2u);
  EXPECT_TRUE(used->table.find(fresh.key));
  EXPECT_FALSE(used->table.find(stale.key));
  useTable("cpu", std::nullopt);
}

TEST(Tables, AWrongEntryNamesItsTable) {
  Launch launch;
  TuneEntry entry = entryFor(launch.key(), 16);
  entry.use.constexprs = {{"BX", int64_t(16)}};
  const UseTable used(entry);
  const std::string said = refusal([&] { launch.run(); });
  EXPECT_TRUE(contains(said, "kernel `record` has no constexpr `BX`")) << said;
  EXPECT_TRUE(contains(said, "t.yaml for own.py:record")) << said;
}

TEST(Tables, ATileThatDoesNotCompileNamesItsTable) {
  // The fake worker refuses kernels of this name.
  const Kernel kernel = Kernel::fromSource(
      "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
      "def fail(out, B: tl.constexpr = 4):\n    tl.store(out, B)\n",
      "fail", "own.py");
  alignas(16) int64_t out[8];
  const std::vector<Arg> args = {Pointer{out, DType::I64}};
  TuneEntry entry = someEntry();
  entry.key = makeKey(kernel, args);
  entry.use.constexprs = {{"B", int64_t(48)}};
  const UseTable used(entry);
  // A training run compiles its launches together, before the first one.
  for (const bool together : {false, true})
    try {
      if (together)
        precompile({{kernel, args, {}, {}}});
      else
        kernel.launch({1, 1, 1}, args);
      FAIL() << "it compiled";
    } catch (const CompileError &error) {
      EXPECT_TRUE(contains(error.what(), "k.py:1:1: error: does not compile"));
      EXPECT_TRUE(contains(error.what(), "the configuration B=48 is that of "
                                         "t.yaml for own.py:fail"))
          << error.what();
    }
}

// Code that compiled and does not load, for example.
TEST(Tables, OtherErrorsNameTheOriginToo) {
  const auto messageOf = [](const runtime::ChosenConfiguration &chosen) {
    try {
      runtime::orNameOrigin(
          chosen, []() -> int { throw Error("does not load", "try again"); });
    } catch (const Error &error) {
      return error.message + " / " + error.hint;
    }
    return std::string("nothing was thrown");
  };
  runtime::ChosenConfiguration chosen;
  EXPECT_EQ(messageOf(chosen), "does not load / try again");
  chosen.tuned.emplace();
  chosen.origin = "the configuration B=48 is that of t.yaml";
  EXPECT_EQ(messageOf(chosen), "does not load; the configuration B=48 is that "
                               "of t.yaml / try again");
}

TEST(Tables, LaunchesAreCountedByWhereTheirConfigurationCameFrom) {
  Launch launch;
  launch.given["D"] = int64_t(7);
  const runtime::RoutingTotals before = runtime::routingTotals();
  launch.run();
  launch.run();
  {
    const UseTable used(entryFor(launch.key(), 16));
    launch.run();
  }
  const runtime::RoutingTotals after = runtime::routingTotals();
  EXPECT_EQ(after.defaults - before.defaults, 2u);
  EXPECT_EQ(after.tuned - before.tuned, 1u);
  const std::string text = runtime::printRouting();
  EXPECT_TRUE(contains(text, "routing: own.py:record"));
  EXPECT_TRUE(contains(text, "BM=16")) << text;
  EXPECT_TRUE(contains(text, "launches, table t.yaml\n")) << text;
}

TEST(Tables, TheConfigurationOfEachLaunchIsListedWithItsSource) {
  Launch launch;
  launch.given["D"] = int64_t(11);
  const auto listed = [&] {
    std::vector<std::pair<std::string, std::string>> found;
    for (const auto &one : runtime::launchConfigurations())
      if (one.launch == describe(launch.key()))
        found.emplace_back(one.configuration, one.source);
    return found;
  };
  using Found = std::vector<std::pair<std::string, std::string>>;
  launch.run();
  EXPECT_EQ(listed(), (Found{{"BM=32", "default"}}));
  {
    const UseTable used(entryFor(launch.key(), 16));
    launch.run(); // 1000 tokens take the entry of 1024
    launch.run();
  }
  EXPECT_EQ(listed(), (Found{{"BM=16", "rounded"}, {"BM=32", "default"}}));
  launch.options.sequence = 2048;
  {
    const UseTable used(entryFor(launch.key(), 64));
    launch.run();
  }
  EXPECT_EQ(listed(), (Found{{"BM=64", "tuned"}}));
}

// The hash is that of the file as `sha256sum` prints it.
TEST(Tables, ATableHasTheHashOfItsText) {
  const auto &cpu = runtime::findLaunchDevice("cpu");
  EXPECT_EQ(tableChooser().table(cpu).sha256, "");
  const TuneTable table = tableWith(entryFor(Launch().key(), 16), here());
  useTable("cpu", table, "t.yaml");
  const runtime::TableIdentity found = tableChooser().table(cpu);
  useTable("cpu", std::nullopt);
  EXPECT_EQ(found.path, "t.yaml");
  EXPECT_EQ(found.origin, "given");
  EXPECT_EQ(found.sha256, sha256Hex(printTable(table)));
}

TEST(FindTable, TakesTheFileOrTheFolderThatIsNamed) {
  TemporaryFolder folder;
  const auto &cpu = runtime::findLaunchDevice("cpu");
  const fs::path file = folder.path() / (fileStem(here()) + ".yaml");
  writeTable(file, tableWith(someEntry(), here()));
  for (const fs::path &named : {file, folder.path()}) {
    ::setenv("TESSERA_TUNED", named.c_str(), 1);
    const auto found = findTable(cpu);
    ASSERT_TRUE(found) << named;
    EXPECT_EQ(found->path, file.string());
    EXPECT_EQ(found->origin, "TESSERA_TUNED");
  }
  ::setenv("TESSERA_TUNED", (folder.path() / "none.yaml").c_str(), 1);
  EXPECT_TRUE(contains(refusal([&] { findTable(cpu); }), "none.yaml"));
  writeFile(file, "tessera_tuning: 1\ndevice: 3\n");
  ::setenv("TESSERA_TUNED", file.c_str(), 1);
  EXPECT_TRUE(contains(refusal([&] { findTable(cpu); }), "yaml:2:9"));
  ::setenv("TESSERA_TUNED", "none", 1);
}

TEST(FindTable, ATableOfAnotherDeviceIsReportedAndNotUsed) {
  TemporaryFolder folder;
  const fs::path file = folder.path() / "other.yaml";
  writeTable(file, someTable());
  ::setenv("TESSERA_TUNED", file.c_str(), 1);
  const std::string said = loggedBy(
      [] { EXPECT_FALSE(findTable(runtime::findLaunchDevice("cpu"))); });
  EXPECT_TRUE(contains(said, "none of its 1 tuned configurations is used: it "
                             "is for NVIDIA A100-SXM4-80GB"))
      << said;
  // A simulated GPU uses the tables of its target's GPUs.
  EXPECT_TRUE(findTable(runtime::findLaunchDevice("sim:sm_80")));
  const std::string other = loggedBy(
      [] { EXPECT_FALSE(findTable(runtime::findLaunchDevice("sim:sm_90"))); });
  EXPECT_TRUE(contains(other, "sim:sm_90")) << other;
  ::setenv("TESSERA_TUNED", "none", 1);
}

// Tables that were committed are read, are for the device of their name, and
// have no entry of another text.
TEST(CommittedTables, AreNotStale) {
  const fs::path folder = TESSERA_SOURCE "/configs/tuned";
  std::error_code none;
  for (const auto &file : fs::directory_iterator(folder, none)) {
    if (file.path().extension() != ".yaml")
      continue;
    const TuneTable table = readTable(file.path());
    EXPECT_TRUE((fileStem(table.device) + "-")
                    .starts_with(file.path().stem().string() + "-"))
        << file.path() << " is for " << fileStem(table.device);
    for (const StaleEntry &entry : staleEntries(table))
      ADD_FAILURE() << file.path() << ": " << describe(entry.key) << ": "
                    << entry.reason << "; renew the table with "
                    << renewalCommand(table, file.path().string());
  }
}
