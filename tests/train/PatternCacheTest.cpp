// tests/train/PatternCacheTest.cpp - models with patterns over a cache: the
// logits of new tokens are those of the complete forward pass.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/Transformer.h"
#include "runtime/launch/PatternFile.h"
#include "support/File.h"
#include "trainer/settings/Config.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <limits>

using namespace tessera;

namespace {

using Settings = std::vector<std::string>;

models::ModelConfig modelOf(const Settings &attention) {
  Settings all = {"model.dim=32",        "model.n_layers=4", "model.n_heads=4",
                  "model.n_kv_groups=2", "model.d_k=8",      "model.d_v=16",
                  "model.mlp_dim=64",    "nsa.l=8",          "nsa.d=4",
                  "nsa.l_sel=16",        "nsa.n_sel=4",      "nsa.w=16"};
  if (attention[0] == "attention=kernels/patterns/nsa.py")
    std::erase_if(all, [](const std::string &setting) {
      return setting.starts_with("nsa."); // the pattern has these sizes
    });
  all.insert(all.end(), attention.begin(), attention.end());
  return trainer::parseConfig("", "x", all).model;
}

at::Tensor tokensOf(int64_t rows, int64_t length) {
  return (at::arange(rows * length) * 7919 + 13)
      .remainder(251)
      .view({rows, length});
}

/// Learned numbers that have an effect: they start at 0.
void drawLearned(models::Transformer &model, double first) {
  for (models::Parameter &p : model.parameters())
    if (p.name.find("head_learned") != std::string::npos) {
      p.value.detach().copy_(at::linspace(-0.4, 0.6, p.value.numel()));
      p.value.detach()[0] = first;
    }
}

/// A prefix of each sequence.
at::Tensor prefixes(std::vector<int32_t> tokens) {
  return at::tensor(tokens, at::kInt).unsqueeze(0);
}

/// Reads a text in pieces, around the borders of tiles of 64 keys, and compares
/// the last logits of each with a forward pass over all tokens so far. `first`
/// is the learned number of the first head.
void expectCacheIsForward(const Settings &attention,
                          const at::Tensor &perSequence = {},
                          double first = -0.4) {
  const models::ModelConfig config = modelOf(attention);
  models::Transformer model(config, models::KernelSource::Tessera, 7);
  drawLearned(model, first);
  const at::NoGradGuard noGrad;
  const at::Tensor text = tokensOf(2, 140);
  models::Cache cache(config, 2, 140, perSequence);
  models::ForwardOptions options;
  options.perSequence = perSequence;
  int64_t last = 0;
  for (const int64_t count : {3, 1, 1, 57, 1, 1, 1, 1, 60, 1, 1, 1, 1, 1, 7}) {
    const at::Tensor added = text.slice(1, last, last + count);
    last += count;
    const at::Tensor logits = model.extend(added, cache);
    ASSERT_EQ(logits.size(1), count);
    ASSERT_EQ(cache.length(), last);
    const at::Tensor all =
        model.forward(text.slice(1, 0, last), options).logits;
    const double difference =
        (logits - all.slice(1, last - count)).abs().max().item<double>();
    EXPECT_LT(difference, 1e-5) << attention[0] << " at " << last;
  }
}

TEST(PatternCache, EveryPatternOfTheLibraryContinuesFromACache) {
  const std::map<std::string, std::string> parameters = {
      {"window", "window=20"},
      {"sink_window", "window=16,first=2"},
      {"strided", "local=5,stride=7"},
      {"fixed", "block=16,summary=3"},
      {"block_causal", "block=12"},
      {"softcap", "cap=0.2"},
      {"alibi", ""},
      {"dense", ""},
      {"prefix_lm", ""},
      {"moba", "block=16,top=3"},
      {"infllm_v2", "block=16,top=5,local=2,l=8,d=4,dense_below=0"},
      {"learned_blocks", "block=16,top=3,heads=2,dim=8"},
      {"nsa", "block=16,top=4,l=8,d=4,window=16"},
      {"heavily_compressed", "l=16,d=16,window=12"},
      {"compressed_sparse", "top=5,l=8,d=4,window=12,heads=2,dim=8"}};
  for (const std::string &name : runtime::libraryPatterns()) {
    ASSERT_TRUE(parameters.contains(name)) << name;
    Settings settings = {"attention=kernels/patterns/" + name + ".py",
                         "attention_params=" + parameters.at(name)};
    const bool prefix = name == "prefix_lm";
    if (prefix)
      settings.push_back("attention.per_sequence=prefix=uniform");
    expectCacheIsForward(settings, prefix ? prefixes({9, 90}) : at::Tensor());
  }
}

TEST(PatternCache, SelectedBlocksWithWindowAndSinkContinueFromACache) {
  const std::string file = ::testing::TempDir() + "tessera_near_blocks.py";
  writeFile(file, "import triton\n\n\n# tessera: select(block=8, top=2, "
                  "scope=all, window=11, score=pooled(max))\n"
                  "# tessera: learned(sink=[Hq])\n@triton.jit\n"
                  "def sees(t, pos):\n    return pos <= t\n");
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const double sink : {-0.4, infinity, -infinity}) {
    expectCacheIsForward({"attention=" + file}, {}, sink);
    expectCacheIsForward({"attention=sink_window"}, {}, sink);
  }
  expectCacheIsForward({"attention=infllm_v2",
                        "attention_params=block=16,top=5,local=2,l=8,d=4,"
                        "dense_below=1000"});
}

