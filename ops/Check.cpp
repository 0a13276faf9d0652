// ops/Check.cpp - argument checks of the ops. Each message tells the user what
// to pass.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Check.h"

#include <cmath>

namespace tessera::runtime {

std::string qualifiedOp(std::string_view op) {
  return (op.find("::") == op.npos ? "tessera::" : "") + std::string(op);
}

void checkRank(const char *op, const char *name, const at::Tensor &tensor,
               int64_t rank) {
  TESSERA_CHECK(tensor.dim() == rank, op, name, " has ", tensor.dim(),
                " dimensions and must have ", rank,
                "; packed tokens are [tokens, heads, head size], a batch of "
                "equal sequences "
                "is flattened into its tokens");
}

void checkFloating(const char *op, const char *name, const at::Tensor &tensor) {
  const at::ScalarType type = tensor.scalar_type();
  TESSERA_CHECK(
      type == at::kFloat || type == at::kHalf || type == at::kBFloat16, op,
      name, " is ", type, "; pass float32, float16 or bfloat16, for example ",
      name, ".float()");
  TESSERA_CHECK(tensor.layout() == at::kStrided, op, name, " has layout ",
                tensor.layout(), "; pass a dense tensor, for example ", name,
                ".to_dense()");
}

void checkSameType(const char *op, const char *name, const at::Tensor &tensor,
                   const char *otherName, const at::Tensor &other) {
  TESSERA_CHECK(tensor.scalar_type() == other.scalar_type(), op, name, " is ",
                tensor.scalar_type(), " but ", otherName, " is ",
                other.scalar_type(), "; convert one of them with .to()");
  checkSameDevice(op, name, tensor, otherName, other);
}

void checkSameDevice(const char *op, const char *name, const at::Tensor &tensor,
                     const char *otherName, const at::Tensor &other) {
  TESSERA_CHECK(tensor.device() == other.device(), op, name, " is on ",
                tensor.device(), " but ", otherName, " is on ", other.device(),
                "; move one of them with .to()");
}

void checkShape(const char *op, const char *name, const at::Tensor &tensor,
                at::IntArrayRef shape, const char *meaning) {
  TESSERA_CHECK(tensor.sizes() == shape, op, name, " has shape ",
                tensor.sizes(), " and must have ", shape, " = ", meaning);
}

void checkSaved(const char *op, const char *name, const at::Tensor &tensor,
                at::IntArrayRef shape, const char *meaning, const char *xName,
                const at::Tensor &x) {
  checkShape(op, name, tensor, shape, meaning);
  TESSERA_CHECK(tensor.scalar_type() == at::kFloat && tensor.is_contiguous(),
                op, name, " is ", tensor.scalar_type(), " with strides ",
                tensor.strides(), "; pass what the forward op gave");
  checkSameDevice(op, name, tensor, xName, x);
}

void checkInt32(const char *op, const char *name, const at::Tensor &tensor) {
  TESSERA_CHECK(tensor.scalar_type() == at::kInt, op, name, " is ",
                tensor.scalar_type(), "; pass int32, for example ", name,
                ".to(torch.int32)");
  TESSERA_CHECK(tensor.is_contiguous(), op, name, " is not contiguous; pass ",
                name, ".contiguous()");
}

// Sizes and positions are 32 bits wide in the kernels.
static void checkFitsInt32(const char *op, const char *name, int64_t value) {
  TESSERA_CHECK(value <= 0x7fffffff, op, name, " is ", value,
                " and must be at most 2^31 - 1");
}

void checkPositive(const char *op, const char *name, int64_t value) {
  TESSERA_CHECK(value > 0, op, name, " is ", value, " and must be positive");
}

double checkScale(const char *op, std::optional<double> scale, int64_t width) {
  const double value = scale.value_or(1 / std::sqrt(double(width)));
  TESSERA_CHECK(value > 0 && std::isfinite(value), op, "scale is ", value,
                " and must be a finite number above 0; for a negative scale "
                "negate q");
  return value;
}

void checkNotNegative(const char *op, const char *name, int64_t value) {
  TESSERA_CHECK(value >= 0, op, name, " is ", value,
                " and must not be negative");
  checkFitsInt32(op, name, value);
}

void checkSequences(const char *op, const at::Tensor &cuSeqlens,
                    int64_t maxSeqlen, int64_t tokens, const char *packedName,
                    const at::Tensor &packed) {
  checkSameDevice(op, "cu_seqlens", cuSeqlens, packedName, packed);
  checkInt32(op, "cu_seqlens", cuSeqlens);
  TESSERA_CHECK(cuSeqlens.dim() == 1 && cuSeqlens.numel() >= 1, op,
                "cu_seqlens has shape ", cuSeqlens.sizes(),
                " and must have one dimension of sequences + 1 entries; for "
                "one sequence pass "
                "[0, tokens]");
  checkNotNegative(op, "max_seqlen", maxSeqlen);
  // Token offsets are 32 bits wide in the kernels.
  TESSERA_CHECK(tokens <= 0x7fffffff, op, "there are ", tokens,
                " tokens; one call takes at most 2^31 - 1");
  if (!cuSeqlens.device().is_cpu())
    return;
  const int32_t *offsets = cuSeqlens.const_data_ptr<int32_t>();
  const int64_t sequences = cuSeqlens.numel() - 1;
  TESSERA_CHECK(offsets[0] == 0, op, "cu_seqlens starts with ", offsets[0],
                " and must start with 0");
  TESSERA_CHECK(offsets[sequences] == tokens, op, "cu_seqlens ends with ",
                offsets[sequences], " but there are ", tokens,
                " tokens; its last entry must be their number");
  for (int64_t b = 0; b < sequences; ++b) {
    const int64_t length = int64_t{offsets[b + 1]} - offsets[b];
    TESSERA_CHECK(length >= 0, op, "cu_seqlens falls from ", offsets[b], " to ",
                  offsets[b + 1], " at entry ", b + 1,
                  "; it must not decrease");
    TESSERA_CHECK(length <= maxSeqlen, op, "sequence ", b, " has ", length,
                  " tokens but max_seqlen is ", maxSeqlen,
                  "; pass the longest length");
  }
}

void checkBlocks(const char *op, int64_t length, int64_t stride) {
  checkPositive(op, "block_length", length);
  checkPositive(op, "block_stride", stride);
  TESSERA_CHECK(stride <= length, op, "block_stride is ", stride,
                " and must not exceed block_length = ", length);
}

void checkCache(const char *op, const at::Tensor &q, const at::Tensor &k,
                const at::Tensor &v) {
  checkRank(op, "k", k, 4);
  checkRank(op, "v", v, 4);
  checkFloating(op, "q", q);
  checkSameType(op, "k", k, "q", q);
  checkSameType(op, "v", v, "q", q);
  const int64_t heads = q.size(-2), size = q.size(-1);
  TESSERA_CHECK(k.size(1) > 0 && heads > 0 && heads % k.size(1) == 0, op,
                "q has ", heads, " heads and k has ", k.size(1),
                "; the query heads must be a multiple of the key heads");
  checkShape(op, "k", k, {q.size(0), k.size(1), k.size(2), size},
             "[sequences, key heads, capacity, head size of q]");
  checkShape(op, "v", v, {q.size(0), k.size(1), k.size(2), v.size(3)},
             "[sequences, key heads, capacity, value size] as k has them");
  TESSERA_CHECK(size > 0 && v.size(3) > 0, op, "head sizes are ", size, " and ",
                v.size(3), "; they must be positive");
}

int64_t compressedCount(int64_t tokens, int64_t length, int64_t stride) {
  return tokens < length ? 0 : (tokens - length) / stride + 1;
}

void checkCompressed(const char *op, const at::Tensor &cuSeqlens,
                     const at::Tensor &cuCmp, int64_t length, int64_t stride,
                     const char *name, int64_t rows) {
  checkInt32(op, "cu_cmp", cuCmp);
  TESSERA_CHECK(cuCmp.sizes() == cuSeqlens.sizes(), op, "cu_cmp has shape ",
                cuCmp.sizes(), " and must have that of cu_seqlens, ",
                cuSeqlens.sizes(),
                "; make it with tessera::compressed_offsets");
  checkSameDevice(op, "cu_cmp", cuCmp, "cu_seqlens", cuSeqlens);
  if (!cuCmp.device().is_cpu())
    return;
  const int32_t *tokens = cuSeqlens.const_data_ptr<int32_t>();
  const int32_t *blocks = cuCmp.const_data_ptr<int32_t>();
  int64_t total = 0;
  for (int64_t b = 0; b < cuCmp.numel(); ++b) {
    if (b > 0)
      total += compressedCount(tokens[b] - tokens[b - 1], length, stride);
    TESSERA_CHECK(blocks[b] == total, op, "cu_cmp[", b, "] is ", blocks[b],
                  " and must be ", total, " for block_length = ", length,
                  " and block_stride = ", stride,
                  "; make it with tessera::compressed_offsets");
  }
  TESSERA_CHECK(rows == total, op, name, " is ", rows, " but cu_cmp ends with ",
                total, " and it must be that");
}

at::Tensor unitLast(const at::Tensor &tensor) {
  // Kernels multiply a stride by the number of a row from the first row of a
  // tile on, in 32 bits. A tile has less than 16,384 rows: that of compression
  // has all tokens of its blocks.
  constexpr int64_t largest = int64_t{1} << 17;
  bool fits = tensor.dim() == 0 || tensor.stride(-1) == 1;
  for (int64_t stride : tensor.strides())
    fits &= stride <= largest;
  return fits ? tensor : tensor.contiguous();
}

} // namespace tessera::runtime
