// tests/unit/codegen/gpu/LayoutText.h - a layout as tile IR writes it.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialect/layout/LinearLayout.h"

namespace tessera {

inline std::string layoutText(const layout::LinearLayout &map) {
  using layout::Dim;
  std::string text = "#tile.linear<";
  for (size_t i = 0; i < map.outs().size(); ++i)
    text += (i ? "x" : "") + std::to_string(int64_t(1) << map.outs()[i].bits);
  for (auto [name, dim] : {std::pair{"register", Dim::Register},
                           {"lane", Dim::Lane},
                           {"warp", Dim::Warp}}) {
    text += std::string(", ") + name + " = [";
    for (int bit = 0; bit < map.inBits(dim); ++bit) {
      text += bit ? ", [" : "[";
      std::vector<int64_t> basis = map.basis(dim, bit);
      for (size_t i = 0; i < basis.size(); ++i)
        text += (i ? ", " : "") + std::to_string(basis[i]);
      text += "]";
    }
    text += "]";
  }
  return text + ">";
}

/// "tensor<4x8xf32, #tile.linear<...>>"
inline std::string tensorText(const layout::LinearLayout &map,
                              const std::string &element) {
  std::string text = "tensor<";
  for (const layout::Extent &out : map.outs())
    text += std::to_string(int64_t(1) << out.bits) + "x";
  return text + element + ", " + layoutText(map) + ">";
}

inline std::string replaced(std::string text, const std::string &name,
                            const std::string &value) {
  for (size_t at = 0; (at = text.find(name, at)) != std::string::npos;
       at += value.size())
    text.replace(at, name.size(), value);
  return text;
}

} // namespace tessera
