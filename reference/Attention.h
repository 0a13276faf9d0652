// reference/Attention.h - softmax attention over per-query key ranges, forward
// and backward.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Every branch is ordinary attention; branches differ only in the keys that a
// query sees. Layouts: q [T, Hq, dk], k [S, Hkv, dk], v [S, Hkv, dv],
// o [T, Hq, dv], lse [Hq, T] (natural logarithm, -inf where no key is visible).
#pragma once

#include "reference/Geometry.h"

#include <functional>

namespace tessera::reference {

// Half-open ranges of packed key rows, ascending and disjoint.
using Ranges = std::vector<std::pair<int64_t, int64_t>>;

// Keys that the query at packed row t sees in the given key head.
using KeysOf = std::function<Ranges(int64_t t, int64_t keyHead)>;

KeysOf denseKeys(const Offsets &cuSeqlens);
KeysOf windowKeys(const Offsets &cuSeqlens, int64_t window);
// Keys are rows of the compressed tensors, packed by compressedOffsets.
KeysOf compressedKeys(const Geometry &geometry, const Offsets &cuSeqlens);
// indices [Hkv, T, n], -1 for unused slots.
KeysOf selectedKeys(const Geometry &geometry, const Offsets &cuSeqlens,
                    IndexTensor indices);

// Sequence that owns packed row t.
std::size_t sequenceOf(const Offsets &cuSeqlens, int64_t t);

// A row without keys gives zeros and lse = -inf.
void attention(Tensor q, Tensor k, Tensor v, const KeysOf &keys, double scale,
               Tensor o, Tensor lse);

// Adds to dq, dk and dv. dlse may be empty; else it is the gradient of lse.
void attentionBackward(Tensor q, Tensor k, Tensor v, const KeysOf &keys,
                       double scale, Tensor o, Tensor lse, Tensor dout,
                       Tensor dlse, Tensor dq, Tensor dk, Tensor dv);

} // namespace tessera::reference
