// tests/unit/trainer/settings/MemoryHintTest.cpp - which settings make a run
// smaller.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/settings/MemoryHint.h"

#include "trainer/settings/Plan.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::trainer;

namespace {

using Texts = std::vector<std::string>;

Config configOf(const Texts &more, int64_t processes = 1) {
  Texts settings = {"model.dim=128", "model.n_layers=6", "train.seq_len=1024",
                    "train.batch_size=8"};
  settings.insert(settings.end(), more.begin(), more.end());
  return parseConfig("", "test", settings, {}, processes);
}

int64_t planned(const Config &c) {
  const Plan plan = planOf(c);
  return plan.stateBytes + plan.activationBytes;
}

// The hint reports the bytes of the plan of these settings, and no earlier
// change would have sufficed.
TEST(MemoryHint, TakesTheFirstChangeThatFits) {
  const std::vector<Texts> expected = {
      {"runtime.gradient_checkpointing=mlp"},
      {"runtime.gradient_checkpointing=attention"},
      {"runtime.gradient_checkpointing=full"},
      {"runtime.gradient_checkpointing=full", "train.batch_size=4",
       "train.accumulate_grad_batches=2"},
      {"runtime.gradient_checkpointing=full", "train.batch_size=2",
       "train.accumulate_grad_batches=4"},
      {"runtime.gradient_checkpointing=full", "train.batch_size=1",
       "train.accumulate_grad_batches=8"}};
  const Config config = configOf({});
  int64_t before = planned(config);
  int found = 0;
  for (const Texts &settings : expected) {
    const int64_t bytes = planned(configOf(settings));
    if (bytes >= before)
      continue; // takes no less than what is tried before it
    before = bytes;
    ++found;
    const SmallerRun run = smallerRun(config, bytes);
    EXPECT_EQ(run.settings, settings);
    EXPECT_EQ(run.bytes, bytes);
    EXPECT_TRUE(run.fits);
    EXPECT_EQ(run.resumes, settings.size() == 1);
  }
  EXPECT_GE(found, 5);
  EXPECT_FALSE(smallerRun(config, before - 1).fits);
  EXPECT_EQ(smallerRun(config, before - 1).settings, expected.back());
}

TEST(MemoryHint, PartsOfTheStateOnlyWhereTheyCanBe) {
  const Texts parts = {"runtime.gradient_checkpointing=full",
                       "runtime.zero_stage=1"};
  const Config two = configOf({}, 2);
  const int64_t bytes = planned(configOf(parts, 2));
  EXPECT_EQ(smallerRun(two, bytes).settings, parts);
  const auto settings = [&](const Texts &more, int64_t processes) {
    std::string all;
    for (const std::string &s :
         smallerRun(configOf(more, processes), 0).settings)
      all += s + " ";
    return all;
  };
  EXPECT_EQ(settings({}, 1).find("zero_stage"), std::string::npos);
  EXPECT_EQ(settings({"train.optimizer=muon"}, 2).find("zero_stage"),
            std::string::npos);
  EXPECT_NE(settings({}, 2).find("zero_stage"), std::string::npos);
}

// First logits that a step keeps, with other bits at a resume.
TEST(MemoryHint, KeptLogitsAreTheFirst) {
  const Texts more = {"model.vocab_size=50257", "runtime.loss_logits=keep"};
  const Config config = configOf(more);
  const SmallerRun run = smallerRun(config, planned(config) - 1);
  EXPECT_EQ(run.settings, Texts{"runtime.loss_logits=chunks"});
  EXPECT_TRUE(run.fits && run.resumes && !run.exact);
  const SmallerRun all = smallerRun(config, 0);
  EXPECT_EQ(all.settings.front(), "runtime.loss_logits=chunks");
  EXPECT_GT(all.settings.size(), 2u);
  EXPECT_TRUE(smallerRun(configOf({}), planned(configOf({})) - 1).exact);
  EXPECT_NE(memoryError(config, "x", planned(config)).hint.find("rounding"),
            std::string::npos);
}

TEST(MemoryHint, WhereNothingIsLeft) {
  const Config config =
      configOf({"runtime.gradient_checkpointing=full", "train.batch_size=1"});
  EXPECT_TRUE(smallerRun(config, 0).settings.empty());
  const Error error = memoryError(config, "torch says why", 0);
  EXPECT_EQ(error.message, "no memory for a step: torch says why");
  EXPECT_NE(error.hint.find("lower train.seq_len"), std::string::npos);
}

} // namespace
