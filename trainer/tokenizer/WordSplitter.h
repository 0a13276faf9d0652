// trainer/tokenizer/WordSplitter.h - splits text into words. The tokenizer
// merges bytes only within a word.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

namespace tessera::trainer {

/// Splits by GPT-2's pattern. A word is a contraction ('s, 'll), a run of
/// letters, of digits or of other characters with an optional blank before it,
/// or a run of white space. Letters and digits are defined by Unicode. Runs of
/// bytes that are not UTF-8 are words, too: all words joined are the text.
class WordSplitter {
public:
  WordSplitter();
  ~WordSplitter();
  WordSplitter(WordSplitter &&) noexcept;

  /// Returns the word that starts at text[0]. The text must not be empty, and
  /// its end must be the end of the document or a safeCut() of it: otherwise
  /// the last word may be cut off.
  std::string_view first(std::string_view text);

  /// Returns the last offset at which cutting the text does not change its
  /// words: before a blank or newline that follows a visible ASCII character.
  /// Returns 0 if no such offset exists.
  static size_t safeCut(std::string_view text);

private:
  struct Pattern;
  std::unique_ptr<Pattern> pattern;
};

} // namespace tessera::trainer
