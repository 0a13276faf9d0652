// runtime/launch/LaunchKey.h - what tells launches apart that need different
// code.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Kernel.h"
#include "runtime/launch/InlineVector.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tessera::runtime {

// A few 64-bit words: device and options, one byte for the class of each
// argument, and name and value of each constexpr. What is written can be read
// back in one way only, and tables compare all words, so equal hashes never
// give a launch the code of another.
class LaunchKey {
public:
  using View = std::span<const uint64_t>;

  void add(uint64_t word) { words.push_back(word); }
  void add(View other) {
    for (uint64_t word : other)
      add(word);
  }
  // Bytes of any length; `tag` goes into the same word as the length.
  void addText(std::string_view text, uint8_t tag = 0);
  void addConstexpr(std::string_view name, int64_t value) {
    addText(name, integerTag);
    add(uint64_t(value));
  }
  void addConstexpr(std::string_view name, const ConstexprValue &value);
  // One byte an argument: kind, type, 16-byte alignment of pointers; of
  // integers whether they are 1, fit 32 bits, are divisible by 16.
  // `unspecialized`: of as many arguments, those of do_not_specialize.
  void addClasses(std::span<const Arg> args, const bool *unspecialized);
  // Bits of what heuristics can see: numbers, not addresses.
  void addValues(std::span<const Arg> args);

  View view() const { return words; }
  std::vector<uint64_t> copy() const { return {words.begin(), words.end()}; }

private:
  static constexpr uint8_t integerTag = 2; // index in ConstexprValue
  InlineVector<uint64_t, 64> words;
};

inline bool sameKey(LaunchKey::View a, LaunchKey::View b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

// Spreads keys over a table; two keys may share it.
uint64_t hashOf(LaunchKey::View key);

} // namespace tessera::runtime
