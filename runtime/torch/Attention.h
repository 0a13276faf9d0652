// runtime/torch/Attention.h - what the four attention ops share: shapes,
// outputs, launches. Copyright the tessera authors. SPDX-License-Identifier:
// Apache-2.0
#pragma once

#include "runtime/torch/Check.h"
#include "runtime/torch/Launch.h"

#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace tessera::runtime {

// Checked inputs of an attention op, last dimensions unit-stride.
struct Attention {
  const char *op;
  at::Tensor q, k, v;
  at::Tensor cuSeqlens;
  int64_t maxSeqlen;
  double scale;
  int64_t tokens, queryHeads, keyHeads, group, keyDim, valueDim, sequences;

  at::Tensor emptyOutput() const; // [T, Hq, E]
  at::Tensor emptyLse() const;    // fp32 [Hq, T]
  // Outputs of rows without keys: zeros and -inf.
  std::tuple<at::Tensor, at::Tensor> noKeys() const;
  std::tuple<at::Tensor, at::Tensor, at::Tensor> zeroGradients() const;
};

// keyRows: rows that k and v must have, or -1 for one per token.
Attention checkAttention(const char *op, const at::Tensor &q,
                         const at::Tensor &k, const at::Tensor &v,
                         const at::Tensor &cuSeqlens, int64_t maxSeqlen,
                         std::optional<double> scale, int64_t keyRows = -1);

// Shapes of (o, lse) and of (dq, dk, dv) for tensors without storage.
std::tuple<at::Tensor, at::Tensor> metaForward(const char *op,
                                               const at::Tensor &q,
                                               const at::Tensor &k,
                                               const at::Tensor &v);
std::tuple<at::Tensor, at::Tensor, at::Tensor>
metaBackward(const at::Tensor &q, const at::Tensor &k, const at::Tensor &v);

using Constants = std::vector<std::pair<const char *, int64_t>>;

// How a branch's kernels differ from plain causal attention.
struct Branch {
  Constants constants;
  std::vector<at::Tensor> afterInputs = {}; // pointers between V and O (or DO)
  std::vector<at::Tensor> afterCu = {};     // pointers behind CU
};

// Kernels tiled over (token, head of the group) rows.
std::tuple<at::Tensor, at::Tensor> launchForward(const Attention &a,
                                                 const Branch &branch,
                                                 const char *file,
                                                 const char *kernel);
at::Tensor launchDq(const Attention &a, const Branch &branch,
                    const at::Tensor &gradO, const at::Tensor &lse,
                    const at::Tensor &delta, const char *file,
                    const char *kernel);
// Kernels tiled over keys; maxKeys is the largest number of a sequence.
std::tuple<at::Tensor, at::Tensor>
launchDkDv(const Attention &a, const Branch &branch, const at::Tensor &gradO,
           const at::Tensor &lse, const at::Tensor &delta, int64_t maxKeys,
           const char *file, const char *kernel);

// fp32 [Hq, T]: sum over E of grad_o * o, less the gradient of lse.
at::Tensor attentionDelta(const Attention &a, const at::Tensor &gradO,
                          const at::Tensor &o,
                          const std::optional<at::Tensor> &gradLse);

// Gradient of o as the kernels take it: q's type, unit last stride.
at::Tensor outputGradient(const Attention &a, const at::Tensor &gradO);

} // namespace tessera::runtime
