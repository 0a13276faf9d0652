// ops/Estimates.h - memory of ops and choice between kernels for given shapes;
// for planning a run without LibTorch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/attention/HeadSlices.h"

#include <algorithm>
#include <cstdint>
#include <thread>

namespace tessera::runtime {

// Returns the number of tokens whose logits the fused loss (linear_loss) holds
// at once: about 2^25 logits, a multiple of 64 tokens.
inline int64_t lossPiece(int64_t tokens, int64_t vocabulary) {
  const int64_t fit = (int64_t{1} << 25) / std::max<int64_t>(1, vocabulary);
  return std::min(tokens, std::max<int64_t>(64, fit / 64 * 64));
}

// Returns the bytes that the fused loss needs in the backward pass: the
// gradient of one piece of logits. Where there are several pieces of rounded
// numbers, also the gradient of the head's weights [vocabulary, dim]: the fp32
// sum, that of one piece, and the fp32 copy that torch makes to add it.
inline double fusedLossBytes(int64_t tokens, int64_t vocabulary, int64_t dim,
                             bool rounded) {
  const int64_t piece = lossPiece(tokens, vocabulary);
  double bytes = double(piece) * double(vocabulary) * (rounded ? 2 : 4);
  if (rounded && piece < tokens)
    bytes += (4 + 2 + 4) * double(vocabulary) * double(dim);
  return bytes;
}

// Returns the columns of logits in memory: the vocabulary, rounded up to a
// multiple of 16, so that every row begins at a multiple of 16 bytes.
template <typename Integer>
Integer keptColumns(Integer vocabulary) {
  return (vocabulary + 15) / 16 * 16;
}

// Returns the bytes of the logits that the loss keeps for the backward pass.
inline double keptLogitsBytes(int64_t tokens, int64_t vocabulary,
                              bool rounded) {
  return double(tokens) * double(keptColumns(vocabulary)) * (rounded ? 2 : 4);
}

// Returns the number of programs that share the queries of a key head and
// sequence, if the backward pass of attention on the CPU is one kernel that
// computes all gradients (kernels/attention/backward.py); 0 if it is two
// kernels. The programs must keep all processors busy, and heads must be one
// slice. Each share has fp32 sums for all keys, so that there are at most 8.
// The machine's processors count, not the threads that are set: a setting of
// threads changes no bit of the result.
inline int64_t onePassShares(int64_t keyHeads, int64_t sequences,
                             int64_t keyDim) {
  constexpr int64_t most = 8;
  const int64_t wanted =
      2 * std::max<int64_t>(1, std::thread::hardware_concurrency());
  const int64_t parts = std::max<int64_t>(1, keyHeads * sequences);
  const int64_t shares = (wanted + parts - 1) / parts;
  return headSlices(keyDim).tail == 0 && shares <= most ? shares : 0;
}

// Returns the bytes of the sums of `shares` shares: the gradients of keys and
// values in fp32.
inline double onePassBytes(int64_t shares, int64_t tokens, int64_t keyHeads,
                           int64_t keyDim, int64_t valueDim) {
  return 4 * double(shares) * double(tokens) * double(keyHeads) *
         double(keyDim + valueDim);
}

// Returns the number of programs per tile of compressed keys in the backward
// pass on a GPU; each handles a chunk of the tokens. One per kPartTokens
// tokens, at most kMostParts, which fill a GPU. Their scratch memory has the
// size of dk and dv of all tokens in bf16.
constexpr int64_t kPartTokens = 256, kMostParts = 8;
inline int64_t compressedPartsOnGpu(int64_t maxSeqlen) {
  return std::clamp<int64_t>((maxSeqlen + kPartTokens - 1) / kPartTokens, 1,
                             kMostParts);
}

// Rows of the smallest tile of queries in
// kernels/attention/backward_ordered.py, and keys of the widest tile.
constexpr int64_t kOrderedRows = 32, kOrderedKeys = 128;

// Returns whether the backward pass of attention in one kernel of a GPU with
// five products of matrices (kernels/attention/backward_ordered.py) takes these
// heads, if their numbers have 16 bits.
inline bool fitsOrderedBackward(int64_t group, int64_t keyDim,
                                int64_t valueDim) {
  return headSlices(keyDim).tail == 0 && keyDim >= 16 && keyDim <= 128 &&
         valueDim <= 128 && group <= kOrderedRows;
}

// Returns whether that kernel has two programs or more for each of 108
// multiprocessors, those of an A100: `parts` for each tile of `keys` keys of
// all sequences. The number is the same for all GPUs, so that a pack of kernels
// fits each of them.
inline bool fillsOrderedBackward(int64_t keyHeads, int64_t keys,
                                 int64_t parts) {
  return keyHeads * ((keys + kOrderedKeys - 1) / kOrderedKeys) * parts >= 216;
}

// Returns the bytes of its sum of dq, in fp32.
inline double orderedBytes(int64_t tokens, int64_t queryHeads, int64_t keyDim) {
  return 4 * double(tokens) * double(queryHeads) * double(keyDim);
}

} // namespace tessera::runtime
