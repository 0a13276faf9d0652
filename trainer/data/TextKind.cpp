// trainer/data/TextKind.cpp - compares files with the signatures of other
// formats, and splits names into words.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/TextKind.h"

#include "support/Error.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fmt/format.h>

namespace tessera::trainer {
namespace {

using namespace std::string_view_literals;

struct Signature {
  std::string_view bytes;
  const char *what, *remedy;
};

constexpr const char *unpack =
    "unpack it first (gunzip, unzstd, unxz, bunzip2 or unzip)";
constexpr const char *encode = "convert it: iconv -f UTF-16 -t UTF-8 FILE";
constexpr Signature signatures[] = {
    {"\x1f\x8b"sv, "a gzip file", unpack},
    {"\x28\xb5\x2f\xfd"sv, "a zstd file", unpack},
    {"\xfd"
     "7zXZ\0"sv,
     "an xz file", unpack},
    {"BZh"sv, "a bzip2 file", unpack},
    {"PK\x03\x04"sv, "a zip file", unpack},
    {"\x93NUMPY"sv, "an array of numpy",
     "write its tokens as llm.c's shards, or give the text itself"},
    {"\xff\xfe"sv, "UTF-16 text", encode},
    {"\xfe\xff"sv, "UTF-16 text", encode}};

} // namespace

void requireText(std::string_view head, const std::string &name) {
  for (const Signature &s : signatures)
    if (head.starts_with(s.bytes))
      throw Error(fmt::format("{} is {}, not text in UTF-8", name, s.what),
                  s.remedy);
  if (name.ends_with(".bin"))
    throw Error(fmt::format("{} has no header of llm.c or of tessera: its "
                            "tokens have an unknown width",
                            name),
                "tessera data prepare makes shards of text; rename the file "
                "if it is text");
}

bool namesHeldOut(const std::string &name) {
  const std::string file = std::filesystem::path(name).filename().string();
  std::string word;
  const auto isWord = [&word] {
    return word == "val" || word == "valid" || word == "validation" ||
           word == "heldout";
  };
  for (const char c : file) {
    if (std::isalpha(static_cast<unsigned char>(c))) {
      word += char(std::tolower(static_cast<unsigned char>(c)));
      continue;
    }
    if (isWord())
      return true;
    word.clear();
  }
  return isWord();
}

} // namespace tessera::trainer
