// trainer/data/ShardWriter.cpp - writes tokens, document index and header, then
// renames the file.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/ShardWriter.h"

#include "support/Descriptors.h"
#include "support/Error.h"
#include "support/Sync.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace tessera::trainer {
namespace {

/// Writes all bytes at `offset`, or at the current file position if `offset` is
/// negative.
void writeAll(int fd, std::string_view bytes, int64_t offset,
              const fs::path &file) {
  while (!bytes.empty()) {
    const ssize_t n =
        offset < 0 ? ::write(fd, bytes.data(), bytes.size())
                   : ::pwrite(fd, bytes.data(), bytes.size(), off_t(offset));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      throw Error(
          fmt::format("cannot write {}: {}", file.string(), errnoText(errno)),
          hintForOpen(errno, "free some space, or choose another folder with "
                             "--out"));
    bytes.remove_prefix(size_t(n));
    offset += offset < 0 ? 0 : int64_t(n);
  }
}

} // namespace

ShardWriter::ShardWriter(fs::path folder, std::string name, int64_t shardTokens,
                         TokenKind kind)
    : folder(std::move(folder)), name(std::move(name)),
      shardTokens(shardTokens), kind(std::move(kind)) {}

ShardWriter::~ShardWriter() {
  if (!fd)
    return;
  std::error_code ignored;
  fs::remove(temporary, ignored);
}

void ShardWriter::open() {
  temporary = folder / fmt::format("{}_{:06}.bin.tmp", name, written.size());
  fd.reset(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                  0644));
  if (!fd)
    throw Error(fmt::format("cannot write {}: {}", temporary.string(),
                            errnoText(errno)),
                "make the folder writable, or choose another with --out");
  layout = TokenLayout();
  layout.format = TokenFormat::Shard;
  layout.width = kind.vocabulary <= 1 << 16 ? 2 : 4;
  layout.vocabulary = kind.vocabulary;
  layout.tokenizer = kind.name;
  layout.endToken = kind.end;
  sum = Sha256();
  starts.clear();
  writeAll(fd.get(), std::string(size_t(shardHeaderBytes), '\0'), -1,
           temporary);
}

void ShardWriter::put(std::string_view bytes) {
  sum.update(bytes);
  writeAll(fd.get(), bytes, -1, temporary);
}

void ShardWriter::beginDocument() {
  if (fd && layout.tokens >= shardTokens)
    close();
  if (!fd)
    open();
  starts.push_back(uint64_t(layout.tokens));
  const uint32_t end = uint32_t(kind.end);
  append({&end, 1}, 0);
  ++layout.documents;
}

void ShardWriter::append(std::string_view text) {
  constexpr size_t piece = 1 << 16;
  std::vector<uint32_t> tokens;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, piece);
    text.remove_prefix(part.size());
    tokens.clear();
    for (const char c : part)
      tokens.push_back(uint8_t(c));
    append(tokens, int64_t(part.size()));
  }
}

void ShardWriter::append(std::span<const uint32_t> tokens, int64_t textBytes) {
  std::string bytes(tokens.size() * size_t(layout.width), '\0');
  size_t at = 0;
  for (const uint32_t token : tokens)
    for (int i = 0; i < layout.width; ++i)
      bytes[at++] = char(token >> 8 * i & 255);
  put(bytes);
  layout.tokens += int64_t(tokens.size());
  layout.textBytes += textBytes;
}

void ShardWriter::close() {
  std::string index;
  for (uint64_t start : starts)
    for (int byte = 0; byte < 8; ++byte)
      index += char(start >> 8 * byte & 255);
  put(index);
  layout.sha256 = toHex(sum.finish());
  writeAll(fd.get(), shardHeader(layout), 0, temporary);
  const fs::path file =
      folder / fmt::format("{}_{:06}.bin", name, written.size());
  if (::fsync(fd.get()) != 0 || ::rename(temporary.c_str(), file.c_str()) != 0)
    throw Error(
        fmt::format("cannot write {}: {}", file.string(), errnoText(errno)),
        "free some space, or choose another folder with --out");
  fd.reset();
  syncFolder(folder);
  written.push_back(file.string());
  allTokens += layout.tokens;
  allDocuments += layout.documents;
}

void ShardWriter::finish() {
  if (fd)
    close();
}

} // namespace tessera::trainer