TEST(PatternCache, SelectedBlocksWithARuleAndAScoreContinueFromACache) {
  const std::string file = ::testing::TempDir() + "tessera_far_blocks.py";
  writeFile(file,
            "import triton\nimport triton.language as tl\n\n\n# tessera: "
            "select(block=8, top=3, scope=q, score=pooled(mean))\n"
            "# tessera: pattern(near=50, cap=0.5)\n"
            "# tessera: learned(slope=[Hq], sink=[Hq])\n@triton.jit\n"
            "def sees(t, pos, head, near: tl.constexpr):\n"
            "    return (t - pos < near) & ((t - pos + head) % 3 != 1)\n\n\n"
            "@triton.jit\ndef modify(s, t, pos, head, slope, cap: "
            "tl.constexpr):\n    return tl.minimum(s, cap) - slope * (t - "
            "pos)\n");
  for (const char *more : {"near=20,cap=2", "top=2", "dense_below=1000"})
    expectCacheIsForward(
        {"attention=" + file, std::string("attention_params=") + more});
}

TEST(PatternCache, ModelsWithDifferentLayersContinueFromACache) {
  expectCacheIsForward(
      {"attention=sink_window,dense", "attention_params=window=16,first=0"});
  expectCacheIsForward(
      {"attention=window,window", "attention_params=window=8; window=100"});
  expectCacheIsForward({"attention=nsa,alibi"});
  // Compressed keys of other sizes in each layer.
  expectCacheIsForward({"attention=nsa,kernels/patterns/nsa.py,"
                        "compressed_sparse,heavily_compressed",
                        "attention_params=; block=8,top=4,l=4,d=2,window=9; "
                        "top=3,l=8,d=4,window=5; l=12,d=12,window=7"});
  expectCacheIsForward({"attention=prefix_lm,window",
                        "attention_params=window=16",
                        "attention.per_sequence=prefix=uniform"},
                       prefixes({64, 3}));
}

// The last token changes what the tokens of its block attend to.
TEST(PatternCache, TokensThatSeeLaterOnesAreReadAgain) {
  expectCacheIsForward({"attention=block_causal,window,sdpa",
                        "attention_params=block=12,"
                        "window=9"});
  expectCacheIsForward(
      {"attention=nsa,block_causal", "attention_params=block=5"});
}

} // namespace
