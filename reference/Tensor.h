// reference/Tensor.h - strided views and owning arrays of the reference
// implementation.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// The reference uses only the standard library, so that it shares no code (and
// no mistake) with what it checks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

namespace tessera::reference {

// A view of up to four dimensions; strides count elements.
template <typename T>
struct BasicTensor {
  T *data = nullptr;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;

  int64_t rank() const { return static_cast<int64_t>(sizes.size()); }
  int64_t size(int64_t dim) const { return sizes[dim]; }
  bool empty() const { return data == nullptr; }

  template <typename... Index>
  T &operator()(Index... index) const {
    const std::array<int64_t, sizeof...(Index)> at{
        static_cast<int64_t>(index)...};
    int64_t offset = 0;
    for (std::size_t i = 0; i < at.size(); ++i)
      offset += at[i] * strides[i];
    return data[offset];
  }
};

using Tensor = BasicTensor<double>;
using IndexTensor = BasicTensor<int32_t>;

// Row-major storage with a view of itself.
template <typename T>
class BasicArray {
public:
  BasicArray() = default;
  explicit BasicArray(std::vector<int64_t> sizes, T fill = T())
      : shape(std::move(sizes)),
        values(static_cast<std::size_t>(
                   std::accumulate(shape.begin(), shape.end(), int64_t{1},
                                   std::multiplies<int64_t>())),
               fill) {}

  BasicTensor<T> view() {
    std::vector<int64_t> strides(shape.size(), 1);
    for (std::size_t i = shape.size(); i-- > 1;)
      strides[i - 1] = strides[i] * shape[i];
    return {values.data(), shape, std::move(strides)};
  }
  operator BasicTensor<T>() { return view(); }

  std::vector<int64_t> shape;
  std::vector<T> values;
};

using Array = BasicArray<double>;
using IndexArray = BasicArray<int32_t>;

// Prefix sums of sequence lengths: sequence b owns rows [cu[b], cu[b+1]).
using Offsets = std::vector<int32_t>;

} // namespace tessera::reference
