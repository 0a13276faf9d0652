// ptx/Lexer.h - splits PTX text into tokens.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::ptx {

struct Token {
  enum class Kind : uint8_t {
    Word,      // name, register, opcode with its suffixes: ld.global.v4.b32
    Directive, // .reg, .b32: one segment, with the dot
    Integer,   // value holds the bits
    Float32,   // 0f3F800000: value holds the bits
    Float64,   // 0d..., 1.5, 1e3: value holds the bits of a double
    String,    // text is the part between the quotes
    Punctuation,
    End,
  };
  Kind kind = Kind::End;
  uint32_t line = 0;
  uint64_t value = 0;
  std::string_view text;

  bool is(std::string_view what) const {
    return (kind == Kind::Punctuation || kind == Kind::Word ||
            kind == Kind::Directive) &&
           text == what;
  }
};

// Returns the tokens of `text`, which point into it; the last is End. Drops
// comments. Throws Error, naming `name` and the line, for a character outside
// of PTX, an unclosed comment or string, or a malformed number.
std::vector<Token> lexPtx(std::string_view text, const std::string &name);

} // namespace tessera::ptx
