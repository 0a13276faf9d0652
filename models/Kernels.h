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

/// Concatenated (packed) sequences of equal or different lengths.
struct Packing {
  /// Token t of sequence b is row b * length + t.
  Packing(int64_t sequences, int64_t length, const NsaGeometry &geometry,
          at::Device device = at::kCPU);
  /// Sequence b is rows starts[b] .. starts[b+1]-1; it may be empty. `longest`
  /// bounds the lengths and is the same for all batches of a run: kernels
  /// depend on it, not on the actual lengths. Throws tessera::Error if starts
  /// do not begin at 0, decrease, or differ by more than `longest`.
  Packing(std::vector<int32_t> starts, int64_t longest,
          const NsaGeometry &geometry, at::Device device = at::kCPU);

  /// Returns the same sequences with the compressed keys of `geometry`.
  Packing with(const NsaGeometry &geometry) const;

  NsaGeometry nsa; ///< Determines the number of compressed keys.
  int64_t sequences;
  int64_t length;     ///< Length of each sequence, or `longest`.
  int64_t compressed; ///< Compressed keys of all sequences.
  /// cu_seqlens of sequences of different lengths; empty: all sequences have
  /// `length` tokens.
  std::vector<int32_t> starts;
  at::Tensor sequenceStarts;   ///< cu_seqlens, int32 [sequences + 1].
  at::Tensor compressedStarts; ///< The same for compressed keys.
};

/// Inputs of NSA over packed tokens: query [T, Hq, dk], keys and values [T,
/// Hkv, d], with RoPE already applied. keyFilter and valueFilter are the
/// weights [l, d] of a convolution; if undefined, blocks are averaged. If
/// `compressed`, keyCmp and valueCmp are [Packing::compressed, Hkv, d].
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
  at::Tensor losses;  ///< Indexer's loss, fp32 [T]; [0] without an indexer.
};

/// Numbers of kernels that this process has compiled and loaded so far.
struct KernelCounts {
  int64_t compiled = 0;   ///< Compiled by a worker.
  int64_t loaded = 0;     ///< Loaded from the cache or from TESSERA_PACK.
  int64_t packed = 0;     ///< The part of `loaded` that the pack provided.
  int64_t packMisses = 0; ///< Kernels that the pack does not contain.
  int64_t workers = 0;    ///< Compiler processes started.
};

/// A kernel source file and its text.
struct KernelFile {
  std::string path;
  std::string text;
};

/// The tuning table of this process's launches; empty without a table.
struct TuningTable {
  std::string path;   ///< Of the table, or of the pack that contains it.
  std::string origin; ///< "TESSERA_TUNED", "TESSERA_PACK" or "this build".
  std::string sha256; ///< Of its text; 64 hexadecimal digits.
};

/// The configuration of a launch.
struct TunedLaunch {
  std::string launch;        ///< Kernel, types, constexprs, length.
  std::string configuration; ///< "BM=64 BN=32 num_warps=4"
  /// "tuned": a table's entry; "rounded": the entry of the length rounded up to
  /// a power of two; "default": the kernel's configuration.
  std::string source;
};

