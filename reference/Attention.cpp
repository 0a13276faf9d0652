// reference/Attention.cpp - softmax attention over per-query key ranges,
// forward and backward.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "reference/Attention.h"

#include "reference/Selection.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::reference {
namespace {

double score(Tensor q, Tensor k, int64_t t, int64_t head, int64_t key,
             int64_t keyHead) {
  double sum = 0;
  for (int64_t c = 0; c < q.size(2); ++c)
    sum += q(t, head, c) * k(key, keyHead, c);
  return sum;
}

} // namespace

std::size_t sequenceOf(const Offsets &cuSeqlens, int64_t t) {
  // The first offset beyond t ends its sequence; empty sequences own no row.
  return static_cast<std::size_t>(
             std::upper_bound(cuSeqlens.begin(), cuSeqlens.end(), t) -
             cuSeqlens.begin()) -
         1;
}

KeysOf denseKeys(const Offsets &cuSeqlens) {
  return [cuSeqlens](int64_t t, int64_t) {
    return Ranges{{cuSeqlens[sequenceOf(cuSeqlens, t)], t + 1}};
  };
}

KeysOf windowKeys(const Offsets &cuSeqlens, int64_t window) {
  return [cuSeqlens, window](int64_t t, int64_t) {
    if (window <= 0)
      return Ranges{};
    const int64_t start = cuSeqlens[sequenceOf(cuSeqlens, t)];
    return Ranges{{std::max(start, t - window + 1), t + 1}};
  };
}

KeysOf compressedKeys(const Geometry &geometry, const Offsets &cuSeqlens) {
  const Offsets cuCompressed = compressedOffsets(geometry, cuSeqlens);
  return [geometry, cuSeqlens, cuCompressed](int64_t t, int64_t) {
    const std::size_t b = sequenceOf(cuSeqlens, t);
    const int64_t count = visibleCompressed(geometry, t - cuSeqlens[b]);
    return Ranges{{cuCompressed[b], cuCompressed[b] + count}};
  };
}

KeysOf selectedKeys(const Geometry &geometry, const Offsets &cuSeqlens,
                    IndexTensor indices) {
  return [geometry, cuSeqlens, indices](int64_t t, int64_t keyHead) {
    std::vector<int32_t> blocks;
    for (int64_t slot = 0; slot < indices.size(2); ++slot)
      if (indices(keyHead, t, slot) >= 0)
        blocks.push_back(indices(keyHead, t, slot));
    const int64_t start = cuSeqlens[sequenceOf(cuSeqlens, t)];
    Ranges ranges = blockRanges(geometry, t - start, blocks);
    for (auto &[first, last] : ranges) {
      first += start;
      last += start;
    }
    return ranges;
  };
}

void attention(Tensor q, Tensor k, Tensor v, const KeysOf &keys, double scale,
               Tensor o, Tensor lse) {
  const int64_t group = q.size(1) / k.size(1);
  for (int64_t t = 0; t < q.size(0); ++t) {
    for (int64_t head = 0; head < q.size(1); ++head) {
      const int64_t keyHead = head / group;
      const Ranges ranges = keys(t, keyHead);
      double maximum = -std::numeric_limits<double>::infinity();
      std::vector<double> scores;
      for (auto [first, last] : ranges)
        for (int64_t key = first; key < last; ++key) {
          scores.push_back(scale * score(q, k, t, head, key, keyHead));
          maximum = std::max(maximum, scores.back());
        }
      for (int64_t c = 0; c < v.size(2); ++c)
        o(t, head, c) = 0;
      if (scores.empty()) {
        lse(head, t) = -std::numeric_limits<double>::infinity();
        continue;
      }
      double sum = 0;
      for (double s : scores)
        sum += std::exp(s - maximum);
      lse(head, t) = maximum + std::log(sum);
      std::size_t next = 0;
      for (auto [first, last] : ranges)
        for (int64_t key = first; key < last; ++key) {
          const double p = std::exp(scores[next++] - lse(head, t));
          for (int64_t c = 0; c < v.size(2); ++c)
            o(t, head, c) += p * v(key, keyHead, c);
        }
    }
  }
}

void attentionBackward(Tensor q, Tensor k, Tensor v, const KeysOf &keys,
                       double scale, Tensor o, Tensor lse, Tensor dout,
                       Tensor dlse, Tensor dq, Tensor dk, Tensor dv) {
  const int64_t group = q.size(1) / k.size(1);
  for (int64_t t = 0; t < q.size(0); ++t) {
    for (int64_t head = 0; head < q.size(1); ++head) {
      const int64_t keyHead = head / group;
      // delta = sum_c dO.O; the gradient of the LSE enters with dS += P * dlse.
      double delta = dlse.empty() ? 0 : -dlse(head, t);
      for (int64_t c = 0; c < v.size(2); ++c)
        delta += dout(t, head, c) * o(t, head, c);
      for (auto [first, last] : keys(t, keyHead))
        for (int64_t key = first; key < last; ++key) {
          const double p = std::exp(scale * score(q, k, t, head, key, keyHead) -
                                    lse(head, t));
          double dp = 0;
          for (int64_t c = 0; c < v.size(2); ++c) {
            dp += dout(t, head, c) * v(key, keyHead, c);
            dv(key, keyHead, c) += p * dout(t, head, c);
          }
          const double ds = p * (dp - delta);
          for (int64_t c = 0; c < q.size(2); ++c) {
            dq(t, head, c) += scale * ds * k(key, keyHead, c);
            dk(key, keyHead, c) += scale * ds * q(t, head, c);
          }
        }
    }
  }
}

} // namespace tessera::reference
