// models/Kernels.h - the operations of a model, implemented by compiled kernels
// or by plain torch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/ModelConfig.h"

#include <ATen/core/Tensor.h>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tessera::models {

/// Packed sequences, concatenated, of equal or different lengths.
struct Packing {
  /// Token t of sequence b is row b * length + t.
  Packing(int64_t sequences, int64_t length, const NsaGeometry &geometry,
          at::Device device = at::kCPU);
  /// Sequence b is rows starts[b] .. starts[b+1]-1; it may be empty. `longest`
  /// is a bound of their lengths, the same for all batches of a run: it, and
  /// no length, chooses kernels. Throws tessera::Error for starts that do not
  /// begin at 0, that fall, or that are further apart.
  Packing(std::vector<int32_t> starts, int64_t longest,
          const NsaGeometry &geometry, at::Device device = at::kCPU);

  /// Returns the same sequences with the compressed keys of `geometry`.
  Packing with(const NsaGeometry &geometry) const;

  NsaGeometry nsa; ///< Whose compressed keys are counted.
  int64_t sequences;
  int64_t length;     ///< Of each, or the bound.
  int64_t compressed; ///< Compressed keys of all sequences.
  /// Of sequences of unlike lengths; empty: all have `length` tokens.
  std::vector<int32_t> starts;
  at::Tensor sequenceStarts;   ///< cu_seqlens, int32 [sequences + 1].
  at::Tensor compressedStarts; ///< The same for compressed keys.
};

/// q is [T, Hq, dk]; keys and values are [T, Hkv, d], rotary already applied.
/// keyFilter and valueFilter are the weights [l, d] of a convolution; where
/// they are undefined blocks are averaged. With `compressed` keyCmp and
/// valueCmp are compressed already: [Packing::compressed, Hkv, d].
struct NsaInputs {
  at::Tensor query;
  at::Tensor keyCmp, valueCmp, keySel, valueSel, keyWin, valueWin;
  at::Tensor gateLogits; ///< [T, Hkv, 3] before softmax or sigmoid.
  at::Tensor keyFilter, valueFilter;
  /// The branch whose gate is zeroed: 0 cmp, 1 sel, 2 win, -1 none.
  int without = -1;
  bool compressed = false;
};

struct NsaResult {
  at::Tensor output;  ///< [T, Hq, dv]
  at::Tensor indices; ///< int32 [Hkv, T, n] ascending, -1 padded.
};

/// Inputs of a pattern's attention over T tokens.
struct PatternInputs {
  at::Tensor query; ///< [T, Hq, dk]
  /// [T, streams * Hkv, d], the heads of each stream one after another.
  at::Tensor key, value;
  at::Tensor learned;    ///< fp32 [learned numbers, Hq]; undefined: none.
  at::Tensor gateLogits; ///< [T, Hkv, streams]; undefined: no gates.
  /// Inputs of a learned indexer; undefined without an indexer.
  at::Tensor indexQuery;   ///< [T, lists, heads, width]
  at::Tensor indexKey;     ///< [T, width]
  at::Tensor indexWeights; ///< fp32 [T, lists, heads]
};

struct PatternResult {
  at::Tensor output;  ///< [T, Hq, dv]
  at::Tensor indices; ///< int32 [lists, T, top] ascending, -1 padded.
  at::Tensor losses;  ///< Of the indexer, fp32 [T]; [0] without an indexer.
};

/// Counts of this process's kernels so far.
struct KernelCounts {
  int64_t compiled = 0;   ///< By a worker.
  int64_t loaded = 0;     ///< From the cache, or the pack of TESSERA_PACK.
  int64_t packed = 0;     ///< Of `loaded`: from the pack.
  int64_t packMisses = 0; ///< Not in the pack.
  int64_t workers = 0;    ///< Compiler processes started.
};

/// A file that kernels were compiled from, and its text.
struct KernelFile {
  std::string path;
  std::string text;
};

