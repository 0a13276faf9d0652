// runtime/launch/LaunchKey.h - the key that separates launches which need
// different code.
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

// The numbers of the integer type that a parameter declares.
struct DeclaredRange {
  size_t argument; // its index among the run-time arguments
  int64_t least;
  uint64_t most;
};

// A launch key is a few 64-bit words: device and options, one byte for the
// class of each argument, and name and value of each constexpr. The encoding is
// unambiguous and tables compare all words, so a hash collision never selects
// another launch's code.
class LaunchKey {
public:
  using View = std::span<const uint64_t>;

  void add(uint64_t word) { words.push_back(word); }
  void add(View other) {
    for (uint64_t word : other)
      add(word);
  }
  // Appends bytes of any length; `tag` shares a word with the length.
  void addText(std::string_view text, uint8_t tag = 0);
  void addConstexpr(std::string_view name, int64_t value) {
    addText(name, integerTag);
    add(uint64_t(value));
  }
  void addConstexpr(std::string_view name, const ConstexprValue &value);
  // Appends one byte per argument: its kind and type, the 16-byte alignment of
  // a pointer, and whether an integer is 1, fits 32 bits, or is divisible by
  // 16. `unspecialized` flags the do_not_specialize arguments.
  void addClasses(std::span<const Arg> args, const bool *unspecialized);
  // Appends a word per range: whether its argument is a number outside of it. A
  // launch that a declared type refuses never finds the code of another one.
  void addOutside(std::span<const Arg> args,
                  std::span<const DeclaredRange> ranges);
  // Appends the values that heuristics can read: numbers, not addresses.
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

// Returns the hash of a key. Two keys may have the same hash.
uint64_t hashOf(LaunchKey::View key);

} // namespace tessera::runtime
