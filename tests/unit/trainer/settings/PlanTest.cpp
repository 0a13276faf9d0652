// tests/unit/trainer/settings/PlanTest.cpp - counts of known models, by hand.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/settings/Plan.h"

#include "ops/Estimates.h"
#include "support/Error.h"
#include "trainer/settings/Config.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <thread>

using namespace tessera;
using namespace tessera::trainer;

namespace {

/// The shape of nsa-vibe's 125M configs.
const std::vector<std::string> m7c = {
    "model.dim=768",      "model.n_layers=12",
    "model.n_heads=12",   "model.n_kv_groups=2",
    "model.d_k=64",       "model.d_v=64",
    "nsa.l=32",           "nsa.d=16",
    "nsa.l_sel=64",       "nsa.n_sel=16",
    "nsa.w=512",          "train.seq_len=2048",
    "train.batch_size=2", "train.accumulate_grad_batches=2",
    "train.steps=50000"};

// How many documents lie in the rows decides in each micro-batch.
TEST(Plan, PackedDocumentsMayTakeEitherBackward) {
  const Config c = parseConfig("", "x",
                               {"attention=dense", "data.packing=best_fit",
                                "model.n_heads=1", "model.n_kv_groups=1",
                                "train.batch_size=1"});
  const std::string text = planText(c, planOf(c));
  EXPECT_NE(text.find("dense/attn_bwd_fused.py"), std::string::npos) << text;
  const bool enough = runtime::onePassShares(1, 1, c.model.keyDim) > 0;
  EXPECT_EQ(text.find("dense/attn_bwd.py") == std::string::npos, enough)
      << text;
}

// Enough programs for two of each processor, in at most 8 shares.
TEST(Plan, SharesOfABackwardKeepProcessorsBusy) {
  const int64_t programs = 2 * int64_t(std::thread::hardware_concurrency());
  for (int64_t heads = 1; heads <= 2 * programs; ++heads) {
    const int64_t shares = runtime::onePassShares(heads, 1, 64);
    EXPECT_EQ(shares > 0, heads * 8 >= programs) << heads;
    EXPECT_LE(shares, 8);
    if (shares > 0) {
      EXPECT_GE(shares * heads, programs);
    }
    if (shares > 1) {
      EXPECT_LT((shares - 1) * heads, programs);
    }
    EXPECT_EQ(runtime::onePassShares(heads, 1, 48), 0);
  }
}

// 216 programs by tiles of 128 keys, and heads that the kernel takes.
TEST(Plan, SizesOfTheBackwardPassInOneKernel) {
  EXPECT_TRUE(runtime::fillsOrderedBackward(1, 216 * 128, 1));
  EXPECT_TRUE(runtime::fillsOrderedBackward(1, 215 * 128 + 1, 1));
  EXPECT_FALSE(runtime::fillsOrderedBackward(1, 215 * 128, 1));
  EXPECT_TRUE(runtime::fillsOrderedBackward(3, 9 * 128, 8));
  EXPECT_TRUE(runtime::fitsOrderedBackward(32, 128, 128));
  EXPECT_TRUE(runtime::fitsOrderedBackward(1, 16, 8));
  EXPECT_FALSE(runtime::fitsOrderedBackward(33, 128, 128));
  EXPECT_FALSE(runtime::fitsOrderedBackward(32, 129, 128));
  EXPECT_FALSE(runtime::fitsOrderedBackward(32, 96, 128)) << "two slices";
  EXPECT_FALSE(runtime::fitsOrderedBackward(32, 8, 128));
  EXPECT_FALSE(runtime::fitsOrderedBackward(32, 128, 129));
}

// With enough keys for a GPU the backward pass of 16-bit heads is one kernel,
// whose sum of dq is fp32.
TEST(Plan, OneKernelForTheBackwardPassOfAGpu) {
  const auto plan = [](const char *kind, const char *length,
                       const char *precision) {
    const Config c = parseConfig(
        "", "x",
        {std::string("attention=") + kind, "runtime.device=cuda",
         std::string("runtime.precision=") + precision, "model.dim=1024",
         "model.n_layers=1", "model.n_heads=16", "model.n_kv_groups=4",
         "model.d_k=64", "model.d_v=64", std::string("train.seq_len=") + length,
         "train.batch_size=1", "train.accumulate_grad_batches=1"});
    return std::pair(planText(c, planOf(c)), planOf(c).activationBytes);
  };
  for (const char *kind : {"dense", "nsa"}) {
    const std::string file = kind[0] == 'd' ? "dense/attn_bwd_ordered.py"
                                            : "nsa/cmp_bwd_ordered.py",
                      other = kind[0] == 'd' ? "dense/attn_bwd.py"
                                             : "nsa/window_bwd.py";
    const auto [text, bytes] = plan(kind, "16384", "bf16");
    EXPECT_NE(text.find(file), std::string::npos) << text;
    EXPECT_EQ(text.find(other), std::string::npos) << text;
    for (const auto &[length, precision] :
         {std::pair("2048", "bf16"), std::pair("16384", "fp32")}) {
      const std::string seven = plan(kind, length, precision).first;
      EXPECT_EQ(seven.find(file), std::string::npos) << seven;
      EXPECT_NE(seven.find(other), std::string::npos) << seven;
    }
  }
}

// Attention with one wide head: its shares are most of the memory.
TEST(Plan, SharesOfABackwardTakeMemory) {
  const auto bytes = [](const char *keyDim) {
    const Config c = parseConfig(
        "", "x",
        {"attention=dense", "model.dim=16", "model.mlp_dim=16",
         "model.n_layers=1", "model.n_heads=1", "model.n_kv_groups=1",
         "model.vocab_size=256", "train.seq_len=2048", "train.batch_size=1",
         "model.d_v=1024", std::string("model.d_k=") + keyDim});
    return double(planOf(c).activationBytes);
  };
  const int64_t shares = runtime::onePassShares(1, 1, 64);
  if (shares > 0) {
    EXPECT_GT(bytes("64") - bytes("48"),
              runtime::onePassBytes(shares, 2048, 1, 64, 1024) / 2);
  }
}

// Of rows that are one sequence each it is known before.
TEST(Plan, RowsTakeOneBackward) {
  const auto files = [](const std::vector<std::string> &settings) {
    const Config c = parseConfig("", "x", settings);
    const std::string text = planText(c, planOf(c));
    return std::pair(text.find("dense/attn_bwd.py") != std::string::npos,
                     text.find("attn_bwd_fused.py") != std::string::npos);
  };
  EXPECT_EQ(files({"attention=dense", "model.n_heads=1", "model.n_kv_groups=1",
                   "model.d_k=48", "train.batch_size=1"}),
            std::pair(true, false));
  EXPECT_EQ(
      files({"attention=dense", "model.n_heads=64", "model.n_kv_groups=64",
             "model.dim=1024", "train.batch_size=4096"}),
      std::pair(false, true));
}

// In bf16 the head's gradient is summed over pieces in fp32 (4 bytes), from
// one rounded (2) and widened (4).
TEST(Plan, PiecesOfARoundedLossKeepTheHeadsGradient) {
  const auto bytes = [](const char *precision) {
    return double(
        planOf(parseConfig("", "x",
                           {"model.dim=768", "model.n_layers=1",
                            "model.vocab_size=98304", "train.seq_len=2048",
                            "train.batch_size=1",
                            std::string("runtime.precision=") + precision}))
            .activationBytes);
  };
  const double head = 98304.0 * 768;
  EXPECT_GT(bytes("bf16"), 10 * head);
  EXPECT_LT(bytes("fp32"), 10 * head);
}

TEST(Plan, CountsTheParametersOfThePythonSystemsModel) {
  const Plan plan = planOf(parseConfig("", "x", m7c));
  // Embedding, head; a layer's q and o, 3 branches of k and v, MLP, norms,
  // gate.
  const int64_t layer = 768 * 768 + 768 * 768 + 3 * 2 * 128 * 768 +
                        2 * 768 * 3072 + 2 * 768 + (64 * 769 + 6 * 65);
  EXPECT_EQ(plan.parameters, 2 * 256 * 768 + 12 * layer + 768);
  // "78.3 M" of its documentation, whose gates and norms differ a little.
  EXPECT_NEAR(double(plan.parameters), 78.3e6, 0.8e6);
  EXPECT_EQ(plan.stateBytes, 16 * plan.parameters);
  int64_t sum = 0;
  for (const ParameterPart &part : plan.parts)
    sum += part.count;
  EXPECT_EQ(sum, plan.parameters);
}

// Of a process: weights and gradients, and its part of 8 bytes of moments; with
// rounded weights its part of the fp32 ones, too.
TEST(Plan, AProcessKeepsItsPartOfTheState) {
  std::vector<std::string> settings = m7c;
  settings.push_back("runtime.zero_stage=1");
  const auto bytes = [&](const char *precision, int64_t processes) {
    std::vector<std::string> all = settings;
    all.push_back(std::string("runtime.precision=") + precision);
    const Plan plan = planOf(parseConfig("", "x", all, {}, processes));
    return double(plan.stateBytes) / double(plan.parameters);
  };
  EXPECT_DOUBLE_EQ(bytes("fp32", 1), 16);
  EXPECT_DOUBLE_EQ(bytes("fp32", 2), 12);
  EXPECT_DOUBLE_EQ(bytes("bf16", 1), 18);
  EXPECT_DOUBLE_EQ(bytes("bf16", 2), 12);
}

// Two sequences of 2,048 tokens of the 125M config without recomputation; that
// estimates hold is PlannedMemory's.
TEST(Plan, ActivationsOfALongSequenceFitAndGrowAsItsLength) {
  const auto bytes = [](int64_t length, int64_t sequences,
                        const char *fused = "false") {
    std::vector<std::string> all = m7c;
    for (const std::string &more :
         {std::string("model.vocab_size=50257"),
          std::string("runtime.fused_loss=") + fused,
          std::string("model.tied_head=true"),
          std::string("runtime.precision=bf16"),
          "train.seq_len=" + std::to_string(length),
          "train.batch_size=" + std::to_string(sequences)})
      all.push_back(more);
    return double(planOf(parseConfig("", "x", all)).activationBytes);
  };
  EXPECT_LT(bytes(2048, 2), 6e9);
  for (const int64_t length : {4096, 8192, 16384})
    EXPECT_NEAR(bytes(length, 1) / bytes(length / 2, 1), 2, 0.1) << length;

  // Without logits, of which a token takes 12 bytes for each entry of the
  // vocabulary: what there is of them at a time does not grow.
  const auto fused = [&](int64_t length) { return bytes(length, 1, "auto"); };
  EXPECT_LT(fused(8192) + 6144 * 50257 * 12.0, bytes(8192, 1));
  EXPECT_NEAR((fused(16384) - fused(8192)) / (fused(8192) - fused(4096)), 2,
              0.1);
}

TEST(Plan, NamesTheKernelsOfTheLoss) {
  const auto uses = [](const std::vector<std::string> &settings) {
    const std::string text = planText(parseConfig("", "x", settings),
                                      planOf(parseConfig("", "x", settings)));
    return text.find("nn/linear_loss.py") != std::string::npos;
  };
  EXPECT_FALSE(uses({}));
  EXPECT_FALSE(uses({"model.vocab_size=8191"}));
  EXPECT_TRUE(uses({"model.vocab_size=8192"}));
  EXPECT_FALSE(uses({"model.vocab_size=8192", "runtime.fused_loss=false"}));
  EXPECT_TRUE(uses({"runtime.fused_loss=true"}));
  EXPECT_FALSE(uses({"runtime.fused_loss=true", "kernels=torch"}));
}

// Logits of 2 bytes, in rows of 50,272: kept on a GPU while the plan with them
// takes 34e9 bytes at most.
TEST(Plan, CountsKeptLogits) {
  const auto planned = [](std::vector<std::string> more) {
    std::vector<std::string> all = m7c;
    all.insert(all.end(), {"model.vocab_size=50257", "runtime.precision=bf16"});
    all.insert(all.end(), more.begin(), more.end());
    const Config c = parseConfig("", "x", all);
    const Plan plan = planOf(c);
    EXPECT_EQ(plan.logitsBytes > 0, keepsLogits(c));
    EXPECT_EQ(modelOf(c).lossLogits, keepsLogits(c)
                                         ? models::LossLogits::Keep
                                         : models::LossLogits::Chunks);
    EXPECT_EQ(planText(c, plan).find("kept logits: ") != std::string::npos,
              plan.logitsBytes > 0);
    EXPECT_EQ(planText(c, plan).find("nn/logits_loss.py") != std::string::npos,
              plan.logitsBytes > 0);
    return plan;
  };
  const std::string keep = "runtime.loss_logits=keep",
                    chunks = "runtime.loss_logits=chunks",
                    gpu = "runtime.device=cuda";
  const int64_t logits = 4096 * 50272 * 2;
  EXPECT_EQ(planned({keep}).logitsBytes, logits);
  EXPECT_EQ(planned({keep, "runtime.precision=fp32"}).logitsBytes, 2 * logits);
  EXPECT_EQ(planned({chunks}).logitsBytes, 0);
  EXPECT_EQ(planned({}).logitsBytes, 0);
  EXPECT_EQ(planned({gpu}).logitsBytes, logits);
  EXPECT_EQ(planned({gpu, chunks}).logitsBytes, 0);
  EXPECT_EQ(planned({gpu, "runtime.precision=fp16"}).logitsBytes, 0);
  EXPECT_EQ(planned({gpu, "runtime.precision=fp16", keep}).logitsBytes, logits);
  for (const char *none :
       {"kernels=torch", "model.logit_softcap=15", "runtime.fused_loss=false"})
    EXPECT_EQ(planned({gpu, keep, none}).logitsBytes, 0) << none;
  // Instead of the memory of chunks; 4,096 tokens have less than the head's
  // gradient in fp32.
  const auto bytes = [&](const std::string &way) {
    return planned({gpu, way, "model.n_layers=1",
                    "runtime.gradient_checkpointing=full"})
        .activationBytes;
  };
  EXPECT_NEAR(double(bytes(keep) - bytes(chunks)),
              double(logits) - runtime::fusedLossBytes(4096, 50257, 768, true),
              1);
  const auto kept = [&](const std::string &sequences) {
    const Plan plan = planned({gpu, "train.batch_size=" + sequences});
    const Plan whole = planned({gpu, keep, "train.batch_size=" + sequences});
    EXPECT_EQ(plan.logitsBytes > 0,
              whole.stateBytes + whole.activationBytes <= 34'000'000'000)
        << sequences;
    return plan.logitsBytes > 0;
  };
  EXPECT_TRUE(kept("8"));
  EXPECT_FALSE(kept("64"));
}

// A network for keys of 2 channels and one for values of 4, hidden widths of 4
// and 8: every second token begins a block of 4.
TEST(Plan, CountsTheNormsOfQueriesAndKeys) {
  const auto count = [](std::vector<std::string> settings) {
    settings.insert(settings.end(), m7c.begin(), m7c.end());
    const Config c = parseConfig("", "x", settings);
    return planOf(c);
  };
  EXPECT_EQ(count({"model.qk_norm=true"}).parameters - count({}).parameters,
            12 * (64 + 64));
  const Plan fused = count({"model.vocab_size=50257"}),
             capped =
                 count({"model.vocab_size=50257", "model.logit_softcap=15"});
  const auto has = [](const Plan &plan) {
    return std::find(plan.kernels.begin(), plan.kernels.end(),
                     "nn/linear_loss.py") != plan.kernels.end();
  };
  EXPECT_TRUE(has(fused));
  EXPECT_FALSE(has(capped));
  EXPECT_LT(capped.activationBytes, 2 * fused.activationBytes);
}

TEST(Plan, CountsTheNetworkThatCompresses) {
  std::vector<std::string> settings = {"attention=nsa",
                                       "model.dim=4",
                                       "model.n_layers=3",
                                       "model.n_heads=2",
                                       "model.n_kv_groups=2",
                                       "model.d_k=2",
                                       "model.d_v=4",
                                       "nsa.l=4",
                                       "nsa.d=2",
                                       "nsa.l_sel=4"};
  const Plan mean = planOf(parseConfig("", "x", settings));
  settings.push_back("nsa.phi=mlp_pe");
  const Plan mlp = planOf(parseConfig("", "x", settings));
  settings.push_back("nsa.phi_per_head=true");
  const Plan each = planOf(parseConfig("", "x", settings));
  const int64_t keys = 4 * (4 * 2 + 1) + 2 * 4,
                values = 8 * (4 * 4 + 1) + 4 * (8 + 1), places = 4 * 2 + 4 * 4;
  EXPECT_EQ(mlp.parameters - mean.parameters, 3 * (keys + values + places));
  EXPECT_EQ(each.parameters - mean.parameters,
            3 * (2 * (keys + values) + places));
  for (const Plan &plan : {mlp, each})
    EXPECT_DOUBLE_EQ(plan.weightFlops - mean.weightFlops,
                     6 * 3 * 2 / 2.0 * (4 * 8 + 2 * 4 + 8 * 16 + 4 * 8));
}

TEST(Plan, CountsOperations) {
  // One layer, one head of 2 + 2 channels, sequences of 3: keys 1, 2, 3.
  const Plan dense = planOf(
      parseConfig("", "x",
                  {"attention=dense", "model.dim=4", "model.n_layers=1",
                   "model.n_heads=1", "model.n_kv_groups=1", "model.d_k=2",
                   "model.d_v=2", "model.mlp_dim=8", "train.seq_len=3"}));
  EXPECT_DOUBLE_EQ(dense.attentionFlops, 6 * 4 * 2);
  EXPECT_DOUBLE_EQ(dense.weightFlops,
                   6 * (4 * 6 + 2 * 4 + 2 * 4 * 8 + 256 * 4));
  // With l = d = 1 every key is compressed too; 4 selected blocks of 1; w = 2.
  const Plan nsa = planOf(parseConfig(
      "", "x",
      {"attention=nsa", "model.dim=4", "model.n_layers=1", "model.n_heads=1",
       "model.n_kv_groups=1", "model.d_k=2", "model.d_v=2", "model.mlp_dim=8",
       "nsa.l=1", "nsa.d=1", "nsa.l_sel=1", "nsa.n_sel=4", "nsa.w=2",
       "train.seq_len=6"}));
  const double keys = (1 + 2 + 3 + 4 + 5 + 6) + (1 + 2 + 3 + 4 + 4 + 4) +
                      (1 + 2 + 2 + 2 + 2 + 2);
  EXPECT_DOUBLE_EQ(nsa.attentionFlops, 6 * 4 * keys / 6);
}

TEST(Plan, ReportsWhatTheRunWillTake) {
  const Config c = parseConfig("", "x", m7c);
  const std::string text = planText(c, planOf(c));
  for (const char *part : {"parameters: 78", "n_layers * 2 * dim * mlp_dim",
                           "56623104", "memory: ", "FLOP a token",
                           "steps: 50000 of 8192 tokens (4 sequences of 2048",
                           "in 2 micro-batches", "409600000 tokens in all",
                           "nsa/cmp_select_fwd.py"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  const Config torch = parseConfig("", "x", {"kernels=torch"});
  EXPECT_NE(planText(torch, planOf(torch)).find("kernels: none"),
            std::string::npos);
}

// Two of four tables of 256 x 2 x 64, and 1,000 rows; none multiplies.
TEST(Plan, CountsValueAndBigramEmbeddings) {
  std::vector<std::string> settings = m7c;
  const Plan none = planOf(parseConfig("", "x", settings));
  settings.insert(settings.end(), {"model.value_embeddings=[0, 11]",
                                   "model.bigram_embeddings=1000"});
  const Config c = parseConfig("", "x", settings);
  const Plan plan = planOf(c);
  EXPECT_EQ(plan.parameters - none.parameters,
            2 * (256 * 2 * 64 + 1) + 1000 * 768);
  EXPECT_EQ(plan.weightFlops, none.weightFlops);
  EXPECT_NE(planText(c, plan).find("bigram embedding"), std::string::npos);
}

// Memory of the micro-batch that takes most, operations of all tokens.
TEST(Plan, CountsThePhasesOfSchedules) {
  const auto plan = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"attention=dense", "train.seq_len=1024",
                               "train.batch_size=2", "train.steps=30"});
    return planOf(parseConfig("", "x", more));
  };
  const Plan shorter = plan({"train.length_schedule=[1:256, 11:1024]"}),
             whole = plan({}),
             wide = plan({"train.batch_schedule=[11:16]",
                          "train.length_schedule=[11:256]"});
  EXPECT_EQ(shorter.activationBytes, whole.activationBytes);
  EXPECT_EQ(std::pair(wide.sequences, wide.length),
            (std::pair<int64_t, int64_t>(16, 256)));
  EXPECT_EQ(std::pair(shorter.sequences, shorter.length),
            (std::pair<int64_t, int64_t>(2, 1024)));
  EXPECT_GT(wide.activationBytes, whole.activationBytes);
  // 10 x 2 x 256 queries with 128.5 keys each, 20 x 2 x 1024 with 512.5.
  EXPECT_NEAR(shorter.attentionFlops / whole.attentionFlops,
              (256 * 128.5 + 2 * 1024 * 512.5) / ((256 + 2 * 1024) * 512.5),
              1e-12);
  const Config c =
      parseConfig("", "x",
                  {"train.seq_len=1024", "train.batch_size=2", "train.steps=30",
                   "train.length_schedule=[1:256, 11:1024]"});
  const std::string text = planText(c, planOf(c));
  for (const char *part : {"steps: 1 to 10 of 512 tokens (2 sequences of 256",
                           "steps: 11 to 30 of 2048 tokens",
                           "40960 tokens in all", "micro-batch of 2 x 1024"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(Plan, RefusesAModelThatNoMemoryHolds) {
  EXPECT_NO_THROW(requireMemory(planOf(Config())));
  EXPECT_THROW(requireMemory(planOf(parseConfig(
                   "", "x", {"model.dim=65536", "model.n_layers=1024"}))),
               Error);
}

} // namespace
