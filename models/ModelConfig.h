// models/ModelConfig.h - the configuration of a transformer, and its
// validation.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Rope.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::language {
struct Selection;
} // namespace tessera::language

namespace tessera::models {

/// Sizes of Native Sparse Attention; the names are those of the paper.
struct NsaGeometry {
  int64_t blockLength = 32;     ///< l: tokens under one compressed key.
  int64_t stride = 16;          ///< d: tokens between compressed keys.
  int64_t selectionLength = 64; ///< l': tokens of one selection block.
  int64_t selectedBlocks = 16;  ///< n: blocks a query keeps, forced ones too.
  int64_t window = 512;         ///< w: keys of the sliding window.
  int64_t initialBlocks = 1;    ///< Forced blocks at the start.
  int64_t localBlocks = 2;      ///< Forced blocks up to the query's own.

  /// Returns the number of compressed keys of a sequence of `length` tokens.
  int64_t compressedCount(int64_t length) const {
    return length < blockLength ? 0 : (length - blockLength) / stride + 1;
  }
};

/// Returns the sizes of a pattern's selection as the functions of NSA take
/// them.
NsaGeometry geometryOf(const language::Selection &selection);

/// Attention by kernels of a user's file (docs/training.md).
struct CustomAttention {
  /// File of an attention pattern (docs/patterns.md), or empty. A pattern
  /// determines the values below except `constexprs`.
  std::string pattern;
  std::string file;       ///< Kernel file; empty: none.
  std::string forward;    ///< Kernel that writes O and LSE.
  std::string backward;   ///< Kernel, or the prefix of several.
  std::string constexprs; ///< "W=16, STEP=4"
  /// "GATE": tensors [tokens, heads] that the kernels take in addition. Each is
  /// a learned projection of the layer's input.
  std::string learned;
  /// "SINK": learned tensors [heads] that the kernels take in addition, one
  /// number per query head.
  std::string headLearned;
  std::vector<std::string> learnedNames() const;
  std::vector<std::string> headLearnedNames() const;
  /// The names of both, those of `headLearned` first, separated by commas.
  std::string allLearned() const;
};

enum class AttentionKind { Nsa, Dense, Sdpa, Kernel };
enum class KernelSource { Tessera, Torch };
enum class Compression { Average, Convolution, Mlp };
enum class GateMode { Softmax, Sigmoid };
enum class GateInput { QueryMean, Hidden };
/// Activation of an MLP's hidden layer; SwiGLU has a second input matrix.
enum class MlpKind { SquaredRelu, Silu, SwiGlu };
/// Fixed gates that replace the learned ones.
enum class GateOverride { None, Compressed, Selected, Window, Uniform };

/// The kind of attention of one layer.
struct LayerKind {
  AttentionKind kind = AttentionKind::Nsa;
  CustomAttention custom; ///< Of AttentionKind::Kernel.
  /// Of NSA; nullopt: those of the model.
  std::optional<NsaGeometry> nsa = std::nullopt;
};

/// What the backward pass recomputes instead of storing: a block's MLP, its
/// attention, or the complete block.
enum class Recompute { None, Mlp, Attention, Full };

/// Whether the output head and the cross-entropy are one operation that does
/// not store logits. Auto: from fusedVocabulary tokens on.
enum class FusedLoss : int { Auto, On, Off };
constexpr int64_t fusedVocabulary = 8192;

/// What a fused loss does with its logits: it keeps all of them for the
/// backward pass, or computes them again in chunks of tokens. Auto: as
/// trainer::modelOf() decides; a model by itself takes chunks.
enum class LossLogits : int { Auto, Keep, Chunks };

/// Layers that a setting chooses: a list, or a number of layers.
struct LayerSet {
  int64_t count = 0;           ///< Number of layers if `listed` is empty.
  std::vector<int64_t> listed; ///< Layers, counted from 0.

