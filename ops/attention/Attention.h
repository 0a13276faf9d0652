// ops/attention/Attention.h - shapes, outputs and launches that the four
// attention ops share.
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

// Output tensors of a forward pass: o [T, Hq, E], lse fp32 [T, Hq].
struct Output {
  at::Tensor o, lse;
};

// Checked inputs of an attention op; last dimensions are unit-stride.
struct Attention {
  const char *op;
  at::Tensor q, k, v;
  at::Tensor cuSeqlens;
  int64_t maxSeqlen;
  double scale;
  int64_t tokens, queryHeads, keyHeads, group, keyDim, valueDim, sequences;

  at::Tensor emptyOutput() const; // [T, Hq, E]
  // Returns an fp32 tensor with one number per token and head: [T, Hq], stored
  // by tokens, so that the heads of one token are adjacent.
  at::Tensor emptyRows() const;
  Output newOutput() const;
  // Returns the op's outputs for rows without keys: zeros, and -inf for lse.
  std::tuple<at::Tensor, at::Tensor> noKeys() const;
  std::tuple<at::Tensor, at::Tensor, at::Tensor> zeroGradients() const;
};

// Checks the inputs. k and v have a row per token, or with `compressed` the
// rows of k, which checkCompressed() compares with cu_cmp.
Attention checkAttention(const char *op, const at::Tensor &q,
                         const at::Tensor &k, const at::Tensor &v,
                         const at::Tensor &cuSeqlens, int64_t maxSeqlen,
                         std::optional<double> scale, bool compressed = false);

// Return the shapes of (o, lse) and of (dq, dk, dv) for tensors without
// storage.
std::tuple<at::Tensor, at::Tensor> metaForward(const char *op,
                                               const at::Tensor &q,
                                               const at::Tensor &k,
                                               const at::Tensor &v);
std::tuple<at::Tensor, at::Tensor, at::Tensor>
metaBackward(const at::Tensor &q, const at::Tensor &k, const at::Tensor &v);

// Inputs of a backward kernel for each row (token and query head). For the
// backward pass of g * o with a gate g per token and key head, lse is lse -
// ln(g), and delta is the sum of grad_o * o without the gate. Then g * p
// replaces p in all formulas.
struct RowGradient {
  at::Tensor gradO;      // [T, Hq, E], q's type, unit last stride
  at::Tensor lse, delta; // fp32 [T, Hq]
};

// Receives dq, [T, Hq, D]. With `add`, dq is added to the existing values,
// which are read in their type and summed in fp32.
struct QueryGradient {
  at::Tensor dq;
  bool add = false;
};

using Constants = std::vector<std::pair<const char *, int64_t>>;

// The minimum number of rows of a tile in the kernel files. A tile holds
// complete tokens. If a token has more heads than this, launches set BM.
constexpr int64_t kLeastTileRows = 32;

// Sets BM if a token has more heads than the smallest tile has rows.
void wholeTokens(Launch &launch, int64_t group);

// True if a backward kernel holds more than 1 KiB per row, key and value
// included: fp32 heads above 128. The kernels' configurations then exceed the
// shared memory of a block on sm_80.
bool isHeavy(const Attention &a);

// Returns tiles for a GPU if heads are too wide for the registers or shared
// memory that the backward kernels' first configurations need, else none.
// `keys`: for a kernel tiled over keys. Passed to a launch, they also override
// tuned tiles.
Constants wideTiles(const Attention &a, bool keys);

// Returns the options of a backward launch, for Launch's constructor: no copies
// ahead of the loop if rows are heavy.
const char *backwardOptions(const Attention &a);

// Returns the same with further constexprs of the launch, which may be empty.
std::string backwardOptions(const Attention &a, const std::string &text);

// Sets the tiles of `launch`, without BM if `rowsGiven`: then BM is already
// set.
void setTiles(Launch &launch, const Constants &tiles, bool rowsGiven);

// The differences of a branch's kernels from plain causal attention.
struct Branch {
  Constants constants = {};
  // Arguments in addition to those of plain causal attention, by name.
  std::vector<std::pair<const char *, at::Tensor>> tensors = {};
  Constants integers = {};
  // Tensors with a number per token and head, fp32 [T, Hq], by name.
  std::vector<std::pair<const char *, at::Tensor>> rows = {};
  // Constexprs of the launch as text (ops/launch/ConstexprText.h).
  std::string text = {};
  int64_t parts = 1; // programs per tile of keys
  // Type of dk and dv; by default that of k.
  std::optional<at::ScalarType> gradients = {};
  // True if dq, dk and dv use wideTiles() even if rows are not heavy.
  bool ownTiles = false;
};

// The ops use lse as [Hq, T], the kernels as [T, Hq]. Both are views of the
// same storage.
inline at::Tensor byHeads(const at::Tensor &rows) { return rows.t(); }
inline at::Tensor byTokens(const at::Tensor &lse) { return lse.t(); }
// Returns the lse argument of a backward op as [T, Hq]; throws Error for
// another shape or type.
at::Tensor lseRows(const Attention &a, const at::Tensor &lse);

// Adds the tuples that every backward kernel reads: q, k, v, do, lse and delta.
Launch &addRows(Launch &launch, const Attention &a, const RowGradient &rows);

// Adds the arguments and constants of attention, except for the tuples.
void applyArguments(Launch &launch, const Attention &a, const Branch &branch);

// Launches a kernel tiled over rows (token, head of the group). Here and below,
// lse and delta are [T, Hq] with any strides.
void launchForward(const Attention &a, const Branch &branch, const char *file,
                   const char *kernel, const Output &to);
std::tuple<at::Tensor, at::Tensor> launchForward(const Attention &a,
                                                 const Branch &branch,
                                                 const char *file,
                                                 const char *kernel);
// Writes dq to `to`, or adds it.
void launchDq(const Attention &a, const Branch &branch, const RowGradient &rows,
              const QueryGradient &to, const char *file, const char *kernel);
// Launches a kernel tiled over keys.
std::tuple<at::Tensor, at::Tensor>
launchDkDv(const Attention &a, const Branch &branch, const RowGradient &rows,
           const char *file, const char *kernel);

// Writes delta to `rows`, fp32 [T, Hq]: the sum over E of grad_o * o, minus the
// gradient of lse ([Hq, T]).
void attentionDelta(const Attention &a, const at::Tensor &gradO,
                    const at::Tensor &o,
                    const std::optional<at::Tensor> &gradLse,
                    const at::Tensor &rows);
// Returns the same in a new tensor, stored by tokens.
at::Tensor attentionDelta(const Attention &a, const at::Tensor &gradO,
                          const at::Tensor &o,
                          const std::optional<at::Tensor> &gradLse);

// Returns the row gradient from the arguments of a single branch's op; the
// gradient of lse is [Hq, T].
RowGradient rowGradient(const Attention &a, const at::Tensor &gradO,
                        const std::optional<at::Tensor> &gradLse,
                        const at::Tensor &o, const at::Tensor &lse);

// Returns the gradient of o in the kernels' form: q's type, unit last stride.
at::Tensor outputGradient(const Attention &a, const at::Tensor &gradO);

} // namespace tessera::runtime
