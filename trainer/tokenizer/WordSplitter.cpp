// trainer/tokenizer/WordSplitter.cpp - matches GPT-2's pattern with PCRE2.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/tokenizer/WordSplitter.h"

#include "support/Error.h"

#include <fmt/format.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace tessera::trainer {
namespace {

constexpr std::string_view gpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

} // namespace

struct WordSplitter::Pattern {
  pcre2_code *code = nullptr;
  pcre2_match_data *match = nullptr;
  pcre2_match_context *context = nullptr;
  pcre2_jit_stack *stack = nullptr;

  Pattern() {
    int error = 0;
    PCRE2_SIZE place = 0;
    code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(gpt2.data()), gpt2.size(),
                         PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF,
                         &error, &place, nullptr);
    if (!code)
      throw Error(
          fmt::format("libpcre2 refuses GPT-2's pattern: error {}", error),
          "install libpcre2-8-0 of Debian 12 (10.42), with Unicode");
    // An error is ignored: without the JIT, matching is slower, but the same.
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
    match = pcre2_match_data_create(1, nullptr);
    context = pcre2_match_context_create(nullptr);
    stack = pcre2_jit_stack_create(32 << 10, 1 << 20, nullptr);
    pcre2_jit_stack_assign(context, nullptr, stack);
  }
  ~Pattern() {
    pcre2_jit_stack_free(stack);
    pcre2_match_context_free(context);
    pcre2_match_data_free(match);
    pcre2_code_free(code);
  }
  Pattern(const Pattern &) = delete;
  Pattern &operator=(const Pattern &) = delete;
};

WordSplitter::WordSplitter() : pattern(std::make_unique<Pattern>()) {}
WordSplitter::~WordSplitter() = default;
WordSplitter::WordSplitter(WordSplitter &&) noexcept = default;

std::string_view WordSplitter::first(std::string_view text) {
  Pattern &p = *pattern;
  const int found = pcre2_match(
      p.code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
      /*startoffset=*/0, 0, p.match, p.context);
  if (found < 0) {
    if (found != PCRE2_ERROR_NOMATCH)
      throw Error(fmt::format("libpcre2 cannot split a text of {} bytes: "
                              "error {}",
                              text.size(), found),
                  "split the document: it has a word of that length");
    return text;
  }
  const PCRE2_SIZE *place = pcre2_get_ovector_pointer(p.match);
  // A match after text[0] follows bytes that are not UTF-8, which never match.
  return place[0] > 0 ? text.substr(0, place[0]) : text.substr(0, place[1]);
}

size_t WordSplitter::safeCut(std::string_view text) {
  for (size_t at = text.size(); at-- > 1;) {
    const char before = text[at - 1], c = text[at];
    if ((c == ' ' || c == '\n') && before > ' ' && before <= '~')
      return at;
  }
  return 0;
}

} // namespace tessera::trainer
