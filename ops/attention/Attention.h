// ops/attention/Attention.h - what the four attention ops share: shapes,
// outputs, launches.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/Check.h"
#include "ops/launch/Launch.h"

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tessera::runtime {

// Where a forward pass writes: o [T, Hq, E], lse fp32 [T, Hq].
struct Output {
  at::Tensor o, lse;
};

// Checked inputs of an attention op, last dimensions unit-stride.
struct Attention {
  const char *op;
  at::Tensor q, k, v;
  at::Tensor cuSeqlens;
  int64_t maxSeqlen;
  double scale;
  int64_t tokens, queryHeads, keyHeads, group, keyDim, valueDim, sequences;

  at::Tensor emptyOutput() const; // [T, Hq, E]
  // fp32, one number for each token and head of an output: [T, Hq], stored by
  // tokens, so that the heads of one token are neighbours.
  at::Tensor emptyRows() const;
  Output newOutput() const;
  // Outputs of rows without keys: zeros, and -inf as the op returns it.
  std::tuple<at::Tensor, at::Tensor> noKeys() const;
  std::tuple<at::Tensor, at::Tensor, at::Tensor> zeroGradients() const;
};

// k and v have a row for each token, or with `compressed` as many as k has,
// which checkCompressed compares with cu_cmp.
Attention checkAttention(const char *op, const at::Tensor &q,
                         const at::Tensor &k, const at::Tensor &v,
                         const at::Tensor &cuSeqlens, int64_t maxSeqlen,
                         std::optional<double> scale, bool compressed = false);

// Shapes of (o, lse) and of (dq, dk, dv) for tensors without storage.
std::tuple<at::Tensor, at::Tensor> metaForward(const char *op,
                                               const at::Tensor &q,
                                               const at::Tensor &k,
                                               const at::Tensor &v);
std::tuple<at::Tensor, at::Tensor, at::Tensor>
metaBackward(const at::Tensor &q, const at::Tensor &k, const at::Tensor &v);

// What a backward kernel takes of each row (token and query head). To make it
// the backward of g * o for a gate g of each token and key head, lse is
// lse - ln(g) and delta the sum of grad_o * o without the gate: then g * p
// stands where p stood.
struct RowGradient {
  at::Tensor gradO;      // [T, Hq, E], q's type, unit last stride
  at::Tensor lse, delta; // fp32 [T, Hq]
};

// Where dq goes, [T, Hq, D]; with `add` it is added to what is there, which is
// read in its type, in fp32.
struct QueryGradient {
  at::Tensor dq;
  bool add = false;
};

using Constants = std::vector<std::pair<const char *, int64_t>>;

// The fewest rows among the tiles of the kernel files. A tile holds whole
// tokens: where a token has more heads than this, launches set BM.
constexpr int64_t kLeastTileRows = 32;

// Sets BM where a token has more heads than the smallest tile has rows.
void wholeTokens(Launch &launch, int64_t group);

// True if a backward kernel holds more than 1 KiB of each row, key and value
// included: fp32 heads above 128. The kernels' configurations then need more
// shared memory than a block of sm_80 has.
bool isHeavy(const Attention &a);

// Tiles for a GPU where heads are too wide for the registers or the shared
// memory that the first configurations of the backward kernels need; none where
// they are not. `keys`: those of a kernel by keys. Given with a launch they
// also replace tuned ones.
Constants wideTiles(const Attention &a, bool keys);

// The options of a backward launch, for Launch's constructor: no copies ahead
// of the loop where rows are heavy.
const char *backwardOptions(const Attention &a);

// The same with other constexprs of the launch, which may be empty.
std::string backwardOptions(const Attention &a, const std::string &text);

// Gives `launch` the tiles but BM where `rowsGiven` says that it has BM.
void setTiles(Launch &launch, const Constants &tiles, bool rowsGiven);

// How a branch's kernels differ from plain causal attention.
struct Branch {
  Constants constants = {};
  // Arguments in addition to those of plain causal attention, by name.
  std::vector<std::pair<const char *, at::Tensor>> tensors = {};
  Constants integers = {};
  // Tensors with a number for each token and head, fp32 [T, Hq], by name.
  std::vector<std::pair<const char *, at::Tensor>> rows = {};
  // Constexprs of the launch as text (ops/launch/ConstexprText.h).
  std::string text = {};
  int64_t parts = 1; // programs of each tile of keys
  // Type of dk and dv; by default that of k.
  std::optional<at::ScalarType> gradients = {};
  // Whether dq, dk and dv take wideTiles() where rows are not heavy, too.
  bool ownTiles = false;
};

// The shape of lse in the ops is [Hq, T]; the kernels take [T, Hq]. Both are
// views of the same numbers.
inline at::Tensor byHeads(const at::Tensor &rows) { return rows.t(); }
inline at::Tensor byTokens(const at::Tensor &lse) { return lse.t(); }
// The lse that a backward op was given, [T, Hq]; throws Error for another
// shape or type.
at::Tensor lseRows(const Attention &a, const at::Tensor &lse);

// The tuples that every backward kernel of attention reads: q, k, v, do, lse
// and delta.
Launch &addRows(Launch &launch, const Attention &a, const RowGradient &rows);

// Gives `launch` the arguments and constants of attention but the tuples.
void applyArguments(Launch &launch, const Attention &a, const Branch &branch);

// Kernels tiled over (token, head of the group) rows. The second returns o and
// lse as the op does; lse and delta below are [T, Hq] with any strides.
void launchForward(const Attention &a, const Branch &branch, const char *file,
                   const char *kernel, const Output &to);
std::tuple<at::Tensor, at::Tensor> launchForward(const Attention &a,
                                                 const Branch &branch,
                                                 const char *file,
                                                 const char *kernel);
// Writes to `to`, or adds.
void launchDq(const Attention &a, const Branch &branch, const RowGradient &rows,
              const QueryGradient &to, const char *file, const char *kernel);
// Kernels tiled over keys.
std::tuple<at::Tensor, at::Tensor>
launchDkDv(const Attention &a, const Branch &branch, const RowGradient &rows,
           const char *file, const char *kernel);

// Writes the sum over E of grad_o * o, less the gradient of lse ([Hq, T]), to
// rows, fp32 [T, Hq].
void attentionDelta(const Attention &a, const at::Tensor &gradO,
                    const at::Tensor &o,
                    const std::optional<at::Tensor> &gradLse,
                    const at::Tensor &rows);
// The same, in a new tensor stored by tokens.
at::Tensor attentionDelta(const Attention &a, const at::Tensor &gradO,
                          const at::Tensor &o,
                          const std::optional<at::Tensor> &gradLse);

// The gradient of o as an op of one branch is given it, [Hq, T] for lse.
RowGradient rowGradient(const Attention &a, const at::Tensor &gradO,
                        const std::optional<at::Tensor> &gradLse,
                        const at::Tensor &o, const at::Tensor &lse);

// Gradient of o as the kernels take it: q's type, unit last stride.
at::Tensor outputGradient(const Attention &a, const at::Tensor &gradO);

} // namespace tessera::runtime
