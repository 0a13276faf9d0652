// trainer/data/DocumentIndex.cpp - reads the index of a shard, or searches a
// file for the starts of documents.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/DocumentIndex.h"

#include "support/Error.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace tessera::trainer {
namespace {

/// Returns 0 and the positions of all tokens equal to `token`, ascending.
template <typename T>
std::vector<int64_t> placesOf(const RandomFile &file, const TokenLayout &layout,
                              T token) {
  constexpr int64_t piece = 1 << 20;
  std::vector<int64_t> starts{0};
  std::vector<T> tokens;
  for (int64_t at = 0; at < layout.tokens; at += piece) {
    tokens.resize(size_t(std::min(piece, layout.tokens - at)));
    file.read(layout.offset + at * int64_t(sizeof(T)),
              int64_t(tokens.size() * sizeof(T)), tokens.data());
    for (size_t i = 0; i < tokens.size(); ++i)
      if (tokens[i] == token && at + int64_t(i) > 0)
        starts.push_back(at + int64_t(i));
  }
  return starts;
}

} // namespace

std::vector<int64_t> readDocumentIndex(const RandomFile &file,
                                       const TokenLayout &layout) {
  std::vector<int64_t> starts(size_t(layout.documents));
  // The index is little-endian, as is every supported machine.
  file.read(layout.offset + layout.tokens * layout.width,
            layout.documents * int64_t(sizeof(int64_t)), starts.data());
  for (size_t i = 0; i < starts.size(); ++i)
    if (starts[i] < 0 || starts[i] >= layout.tokens ||
        (i ? starts[i] <= starts[i - 1] : starts[i] != 0))
      throw Error(fmt::format("{}: document {} begins at token {}", file.path(),
                              i, uint64_t(starts[i])),
                  "the file is damaged; make it again");
  return starts;
}

std::vector<int64_t> documentStarts(const RandomFile &file,
                                    const TokenLayout &layout) {
  if (layout.documents > 0)
    return readDocumentIndex(file, layout);
  if (layout.endToken < 0 || layout.tokens == 0)
    return {0};
  return layout.width == 2 ? placesOf(file, layout, uint16_t(layout.endToken))
                           : placesOf(file, layout, uint32_t(layout.endToken));
}

} // namespace tessera::trainer
