// trainer/tokenizer/Letters.cpp - converts between bytes and the printable
// letters that GPT-2's files use for them.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/tokenizer/Vocabulary.h"

#include "support/Error.h"

#include <array>
#include <fmt/format.h>

namespace tessera::trainer {
namespace {

bool printable(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) ||
         (byte >= 0xae && byte <= 0xff);
}

constexpr int letters = 256 + 68; // 68 bytes are not printable

struct Table {
  std::array<int, 256> letterOf{};
  std::array<int, letters> byteOf{}; ///< -1 if the letter is not used.
};

const Table &table() {
  static const Table made = [] {
    Table t;
    t.byteOf.fill(-1);
    int next = 256;
    for (int byte = 0; byte < 256; ++byte) {
      const int letter = printable(byte) ? byte : next++;
      t.letterOf[size_t(byte)] = letter;
      t.byteOf[size_t(letter)] = byte;
    }
    return t;
  }();
  return made;
}

} // namespace

std::string lettersOf(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const int letter = table().letterOf[uint8_t(c)];
    if (letter < 0x80) {
      text += char(letter);
    } else {
      text += char(0xc0 | letter >> 6);
      text += char(0x80 | (letter & 63));
    }
  }
  return text;
}

std::string bytesOf(std::string_view text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    int letter = uint8_t(text[i]);
    // Each valid letter takes one or two bytes of UTF-8.
    if ((letter & 0xe0) == 0xc0 && i + 1 < text.size() &&
        (uint8_t(text[i + 1]) & 0xc0) == 0x80)
      letter = (letter & 31) << 6 | (uint8_t(text[++i]) & 63);
    else if (letter >= 0x80)
      letter = letters;
    const int byte = letter < letters ? table().byteOf[size_t(letter)] : -1;
    if (byte < 0)
      throw Error(
          fmt::format("'{}' holds a letter that represents no byte", text),
          "tokens are spelled in GPT-2's letters for bytes");
    bytes += char(byte);
  }
  return bytes;
}

} // namespace tessera::trainer
