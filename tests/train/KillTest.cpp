// tests/train/KillTest.cpp - SIGKILL at any moment: every restart resumes, no
// checkpoint is lost.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Hash.h"
#include "tests/train/TrainRun.h"

#include <csignal>
#include <map>
#include <random>
#include <set>

using namespace tessera;
namespace fs = std::filesystem;

namespace {

constexpr int stepCount = 24;
constexpr int saveEvery = 3;

/// An operation on the disk, as CrashAt.cpp writes it down.
struct Operation {
  int save = 0, number = 0;
  std::string what, path;
};

class Kill : public TrainRun {
protected:
  CommandResult runPreloaded(const std::string &out,
                             std::vector<std::string> environment) {
    environment.push_back("LD_PRELOAD=" TESSERA_CRASH_AT);
    return runCommand(
        command(out, {"train.steps=" + std::to_string(stepCount),
                      "train.save_every=" + std::to_string(saveEvery),
                      "train.seq_len=32", "model.layers=1",
                      "train.final_windows=8"}),
        std::chrono::seconds(300), environment);
  }

  std::vector<Operation> traced(const std::string &out) {
    expectFine(runPreloaded(out, {"CRASH_TRACE=" + folder.file("trace")}));
    std::vector<Operation> all;
    std::istringstream in(readFile(folder.file("trace")));
    for (Operation o; in >> o.save >> o.number >> o.what >> o.path;)
      all.push_back(o);
    return all;
  }