class Kernels {
public:
  virtual ~Kernels() = default;
  virtual at::Tensor rmsNorm(const at::Tensor &x, const at::Tensor &weight,
                             double epsilon) = 0;
  /// The residual sum x + added and rmsNorm() of it: the same bits as those of
  /// the two operations. By default those two.
  virtual std::pair<at::Tensor, at::Tensor>
  residualNorm(const at::Tensor &x, const at::Tensor &added,
               const at::Tensor &weight, double epsilon);
  /// Returns x [T, in] times the transposed weight [out, in]. By default
  /// torch's product.
  virtual at::Tensor linear(const at::Tensor &x, const at::Tensor &weight);
  /// Cross-entropy of logits hidden [T, dim] times the transposed weight
  /// [V, dim] with the targets, int64 [T], in nats, fp32 [T], 0 where the
  /// target is -100. By default torch's, with all logits.
  virtual at::Tensor linearLoss(const at::Tensor &hidden,
                                const at::Tensor &weight,
                                const at::Tensor &targets);
  /// The activation of an MLP's products `in`, with SwiGLU of `gate` times
  /// `in`; else `gate` is not looked at. By default torch's.
  virtual at::Tensor activation(MlpKind kind, const at::Tensor &in,
                                const at::Tensor &gate);
  /// Rotates x [T, H, D] by the position of each token in its sequence, and
  /// multiplies it by ropeMagnitude().
  virtual at::Tensor rope(const at::Tensor &x, const Packing &packing,
                          const Rope &rope) = 0;
  /// Causal attention over complete sequences.
  virtual at::Tensor denseAttention(const at::Tensor &q, const at::Tensor &k,
                                    const at::Tensor &v,
                                    const Packing &packing) = 0;
  /// True if decodeAttention() and decodeCompressed() are implemented.
  virtual bool decodes() const { return false; }
  /// One token of each sequence over a cache: q [B, Hq, dk], keys and values
  /// [B, Hkv, capacity, d], those of `first` .. last-1, or, where `blocks` is
  /// defined, of the blocks of `blockLength` tokens that it names, int32
  /// [B, Hkv, n], -1: none, before `last`. Gives [B, Hq, dv], no gradient.
  virtual at::Tensor
  decodeAttention(const at::Tensor & /*q*/, const at::Tensor & /*k*/,
                  const at::Tensor & /*v*/, int64_t /*first*/, int64_t /*last*/,
                  const at::Tensor & /*blocks*/, int64_t /*blockLength*/) {
    return {};
  }
  /// The compressed branch of one token of each sequence, at `position`, over a
  /// cache: q [B, Hq, dk], keys and values [B, Hkv, capacity, d]. Gives
  /// [B, Hq, dv] and the selected blocks, int32 [B, Hkv, n], bit for bit those
  /// of nsaAttention() at that position. There are selected blocks.
  virtual std::pair<at::Tensor, at::Tensor>
  decodeCompressed(const at::Tensor & /*q*/, const at::Tensor & /*k*/,
                   const at::Tensor & /*v*/, int64_t /*position*/,
                   const NsaGeometry & /*nsa*/) {
    return {};
  }
  /// Attention of a pattern for the n tokens of each sequence from `first` on,
  /// over a cache: q [B, n, Hq, dk], keys and values [B, Hkv, capacity, d],
  /// `numbers` [names, Hq] of custom.headLearned or undefined, `perSequence`
  /// int32 [values, B] of the pattern or undefined. Gives
  /// [B, n, Hq, dv], no gradient. Throws tessera::Error where there are no
  /// compiled kernels.
  virtual at::Tensor decodePattern(const at::Tensor &q, const at::Tensor &k,
                                   const at::Tensor &v, int64_t first,
                                   const at::Tensor &numbers,
                                   const at::Tensor &perSequence,
                                   const CustomAttention &custom);
  /// The first of the queries that attend to any of the keys first .. last-1
  /// of any sequence, all of which end there; `first` of a causal pattern.
  /// `perSequence` as for decodePattern().
  virtual int64_t firstReader(int64_t first, int64_t last, int64_t heads,
                              const at::Tensor &perSequence,
                              const CustomAttention &custom);
  /// The scores of the softmax from products of queries and keys, [B, Hq, n,
  /// keys], of the queries from position `first` on: -inf for the keys that the
  /// derived rule of a pattern with select(...) hides. `number` [Hq] is what
  /// its `modify` reads, or undefined. fp32 or fp64, no gradient. Throws
  /// tessera::Error where there are no compiled kernels.
  virtual at::Tensor patternScores(const at::Tensor &products, int64_t first,
                                   const at::Tensor &number,
                                   const CustomAttention &custom);
  virtual NsaResult nsaAttention(const NsaInputs &inputs,
                                 const ModelConfig &config,
                                 const Packing &packing) = 0;
  /// Attention by the kernels of a user's file; `learned` is
  /// [T, n, Hq], a slice for each name of custom.learned; undefined: none.
  /// `perSequence` is int32 [values, sequences] of a pattern; undefined: none.
  /// Throws tessera::Error where there are no compiled kernels.
  virtual at::Tensor
  customAttention(const at::Tensor &q, const at::Tensor &k, const at::Tensor &v,
                  const at::Tensor &learned, const at::Tensor &perSequence,
                  const CustomAttention &custom, const Packing &packing);
  /// Attention of the pattern `custom.file` with the parameters
  /// `custom.constexprs`. Throws tessera::Error where there are no compiled
  /// kernels.
  virtual PatternResult patternAttention(const PatternInputs &inputs,
                                         const CustomAttention &custom,
                                         const Packing &packing);
  virtual KernelCounts counts() const { return {}; }
  /// Runs `body`, in which launches are listed: none is compiled or run, and
  /// their results hold anything. Then, where `prepare` is set, compiles or
  /// loads what they need, in parallel, with a line of progress. The requests
  /// (JSON, language/Request.h), each once; none, without running
  /// `body`, where there are no compiled kernels.
  virtual std::vector<std::string>
  listLaunches(const std::function<void()> & /*body*/, bool /*prepare*/) {
    return {};
  }
  /// From now on launches are listed and run. The span of each
  /// (at::RecordFunction, "kernel NAME") has its index in the list as its
  /// output, until endList().
  virtual void beginList() {}
  /// The list so far, as requests (JSON, language/Request.h) for the
  /// target; "": for what the launches ran on. {"error", "hint"} where the
  /// kernel has no form for the target.
  virtual std::vector<std::string> listed(const std::string & /*target*/) {
    return {};
  }
  virtual void endList() {}
  /// Returns the files of all kernels used so far, and the files that they
  /// import.
  virtual std::vector<KernelFile> files() const { return {}; }
};

/// Returns the operations in plain LibTorch with autograd.
std::unique_ptr<Kernels> makeTorchKernels();
/// Returns the compiled kernels, called as torch operations of the library
/// tessera.
std::unique_ptr<Kernels> makeTesseraKernels();
std::unique_ptr<Kernels> makeKernels(KernelSource source);

} // namespace tessera::models
