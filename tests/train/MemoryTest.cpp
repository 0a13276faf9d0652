// tests/train/MemoryTest.cpp - the memory that a plan predicts compared with
// what the tensors of a step take.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/models/CountedMemory.h"
#include "trainer/loop/Run.h"
#include "trainer/optim/AdamW.h"
#include "trainer/settings/Config.h"
#include "trainer/settings/Plan.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::trainer;

namespace {

/// Bytes of tensors: what stays from step to step, and the most there is at a
/// time in a micro-batch and in the update.
struct Bytes {
  int64_t state, microBatch, update;
};

Bytes measure(const Config &c) {
  at::set_num_threads(1);
  const CountedMemory memory;
  const int64_t start = CountedMemory::now;
  models::Transformer model(c.model, c.kernels, 1);
  AdamW optimizer(model.parameters(), c);
  const int64_t state = CountedMemory::now - start;
  const Batch batch = {at::randint(c.model.vocabulary,
                                   {c.batchSize, c.sequenceLength}, at::kLong),
                       at::randint(c.model.vocabulary,
                                   {c.batchSize, c.sequenceLength}, at::kLong)};
  Bytes bytes = {state, 0, 0};
  for (int i = 0; i < 2; ++i) { // tables are made by the first
    CountedMemory::most = CountedMemory::now;
    backward(model, batch, 1);
    bytes.microBatch = CountedMemory::most - start;
    CountedMemory::most = CountedMemory::now;
    optimizer.clip();
    optimizer.step(1e-3);
    optimizer.zeroGradients();
    bytes.update = CountedMemory::most - start;
  }
  return bytes;
}

using Settings = std::vector<std::string>;

class PlannedMemory : public testing::TestWithParam<Settings> {};

TEST_P(PlannedMemory, IsWithinATenthOfTheTensors) {
  Settings settings = {"model.dim=128",     "model.layers=4",
                       "model.heads=4",     "model.kv_heads=2",
                       "model.key_dim=32",  "model.value_dim=32",
                       "train.seq_len=256", "train.batch_size=2"};
  settings.insert(settings.end(), GetParam().begin(), GetParam().end());
  const Config c = parseConfig("", "test", settings);
  const Plan plan = planOf(c);
  const Bytes bytes = measure(c);
  EXPECT_NEAR(double(plan.stateBytes) / double(bytes.state), 1, 0.01);
  EXPECT_NEAR(double(plan.activationBytes) /
                  double(bytes.microBatch - bytes.state),
              1, 0.1)
      << plan.activationBytes << " planned, " << bytes.microBatch - bytes.state
      << " measured";
  // The update finds rounded gradients there, and takes a mebibyte at most.
  const int64_t rounded = c.precision == Precision::Fp32 ? 0 : 2;
  EXPECT_LE(bytes.update,
            bytes.state + rounded * plan.parameters + 5 * (1 << 18));
}

INSTANTIATE_TEST_SUITE_P(
    Runs, PlannedMemory,
    testing::Values(
        Settings{"attention=nsa"}, Settings{"attention=dense"},
        Settings{"attention=sdpa"},
        Settings{"attention=nsa", "runtime.precision=bf16"},
        Settings{"attention=dense", "runtime.precision=bf16"},
        Settings{"attention=nsa", "model.mlp=swiglu"},
        Settings{"attention=nsa", "model.mlp=silu"},
        Settings{"attention=nsa", "nsa.phi=conv", "nsa.gate_input=q_mean"},
        Settings{"attention=nsa", "nsa.phi=mlp_pe"},
        Settings{"attention=nsa", "train.optimizer=muon"},
        Settings{"attention=nsa", "train.optimizer=muon",
                 "train.muon_normalize=true"},
        Settings{"attention=nsa", "model.value_embeddings=4",
                 "model.bigram_embeddings=4096"},
        Settings{"attention=dense", "model.value_embeddings=2",
                 "model.qk_norm=true"},
        Settings{"attention=dense", "model.vocab_size=8192"},
        Settings{"attention=dense", "model.vocab_size=8192",
                 "runtime.fused_loss=false"},
        // The gradient of its logits is made in two pieces.
        Settings{"attention=dense", "model.vocab_size=98304"},
        Settings{"attention=dense", "model.vocab_size=98304",
                 "runtime.loss_logits=keep"},
        Settings{"attention=dense", "model.vocab_size=2000",
                 "runtime.precision=bf16", "runtime.fused_loss=true",
                 "runtime.loss_logits=keep"},
        Settings{"attention=dense", "model.dim=512", "train.seq_len=32"},
        Settings{"attention=nsa", "runtime.gradient_checkpointing=mlp"},
        Settings{"attention=nsa", "runtime.gradient_checkpointing=attention"},
        Settings{"attention=nsa", "runtime.gradient_checkpointing=full"},
        Settings{"attention=dense", "runtime.gradient_checkpointing=full"},
        Settings{"attention=nsa", "model.mlp_dim=16",
                 "runtime.gradient_checkpointing=full"},
        Settings{"attention=dense",
                 "runtime.gradient_checkpointing=attention"}));

} // namespace
