// trainer/loop/OwnSymbols.h - names of the functions of this program, for
// stacks that a signal handler prints.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::trainer {

/// The function symbols of the running program's file. backtrace_symbols_fd()
/// knows exported functions alone, and this program exports none.
class OwnSymbols {
public:
  /// Reads /proc/self/exe. A stripped file, or one that cannot be read, has no
  /// symbols.
  OwnSymbols();

  struct Found {
    std::string_view name; ///< Empty if no symbol contains the address.
    uint64_t offset = 0;   ///< The address in the file, as addr2line takes it.
  };
  /// Returns the function that contains a return address. Safe in a signal
  /// handler.
  Found find(const void *address) const;

private:
  struct Function {
    uint64_t begin = 0, end = 0;
    std::string name;
  };
  uint64_t base = 0;               ///< Address of the file's first byte.
  std::vector<Function> functions; ///< In ascending order.
};

} // namespace tessera::trainer