  /// Returns whether a layer of a model of `layers` layers is one of them. A
  /// number of layers is spread evenly up to the last layer.
  bool has(int64_t layer, int64_t layers) const;
  bool empty() const { return count == 0 && listed.empty(); }
};

struct ModelConfig {
  int64_t vocabulary = 256;
  int64_t dim = 192;
  int64_t layers = 3;
  int64_t heads = 6;
  int64_t kvHeads = 2;
  int64_t keyDim = 32;
  int64_t valueDim = 32;
  int64_t mlpDim = 768;
  MlpKind mlp = MlpKind::SquaredRelu;
  bool tiedHead = false;
  /// RMS norm of each head's query and of each branch's keys before RoPE, with
  /// learned factors of the layer.
  bool qkNorm = false;
  double logitSoftcap = 0; ///< c of c * tanh(logits / c); 0: none.
  /// Layers whose values get scale * table[token], with a learned table
  /// [vocabulary, kvHeads * valueDim] and a learned scale of the layer.
  LayerSet valueEmbeddings;
  /// Rows of the table of hashed pairs of a token and its predecessor, which
  /// is added to the embedding (models/Bigrams.h); 0: none.
  int64_t bigramEmbeddings = 0;
  Rope rope;
  double normEpsilon = 1e-6;
  AttentionKind attention = AttentionKind::Nsa;
  CustomAttention custom; ///< Of AttentionKind::Kernel.
  /// The kinds of attention, which repeat over the layers. Empty: every layer
  /// has `attention` and `custom`.
  std::vector<LayerKind> kinds;
  /// Names of the values of each sequence, as kernels spell them: {"PREFIX"}.
  std::vector<std::string> sequenceValues;
  NsaGeometry nsa;
  Compression compression = Compression::Average;
  /// Of Compression::Mlp (models/BlockMlp.h): hidden width, 0 for twice the
  /// head size; squared ReLU or SiLU; a network for each key head, or one.
  int64_t phiHidden = 0;
  MlpKind phiActivation = MlpKind::Silu;
  bool phiPerHead = false;
  GateMode gateMode = GateMode::Sigmoid;
  GateInput gateInput = GateInput::Hidden;
  double gateTemperature = 1.0;
  GateOverride gateOverride = GateOverride::None;
  /// An unused branch has a gate of zero.
  bool useCompressed = true, useSelected = true, useWindow = true;
  /// Does not change results.
  Recompute recompute = Recompute::None;
  double indexLossWeight = 1;            ///< Of the loss of learned indexers.
  FusedLoss fusedLoss = FusedLoss::Auto; ///< Results agree up to rounding.
  LossLogits lossLogits = LossLogits::Auto; ///< Results agree up to rounding.

  /// Returns the attention of a layer, 0 to layers - 1.
  LayerKind attentionOf(int64_t layer) const;
  /// Returns attentionOf(layer), but NSA with the pattern's sizes if the
  /// pattern's streams have gates. A pattern whose file does not exist keeps
  /// its kind, because a stored run has a copy of it. Throws tessera::Error for
  /// an invalid pattern.
  LayerKind builtAttentionOf(int64_t layer) const;
  /// Returns the number of key-value pairs that a layer projects.
  int64_t branchesOf(int64_t layer) const;
  /// Returns the number of layers with a table of valueEmbeddings.
  int64_t valueTables() const;
  /// Returns how many layers have builtAttentionOf() of that kind.
  int64_t layersWith(AttentionKind kind) const;
  /// Returns whether any layer has attention of that kind.
  bool has(AttentionKind kind) const { return layersWith(kind) > 0; }
};

inline bool fusesLoss(const ModelConfig &config) {
  return config.fusedLoss == FusedLoss::On ||
         (config.fusedLoss == FusedLoss::Auto &&
          config.vocabulary >= fusedVocabulary);
}

/// Returns the number of tokens whose logits softcapLoss() stores at a time
/// (models/SoftcapLoss.h).
inline int64_t softcapRows(int64_t vocabulary) {
  return vocabulary >= int64_t{1} << 22 ? 1 : (int64_t{1} << 22) / vocabulary;
}

/// Returns the hidden width of the network that compresses blocks of heads of
/// `headDim` channels.
int64_t phiWidth(const ModelConfig &config, int64_t headDim);

/// Throws tessera::Error, naming the key of the config file, if a model with
/// these sizes cannot be built (nsa.md REQ-1).
void validate(const ModelConfig &config);

} // namespace tessera::models
