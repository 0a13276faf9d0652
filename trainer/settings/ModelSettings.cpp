// trainer/settings/ModelSettings.cpp - table section of the settings of the
// model.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/settings/Entry.h"

namespace tessera::trainer {
namespace {

using namespace models;

const std::vector<Choice> compressions = {
    choice("avg", Compression::Average),
    choice("conv", Compression::Convolution),
    choice("mlp_pe", Compression::Mlp),
    {"mlp", -1,
     "nsa-vibe read this word and averaged: avg is what its runs did, "
     "mlp_pe is the network of the paper"}};
const std::vector<Choice> phiActivations = {
    choice("silu", MlpKind::Silu), choice("relu2", MlpKind::SquaredRelu)};
const std::vector<Choice> gateModes = {choice("softmax", GateMode::Softmax),
                                       choice("sigmoid", GateMode::Sigmoid)};
const std::vector<Choice> gateInputs = {choice("q_mean", GateInput::QueryMean),
                                        choice("x", GateInput::Hidden)};
const std::vector<Choice> mlps = {choice("relu2", MlpKind::SquaredRelu),
                                  choice("silu", MlpKind::Silu),
                                  choice("swiglu", MlpKind::SwiGlu)};
const std::vector<Choice> ropeScalings = {choice("linear", RopeScaling::Linear),
                                          choice("yarn", RopeScaling::Yarn)};
const std::vector<Choice> gateOverrides = {
    choice("none", GateOverride::None), choice("cmp", GateOverride::Compressed),
    choice("sel", GateOverride::Selected), choice("win", GateOverride::Window),
    choice("uniform", GateOverride::Uniform)};

} // namespace

std::vector<Setting> modelSettings() {
  return {
      SettingEntry::of("model.dim", MEMBER(model.dim),
                       "width of the residual stream")
          .range(1, 65536),
      SettingEntry::of("model.n_layers", MEMBER(model.layers), "blocks")
          .also("model.layers")
          .range(1, 1024),
      SettingEntry::of("model.n_heads", MEMBER(model.heads), "query heads")
          .also("model.heads")
          .range(1, 1024),
      SettingEntry::of("model.n_kv_groups", MEMBER(model.kvHeads),
                       "key/value heads, each of a group of query heads")
          .also("model.kv_heads")
          .range(1, 1024),
      SettingEntry::of("model.d_k", MEMBER(model.keyDim),
                       "channels of a query or key")
          .also("model.key_dim")
          .range(2, 1024),
      SettingEntry::of("model.d_v", MEMBER(model.valueDim),
                       "channels of a value")
          .also("model.value_dim")
          .range(1, 1024),
      SettingEntry::of("model.mlp_dim", MEMBER(model.mlpDim),
                       "hidden width of the MLP; 0 or not given: 4 x model.dim")
          .range(0, 1 << 20),
      SettingEntry::oneOf(
          "model.mlp", MEMBER(model.mlp), mlps,
          "what is between the MLP's matrices: the square of ReLU, "
          "SiLU, or SiLU of a second matrix times the first"),
      SettingEntry::of("model.vocab_size", MEMBER(model.vocabulary),
                       "tokens there are; not given: those of the data")
          .range(2, 1 << 24),
      SettingEntry::of("model.tied_head", MEMBER(model.tiedHead),
                       "output head = embedding"),
      SettingEntry::of("model.qk_norm", MEMBER(model.qkNorm),
                       "RMSNorm of each head's query and keys before rotation, "
                       "with learned factors"),
      SettingEntry::of("model.logit_softcap", MEMBER(model.logitSoftcap),
                       "c of c * tanh(logits / c), in the loss and in "
                       "generate; 0: logits as they are")
          .range(0, 1e6),
      SettingEntry::of(
          "model.value_embeddings", MEMBER(model.valueEmbeddings),
          "layers whose values get a learned scale times a table's "
          "row of the token; a number: so many layers, spread "
          "evenly up to the last")
          .range(0, 1024),
      SettingEntry::of("model.bigram_embeddings",
                       MEMBER(model.bigramEmbeddings),
                       "rows of a table of hashed pairs of a token and the one "
                       "before it, added to the embedding; 0: none")
          .range(0, 1 << 24),
      SettingEntry::of("model.rope_base", MEMBER(model.rope.base),
                       "base of rotary positions")
          .range(1, 1e12),
      SettingEntry::of("model.rope_scale", MEMBER(model.rope.scale),
                       "how many times longer sequences are than those that "
                       "positions were made for; 1: positions as they are")
          .twin("NSA_ROPE_SCALE")
          .range(1, 1e6),
      SettingEntry::oneOf(
          "model.rope_scaling", MEMBER(model.rope.scaling), ropeScalings,
          "what rope_scale does: divide every position, or YaRN"),
      SettingEntry::of(
          "model.rope_original_len", MEMBER(model.rope.originalLength),
          "tokens of a sequence before the scaling; 0 or not given: "
          "train.seq_len")
          .range(0, 1 << 20),
      SettingEntry::of(
          "model.rope_beta_fast", MEMBER(model.rope.fast),
          "of YaRN: channels that turn more often within that length "
          "stay as they are")
          .range(1e-3, 1e6),
      SettingEntry::of("model.rope_beta_slow", MEMBER(model.rope.slow),
                       "of YaRN: channels that turn less often are divided")
          .range(1e-3, 1e6),
      SettingEntry::of("model.norm_eps", MEMBER(model.normEpsilon),
                       "epsilon of RMSNorm")
          .range(1e-30, 1),
      SettingEntry::of("nsa.l", MEMBER(model.nsa.blockLength),
                       "tokens of a compressed block")
          .range(1, 65536),
      SettingEntry::of("nsa.d", MEMBER(model.nsa.stride),
                       "tokens between compressed blocks")
          .range(1, 65536),
      SettingEntry::of("nsa.l_sel", MEMBER(model.nsa.selectionLength),
                       "tokens of a selected block")
          .range(1, 65536),
      SettingEntry::of("nsa.n_sel", MEMBER(model.nsa.selectedBlocks),
                       "blocks kept per query; 0: no selection")
          .range(0, 65536),
      SettingEntry::of("nsa.w", MEMBER(model.nsa.window),
                       "tokens of the sliding window; 0: no window")
          .range(0, 1 << 20),
      SettingEntry::oneOf(
          "nsa.phi", MEMBER(model.compression), compressions,
          "how a block becomes one key and value: its mean, a "
          "convolution, a network that knows the places in the block"),
      SettingEntry::of("nsa.phi_hidden", MEMBER(model.phiHidden),
                       "hidden width of that network; 0: twice the head size")
          .range(0, 1 << 16),
      SettingEntry::oneOf("nsa.phi_act", MEMBER(model.phiActivation),
                          phiActivations, "what is between its matrices"),
      SettingEntry::of("nsa.phi_per_head", MEMBER(model.phiPerHead),
                       "a network for each key head, not one for all"),
      SettingEntry::oneOf("nsa.gate", MEMBER(model.gateMode), gateModes,
                          "how the three branches are weighed"),
      SettingEntry::oneOf(
          "nsa.gate_input", MEMBER(model.gateInput), gateInputs,
          "what the gates see: the group's mean query, the layer's "
          "input"),
      SettingEntry::of("nsa.gate_temperature", MEMBER(model.gateTemperature),
                       "divides the gate logits")
          .range(1e-6, 1e6),
      SettingEntry::oneOf(
          "nsa.force_gate", MEMBER(model.gateOverride), gateOverrides,
          "gates whatever their weights say: one branch alone, or all "
          "alike")
          .twin("NSA_FORCE_BRANCH"),
      SettingEntry::of("nsa.use_cmp", MEMBER(model.useCompressed),
                       "false: the gate of the compressed branch is zero"),
      SettingEntry::of("nsa.use_sel", MEMBER(model.useSelected),
                       "the same of the selected branch"),
      SettingEntry::of("nsa.use_win", MEMBER(model.useWindow),
                       "the same of the sliding window"),
  };
}

} // namespace tessera::trainer