class Kernels {
public:
  virtual ~Kernels() = default;
  virtual at::Tensor rmsNorm(const at::Tensor &x, const at::Tensor &weight,
                             double epsilon) = 0;
  /// Returns the residual sum x + added and rmsNorm() of the sum, bitwise equal
  /// to the two separate operations. The default calls these two.
  virtual std::pair<at::Tensor, at::Tensor>
  residualNorm(const at::Tensor &x, const at::Tensor &added,
               const at::Tensor &weight, double epsilon);
  /// Returns x [T, in] times the transposed weight [out, in]. The default calls
  /// torch.
  virtual at::Tensor linear(const at::Tensor &x, const at::Tensor &weight);
  /// Returns the cross-entropy in nats, fp32 [T], of the logits hidden [T, dim]
  /// times the transposed weight [V, dim] and the targets int64 [T]; 0 where
  /// the target is -100. `keepLogits`: the backward pass finds the logits in
  /// memory, rounded to the type of `hidden`, instead of computing them again.
  /// The default calls torch and stores all logits.
  virtual at::Tensor linearLoss(const at::Tensor &hidden,
                                const at::Tensor &weight,
                                const at::Tensor &targets, bool keepLogits);
  /// Returns the activation of an MLP's hidden layer `in`. SwiGLU also reads
  /// `gate`; other kinds ignore it. The default calls torch.
  virtual at::Tensor activation(MlpKind kind, const at::Tensor &in,
                                const at::Tensor &gate);
  /// Rotates x [T, H, D] by the position of each token in its sequence and
  /// multiplies the result by ropeMagnitude().
  virtual at::Tensor rope(const at::Tensor &x, const Packing &packing,
                          const Rope &rope) = 0;
  /// Causal attention over complete sequences.
  virtual at::Tensor denseAttention(const at::Tensor &q, const at::Tensor &k,
                                    const at::Tensor &v,
                                    const Packing &packing) = 0;
  /// True if decodeAttention() and decodeCompressed() are implemented.
  virtual bool decodes() const { return false; }
  /// Returns the attention [B, Hq, dv] of one token of each sequence to a
  /// cache: q [B, Hq, dk], keys and values [B, Hkv, capacity, d]. The query
  /// reads keys first .. last-1. If `blocks` (int32 [B, Hkv, n], -1: none) is
  /// defined, the query reads the keys before `last` of these blocks of
  /// `blockLength` tokens. No gradient.
  virtual at::Tensor
  decodeAttention(const at::Tensor & /*q*/, const at::Tensor & /*k*/,
                  const at::Tensor & /*v*/, int64_t /*first*/, int64_t /*last*/,
                  const at::Tensor & /*blocks*/, int64_t /*blockLength*/) {
    return {};
  }
  /// Computes the compressed branch of one token of each sequence at `position`
  /// over a cache: q [B, Hq, dk], keys and values [B, Hkv, capacity, d].
  /// Returns [B, Hq, dv] and the selected blocks, int32 [B, Hkv, n], which are
  /// those of nsaAttention() at that position. Requires n > 0.
  virtual std::pair<at::Tensor, at::Tensor>
  decodeCompressed(const at::Tensor & /*q*/, const at::Tensor & /*k*/,
                   const at::Tensor & /*v*/, int64_t /*position*/,
                   const NsaGeometry & /*nsa*/) {
    return {};
  }
  /// Returns a pattern's attention [B, n, Hq, dv] of the n tokens of each
  /// sequence from `first` on to a cache: q [B, n, Hq, dk], keys and values
  /// [B, Hkv, capacity, d]. `numbers` [names, Hq] belongs to
  /// custom.headLearned, `perSequence` int32 [values, B] to the pattern; either
  /// can be undefined. No gradient. Throws tessera::Error if there are no
  /// compiled kernels.
  virtual at::Tensor decodePattern(const at::Tensor &q, const at::Tensor &k,
                                   const at::Tensor &v, int64_t first,
                                   const at::Tensor &numbers,
                                   const at::Tensor &perSequence,
                                   const CustomAttention &custom);
  /// Returns the first query that attends to any of the keys first .. last-1 of
  /// any sequence; for a causal pattern this is `first`. All sequences have
  /// `last` tokens. `perSequence` as for decodePattern().
  virtual int64_t firstReader(int64_t first, int64_t last, int64_t heads,
                              const at::Tensor &perSequence,
                              const CustomAttention &custom);
  /// Maps products of queries and keys, [B, Hq, n, keys], of the queries from
  /// position `first` on to the scores of the softmax. Keys that the derived
  /// mask of a pattern with select(...) hides get -inf. `number` [Hq] is the
  /// input of its `modify`, or undefined. fp32 or fp64, no gradient. Throws
  /// tessera::Error if there are no compiled kernels.
  virtual at::Tensor patternScores(const at::Tensor &products, int64_t first,
                                   const at::Tensor &number,
                                   const CustomAttention &custom);
  virtual NsaResult nsaAttention(const NsaInputs &inputs,
                                 const ModelConfig &config,
                                 const Packing &packing) = 0;
  /// Computes attention by the kernels of a user's file. `learned` [T, n, Hq]
  /// has a slice for each name of custom.learned; `perSequence` is int32
  /// [values, sequences] of a pattern; undefined: none. Throws tessera::Error
  /// if there are no compiled kernels.
  virtual at::Tensor
  customAttention(const at::Tensor &q, const at::Tensor &k, const at::Tensor &v,
                  const at::Tensor &learned, const at::Tensor &perSequence,
                  const CustomAttention &custom, const Packing &packing);
  /// Computes attention of the pattern `custom.file` with the parameters
  /// `custom.constexprs`. Throws tessera::Error if there are no compiled
  /// kernels.
  virtual PatternResult patternAttention(const PatternInputs &inputs,
                                         const CustomAttention &custom,
                                         const Packing &packing);
  virtual KernelCounts counts() const { return {}; }
  /// Runs `body` and records its launches without compiling or running them;
  /// their results are unspecified. If `prepare`, then compiles or loads the
  /// kernels in parallel, with a line of progress. Returns the distinct
  /// requests (JSON, language/Request.h). Without compiled kernels returns an
  /// empty list and does not run `body`.
  virtual std::vector<std::string>
  listLaunches(const std::function<void()> & /*body*/, bool /*prepare*/) {
    return {};
  }
  /// Starts to record launches, which still run, until endList(). The profiler
  /// span of each launch (at::RecordFunction, "kernel NAME") has the launch's
  /// index in the list as its output.
  virtual void beginList() {}
  /// Returns the launches recorded so far, as requests (JSON,
  /// language/Request.h) for `target`; "": the device on which they ran. An
  /// entry is {"error", "hint"} if the kernel does not support the target.
  virtual std::vector<std::string> listed(const std::string & /*target*/) {
    return {};
  }
  virtual void endList() {}
  /// Returns the files of all kernels used so far, and the files that they
  /// import.
  virtual std::vector<KernelFile> files() const { return {}; }
  /// Returns the tuning table that launches on tensors of the device use.
  /// Throws tessera::Error if the table of TESSERA_TUNED cannot be read.
  virtual TuningTable tuningTable(at::Device /*device*/) const { return {}; }
  /// Returns the launches prepared or made so far in this process, sorted.
  virtual std::vector<TunedLaunch> tunedLaunches() const { return {}; }
};

/// Returns the operations in plain LibTorch with autograd.
std::unique_ptr<Kernels> makeTorchKernels();
/// Returns the compiled kernels, which are called as torch operations of
/// libtessera.
std::unique_ptr<Kernels> makeTesseraKernels();
std::unique_ptr<Kernels> makeKernels(KernelSource source);

} // namespace tessera::models
