// support/Lists.h - texts of the elements of a range, as a list or as one text.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <functional>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tessera {

// Returns the name of each element. `name` is a member, or a function of an
// element.
template <typename Range, typename Name = std::identity>
std::vector<std::string> namesOf(const Range &range, Name name = {}) {
  std::vector<std::string> names;
  for (const auto &element : range)
    names.emplace_back(std::invoke(name, element));
  return names;
}

// Whether an element of the range equals `value`.
template <typename Range, typename Value>
bool isListed(const Range &range, const Value &value) {
  return std::ranges::find(range, value) != std::ranges::end(range);
}

// Joins the texts of the elements. `text` is a member, or a function of an
// element; it gives a text or an integer. It does not use fmt, because
// tessera-gpu-check may need no library but libc.
template <typename Range, typename Text = std::identity>
std::string joined(const Range &range, std::string_view between,
                   Text text = {}) {
  std::string all;
  bool first = true;
  for (const auto &element : range) {
    if (!first)
      all += between;
    first = false;
    const auto &part = std::invoke(text, element);
    if constexpr (std::integral<std::remove_cvref_t<decltype(part)>>)
      all += std::to_string(part);
    else
      all += part;
  }
  return all;
}

} // namespace tessera