  /// The steps of the checkpoints whose files match their DONE. Every folder
  /// with the name of a checkpoint must be one.
  std::set<int> goodCheckpoints(const std::string &out) {
    std::set<int> good;
    std::error_code none;
    for (const auto &e :
         fs::directory_iterator(folder.path / out / "ckpt", none)) {
      const std::string name = e.path().filename().string();
      if (name.ends_with(".tmp"))
        continue;
      EXPECT_EQ(name.size(), 13u) << name;
      std::istringstream done(readFile(e.path() / "DONE"));
      int files = 0;
      for (std::string sum, file; done >> sum >> file; ++files)
        EXPECT_EQ(sum, sha256Hex(readFile(e.path() / file)))
            << name << "/" << file;
      EXPECT_GE(files, 3) << name;
      good.insert(std::stoi(name.substr(5)));
    }
    return good;
  }
};

// What a power cut may leave is decided by the order of these.
TEST_F(Kill, EverythingIsOnDiskBeforeItIsNamed) {
  const auto all = traced("order");
  std::set<std::string> synced; // since they were written
  std::string named;            // but not yet known to be on disk
  bool reachable = true;        // the run folder names ckpt on disk
  int checkpoints = 0;
  for (const Operation &o : all) {
    const fs::path path = o.path;
    if (o.what == "write") {
      EXPECT_EQ(named, "") << "a save begins before the last one is on disk";
      EXPECT_TRUE(reachable) << "the run folder was not synced";
      synced.erase(o.path);
    } else if (o.what == "fsync") {
      synced.insert(o.path);
      if (path.filename() == "ckpt")
        named.clear();
      reachable = reachable || (named.empty() && path.filename() == "order");
    } else if (path.parent_path().filename() != "ckpt") {
      // A file of a checkpoint gets its name, under which it is synced.
      const fs::path from =
          path.parent_path() / ("." + path.filename().string() + ".");
      EXPECT_TRUE(std::any_of(synced.begin(), synced.end(), [&](auto &s) {
        return s.starts_with(from.string());
      })) << o.path;
      synced.erase(path.parent_path().string()); // it has a new name in it
      if (path.filename() != "DONE")
        continue;
      for (const char *name :
           {"model.safetensors", "optimizer.safetensors", "state.json"})
        EXPECT_TRUE(std::any_of(
            all.begin(), all.end(),
            [&](auto &other) {
              return other.save == o.save && other.number < o.number &&
                     other.what == "rename" &&
                     other.path == (path.parent_path() / name).string();
            }))
            << "DONE before " << name;
    } else if (path.extension() != ".tmp") {
      EXPECT_TRUE(synced.count(o.path + ".tmp")) << o.path;
      named = o.path;
      reachable = false;
      ++checkpoints;
    } else {
      EXPECT_EQ(named, "") << "an old checkpoint goes before the new is safe";
    }
  }
  EXPECT_EQ(named, "");
  EXPECT_EQ(checkpoints, stepCount / saveEvery);
}

// TESSERA_KILLS sets how many; TESSERA_SEED which.
TEST_F(Kill, EveryRestartResumesAndNoCheckpointIsLost) {
  const auto number = [](const char *name, int otherwise) {
    const char *text = std::getenv(name);
    return text ? std::atoi(text) : otherwise;
  };
  const int kills = number("TESSERA_KILLS", 24);
  const int seed = number("TESSERA_SEED", 1);
  SCOPED_TRACE("TESSERA_SEED=" + std::to_string(seed));
  std::mt19937 random{unsigned(seed)};
  const auto below = [&](int bound) { return int(random() % unsigned(bound)); };

  // Operations of a save up to its name, and after that.
  int untilNamed = 0, afterNamed = 0;
  for (const Operation &o : traced("straight"))
    if (o.save == 4 && o.what == "rename" && o.path.ends_with("step_00000012"))
      untilNamed = o.number;
    else if (o.save == 4)
      afterNamed = o.number - untilNamed;
  ASSERT_GT(untilNamed, 10);
  ASSERT_GT(afterNamed, 0);

  int killed = 0, inSaves = 0, runs = 0;
  std::string out = "run0";
  std::set<int> before;
  while (killed < kills) {
    std::vector<std::string> environment;
    const auto set = [&](const char *name, int value) {
      environment.push_back(name + ("=" + std::to_string(value)));
    };
    const bool inSave = killed % 2 == 0;
    if (inSave || below(3) == 0) {
      set("CRASH_SAVE", 1 + below(3));
      set("CRASH_AT",
          inSave ? 1 + below(untilNamed) : untilNamed + 1 + below(afterNamed));
    } else {
      set("CRASH_RECORD", 1 + below(2 * saveEvery));
      set("CRASH_DELAY", below(20000));
    }
    const CommandResult result = runPreloaded(out, environment);
    if (!before.empty()) {
      EXPECT_NE(result.errors.find("at step " +
                                   std::to_string(*before.rbegin()) + " ("),
                std::string::npos)
          << result.errors;
    }
    const std::set<int> now = goodCheckpoints(out);
    if (!before.empty()) {
      ASSERT_FALSE(now.empty());
      EXPECT_GE(*now.rbegin(), *before.rbegin()) << "a checkpoint is lost";
      EXPECT_GE(now.size(), std::min<size_t>(2, before.size()))
          << "train.keep is 2";
    }
    if (result.status.signal == SIGKILL) {
      ++killed;
      inSaves += inSave;
      before = now;
      // The run was killed after it wrote its result: the next start is a new
      // run.
      if (fs::exists(folder.path / out / "metrics.json")) {
        before.clear();
        out = "run" + std::to_string(++runs);
      }
      continue;
    }
    // It came to its end first.
    expectFine(result);
    EXPECT_EQ(checkpoint(out, stepCount, "model.safetensors"),
              checkpoint("straight", stepCount, "model.safetensors"));
    before.clear();
    out = "run" + std::to_string(++runs);
  }
  EXPECT_GE(2 * inSaves, kills);
  const CommandResult rest = runPreloaded(out, {});
  expectFine(rest);
  // Bit for bit what an undisturbed run makes, with a record of each step.
  for (const char *name : {"model.safetensors", "optimizer.safetensors"})
    EXPECT_EQ(checkpoint(out, stepCount, name),
              checkpoint("straight", stepCount, name));
  EXPECT_EQ(steps(out), steps("straight"));
  for (const auto &e : fs::directory_iterator(folder.path / out / "ckpt"))
    EXPECT_FALSE(e.path().string().ends_with(".tmp")) << e.path();
}

} // namespace
