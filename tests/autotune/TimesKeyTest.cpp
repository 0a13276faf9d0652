// tests/autotune/TimesKeyTest.cpp - the key under which the time of a
// configuration is kept.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/Trials.h"
#include "tests/autotune/Planted.h"

#include <set>

using namespace tessera;

namespace {

class TimesKey : public Planted {
protected:
  static std::string keyOf(const tune::Job &job) {
    static const std::atomic<bool> never{false};
    const tune::Trials trials(job, never, [](const std::string &) {});
    EXPECT_EQ(trials.all[0].problem, "");
    return trials.all[0].timesKey;
  }
};

} // namespace

// A time is of one grid and one set of shapes: another of them, with the same
// code, is measured again.
TEST_F(TimesKey, HoldsShapesStridesNumbersAndGrid) {
  const std::string file = write("key.py", kernelText(planted));
  const tune::JobList list =
      tune::loadJobs({record("case", file, 640)}, "", "cpu");
  ASSERT_EQ(list.jobs.size(), 1u);
  const tune::Job &job = list.jobs[0];
  std::set<std::string> keys = {keyOf(job)};
  EXPECT_EQ(keyOf(job), *keys.begin());

  const auto expectOther = [&](const char *what, const tune::Job &changed) {
    EXPECT_TRUE(keys.insert(keyOf(changed)).second) << what;
  };
  tune::Job changed = job;
  changed.loaded.recorded.arguments[0].layout.shape = {320};
  expectOther("a shape", changed);
  changed = job;
  changed.loaded.recorded.arguments[1].layout.strides = {2};
  expectOther("a stride", changed);
  changed = job;
  changed.loaded.recorded.arguments[2].value = Arg(int64_t(320));
  changed.loaded.recorded.arguments[2].text = "320";
  expectOther("a number", changed);
  for (size_t axis = 0; axis < 3; ++axis) {
    changed = job;
    ++changed.space.candidates[0].grid[axis];
    expectOther("a grid", changed);
  }
}

// The same through the program: nothing of a short recording is taken for a
// long one of the same types and constexprs.
TEST_F(TimesKey, AnotherLengthIsMeasuredWithResume) {
  const std::string file =
      write("key.py", kernelText("# tessera: cpu(REPEAT=300, BAD=0)\n"));
  expectFine(run({"tune", record("short", file, 640, 0, 300), "--out",
                  path("table.yaml"), "--budget", "20s"}));
  const size_t known = tune::Times::read(path("table.yaml.times")).size();
  EXPECT_EQ(known, 1u);
  expectFine(run({"tune", record("long", file, 6400, 0, 300), "--out",
                  path("table.yaml"), "--budget", "20s", "--resume"}));
  EXPECT_EQ(tune::Times::read(path("table.yaml.times")).size(), 2 * known);
}
