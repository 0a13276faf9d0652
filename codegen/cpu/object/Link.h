// codegen/cpu/object/Link.h - runs the linker in this process and reads symbols
// of ELF files.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tessera::codegen::cpu {

// Links one object file into a shared object that exports only `entry`.
std::string linkSharedObject(const std::string &object,
                             const std::string &entry);

// Returns the undefined symbols of an ELF file (object or shared object).
std::vector<std::string> undefinedSymbols(const std::string &bytes);

// Returns the symbols that a shared object exports.
std::vector<std::string> exportedSymbols(const std::string &bytes);

} // namespace tessera::codegen::cpu
