// runtime/launch/InlineVector.h - a list that allocates only when it gets long.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

namespace tessera::runtime {

// Stores the first N elements in the object itself and leaves them
// uninitialized until they are added. Every launch creates such lists, and they
// are short.
template <typename T, size_t N>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T> &&
                std::is_trivially_destructible_v<T>);

public:
  InlineVector() = default;
  InlineVector(const InlineVector &) = delete;
  InlineVector &operator=(const InlineVector &) = delete;

  void push_back(const T &value) {
    if (count == capacity) [[unlikely]]
      grow();
    std::construct_at(elements + count++, value);
  }
  void clear() { count = 0; }
  size_t size() const { return count; }
  bool empty() const { return !count; }
  T &operator[](size_t i) { return elements[i]; }
  const T &operator[](size_t i) const { return elements[i]; }
  T *data() { return elements; }
  const T *begin() const { return elements; }
  const T *end() const { return elements + count; }
  operator std::span<const T>() const { return {elements, count}; }

private:
  void grow() {
    std::unique_ptr<T[]> larger(new T[2 * capacity]);
    std::copy_n(elements, count, larger.get());
    more = std::move(larger);
    elements = more.get();
    capacity *= 2;
  }

  alignas(T) std::byte storage[N * sizeof(T)];
  T *elements = reinterpret_cast<T *>(storage);
  size_t count = 0, capacity = N;
  std::unique_ptr<T[]> more;
};

} // namespace tessera::runtime
