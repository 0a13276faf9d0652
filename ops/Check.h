// ops/Check.h - checks the arguments of the ops; messages tell the user what to
// pass.
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

// Returns the result of `run`. Converts the runtime's ArgumentError to Python's
// ValueError, which TESSERA_CHECK also throws.
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
// Requires fp32, fp16 or bf16 and dense strides.
void checkFloating(const char *op, const char *name, const at::Tensor &tensor);
void checkSameType(const char *op, const char *name, const at::Tensor &tensor,
                   const char *otherName, const at::Tensor &other);
void checkSameDevice(const char *op, const char *name, const at::Tensor &tensor,
                     const char *otherName, const at::Tensor &other);
void checkShape(const char *op, const char *name, const at::Tensor &tensor,
                at::IntArrayRef shape, const char *meaning);
// Requires a saved result of a forward op: fp32, contiguous and on x's device.
void checkSaved(const char *op, const char *name, const at::Tensor &tensor,
                at::IntArrayRef shape, const char *meaning, const char *xName,
                const at::Tensor &x);
void checkInt32(const char *op, const char *name, const at::Tensor &tensor);
void checkPositive(const char *op, const char *name, int64_t value);
// Returns the factor of the scores of queries with `width` channels: `scale`,
// or 1 / sqrt(width). Throws Error unless it is finite and positive, because
// kernels use the largest product of a row as its largest score.
double checkScale(const char *op, std::optional<double> scale, int64_t width);
void checkNotNegative(const char *op, const char *name, int64_t value);

// The next two functions read contents only in host memory, to reject values
// that would make a kernel access memory outside of its tensors. No launch
// depends on the contents. Entries on a GPU are not read, because waiting for
// them would stall the GPU.

// Checks cu_seqlens: int32 [B+1], from 0 to the tokens of `packed`, whose first
// dimension is tokens; no sequence is longer than maxSeqlen.
void checkSequences(const char *op, const at::Tensor &cuSeqlens,
                    int64_t maxSeqlen, int64_t tokens, const char *packedName,
                    const at::Tensor &packed);
// Checks block length and stride of the compression.
void checkBlocks(const char *op, int64_t length, int64_t stride);
// Checks cu_cmp: the prefix sums of the compressed counts of cu_seqlens. The
// last one is `rows`, which messages call `name`.
void checkCompressed(const char *op, const at::Tensor &cuSeqlens,
                     const at::Tensor &cuCmp, int64_t length, int64_t stride,
                     const char *name, int64_t rows);

// Checks keys k [B, Hkv, capacity, D] and values v [B, Hkv, capacity, E] of a
// cache, for queries q whose first dimension is B and whose last two are heads
// and D.
void checkCache(const char *op, const at::Tensor &q, const at::Tensor &k,
                const at::Tensor &v);

int64_t compressedCount(int64_t tokens, int64_t length, int64_t stride);

// Returns the tensor, or a copy if its last dimension is not unit-stride or a
// stride exceeds what kernels multiply in 32 bits.
at::Tensor unitLast(const at::Tensor &tensor);

} // namespace tessera::runtime
