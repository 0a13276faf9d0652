// trainer/data/TokenStore.cpp - reads tokens across files.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/TokenStore.h"

#include "support/Error.h"
#include "trainer/data/DocumentIndex.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace tessera::trainer {
namespace {

/// Converts little-endian numbers of type T to int64; returns the largest.
template <typename T>
int64_t widen(const char *bytes, int64_t count, int64_t *out) {
  int64_t most = 0;
  for (int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, bytes + i * int64_t(sizeof(T)), sizeof(T));
    out[i] = int64_t(value);
    most = std::max(most, out[i]);
  }
  return most;
}

} // namespace

TokenStore::TokenStore(std::string text) {
  Segment s;
  s.count = int64_t(text.size());
  s.text = std::make_shared<const std::string>(std::move(text));
  total = s.count;
  largest = s.vocabulary;
  segments.push_back(std::move(s));
}

TokenStore::TokenStore(const SyntheticTokens &tokens, int64_t count) {
  Segment s;
  s.count = count;
  s.vocabulary = tokens.vocabulary;
  s.made = tokens;
  total = s.count;
  largest = s.vocabulary;
  segments.push_back(std::move(s));
}

void TokenStore::add(std::shared_ptr<const RandomFile> file,
                     const TokenLayout &layout) {
  Segment s;
  s.file = std::move(file);
  s.width = layout.width;
  s.offset = layout.offset;
  s.start = total;
  s.count = layout.tokens;
  s.vocabulary = layout.vocabulary;
  s.layout = layout;
  end = layout.endToken;
  total += s.count;
  largest = std::max(largest, s.vocabulary);
  segments.push_back(std::move(s));
}

void TokenStore::readSegment(const Segment &s, int64_t first, int64_t count,
                             int64_t *out) {
  if (s.made)
    return s.made->read(s.offset + first, count, out);
  std::string buffer;
  const char *bytes = nullptr;
  const int64_t begin = s.offset + first * s.width;
  if (s.file) {
    buffer = s.file->read(begin, count * s.width);
    bytes = buffer.data();
  } else {
    bytes = s.text->data() + begin;
  }
  const int64_t most = s.width == 1   ? widen<uint8_t>(bytes, count, out)
                       : s.width == 2 ? widen<uint16_t>(bytes, count, out)
                                      : widen<uint32_t>(bytes, count, out);
  if (most < s.vocabulary)
    return;
  const int64_t at = std::find(out, out + count, most) - out;
  throw Error(
      fmt::format("{}: token {} is {}, but its vocabulary has {}",
                  s.file ? s.file->path() : "text", first + at, most,
                  s.vocabulary),
      "the file is damaged, or its header is of another vocabulary: make "
      "the file again");
}

void TokenStore::read(int64_t first, int64_t count, int64_t *out) const {
  auto s = std::upper_bound(segments.begin(), segments.end(), first,
                            [](int64_t token, const Segment &segment) {
                              return token < segment.start + segment.count;
                            });
  while (count > 0) {
    const int64_t inside = first - s->start;
    const int64_t here = std::min(count, s->count - inside);
    readSegment(*s, inside, here, out);
    first += here;
    count -= here;
    out += here;
    ++s;
  }
}

TokenStore TokenStore::part(int64_t first, int64_t count) const {
  TokenStore row;
  const int64_t end = first + count;
  for (const Segment &s : segments) {
    const int64_t from = std::max(first, s.start);
    const int64_t to = std::min(end, s.start + s.count);
    if (from >= to)
      continue;
    Segment piece = s;
    piece.offset += (from - s.start) * s.width;
    piece.start = row.total;
    piece.count = to - from;
    row.total += piece.count;
    row.segments.push_back(std::move(piece));
  }
  row.largest = largest;
  row.end = endToken();
  return row;
}

void TokenStore::addDocuments(const Segment &s, std::vector<Document> &all) {
  std::vector<int64_t> starts{0};
  // Tokens of the source, and before this segment.
  int64_t size = s.count, before = 0;
  if (s.file) {
    starts = documentStarts(*s.file, s.layout);
    size = s.layout.tokens;
    before = (s.offset - s.layout.offset) / s.width;
  } else {
    size = s.made ? s.offset + s.count : int64_t(s.text->size());
    before = s.offset;
  }
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t until = i + 1 < starts.size() ? starts[i + 1] : size;
    const int64_t from = std::max(starts[i], before);
    const int64_t to = std::min(until, before + s.count);
    if (from < to)
      all.push_back({s.start + from - before, to - from, to == until});
  }
}

std::vector<Document> TokenStore::documents() const {
  std::vector<Document> all;
  for (const Segment &s : segments)
    addDocuments(s, all);
  return all;
}

} // namespace tessera::trainer
