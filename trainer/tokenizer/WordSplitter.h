// trainer/tokenizer/WordSplitter.h - splits text into words, within which the
// tokenizer merges.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

namespace tessera::trainer {

/// GPT-2's pattern: contractions, then runs of letters, of digits or of other
/// characters, each with one blank before it, then runs of white space. Letters
/// and digits are those of Unicode. Bytes that are no UTF-8 are words of their
/// own, so the words joined are always the text.
class WordSplitter {
public:
  WordSplitter();
  ~WordSplitter();
  WordSplitter(WordSplitter &&) noexcept;

  /// The word that text[0] begins; the text is not empty. The words of a text
  /// cut at safeCut() are those of the whole.
  std::string_view first(std::string_view text);

  /// The last place after which the words do not depend on what stands before,
  /// nor those before on what follows: before white space behind a visible
  /// ASCII character. 0: there is none.
  static size_t safeCut(std::string_view text);

private:
  struct Pattern;
  std::unique_ptr<Pattern> pattern;
};

} // namespace tessera::trainer
