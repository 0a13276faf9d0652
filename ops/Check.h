// ops/Check.h - argument checks of the ops, with messages that say what to do.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/ArgumentError.h"

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// `op` is the name of a public op, or a name with its namespace; the message
// should name the argument, what is wrong and what to pass.
#define TESSERA_CHECK(condition, op, ...)                                      \
  TORCH_CHECK_VALUE(condition, ::tessera::runtime::qualifiedOp(op), ": ",      \
                    __VA_ARGS__)

namespace tessera::runtime {

// Returns `op` with its namespace: "tessera::" unless it has one.
std::string qualifiedOp(std::string_view op);

// What `run` gives. A wrong argument that the runtime found becomes Python's
// ValueError, as TESSERA_CHECK makes one.
template <typename Run>
decltype(auto) withValueErrors(const Run &run) {
  try {
    return run();
  } catch (const ArgumentError &wrong) {
    TORCH_CHECK_VALUE(false, wrong.what());
    throw;
  }
}

void checkRank(const char *op, const char *name, const at::Tensor &tensor,
               int64_t rank);
// fp32, fp16 or bf16, dense strides.
void checkFloating(const char *op, const char *name, const at::Tensor &tensor);
void checkSameType(const char *op, const char *name, const at::Tensor &tensor,
                   const char *otherName, const at::Tensor &other);
void checkSameDevice(const char *op, const char *name, const at::Tensor &tensor,
                     const char *otherName, const at::Tensor &other);
void checkShape(const char *op, const char *name, const at::Tensor &tensor,
                at::IntArrayRef shape, const char *meaning);
// fp32 numbers that a forward op gave, contiguous and on x's device.
void checkSaved(const char *op, const char *name, const at::Tensor &tensor,
                at::IntArrayRef shape, const char *meaning, const char *xName,
                const at::Tensor &x);
void checkInt32(const char *op, const char *name, const at::Tensor &tensor);
void checkPositive(const char *op, const char *name, int64_t value);
// Returns the factor of the scores of queries with `width` channels: `scale`,
// or 1 / sqrt(width). Error unless it is finite and larger than 0: kernels take
// the largest product of a row for its largest score.
double checkScale(const char *op, std::optional<double> scale, int64_t width);
void checkNotNegative(const char *op, const char *name, int64_t value);

// The contents of the next two are looked at where they lie in host memory, to
// refuse what would make a kernel leave its tensors; nothing that is launched
// depends on them. Entries on a GPU are not read: waiting for them would stop
// the GPU.

// cu_seqlens: int32 [B+1] from 0 to the tokens of `packed`, whose first
// dimension is tokens, no sequence longer than maxSeqlen.
void checkSequences(const char *op, const at::Tensor &cuSeqlens,
                    int64_t maxSeqlen, int64_t tokens, const char *packedName,
                    const at::Tensor &packed);
// Block length and stride of the compression.
void checkBlocks(const char *op, int64_t length, int64_t stride);
// cu_cmp: the prefix sums of the compressed counts of cu_seqlens. The last one
// is `rows`, which `name` says to the user.
void checkCompressed(const char *op, const at::Tensor &cuSeqlens,
                     const at::Tensor &cuCmp, int64_t length, int64_t stride,
                     const char *name, int64_t rows);

// Keys k [B, Hkv, capacity, D] and values v [B, Hkv, capacity, E] of a cache,
// for queries q whose first dimension is B and whose last two are heads and D.
void checkCache(const char *op, const at::Tensor &q, const at::Tensor &k,
                const at::Tensor &v);

int64_t compressedCount(int64_t tokens, int64_t length, int64_t stride);

// The tensor itself, or a copy when its last dimension is not unit-stride or a
// stride is beyond what kernels multiply in 32 bits.
at::Tensor unitLast(const at::Tensor &tensor);

} // namespace tessera::runtime
