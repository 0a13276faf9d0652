// codegen/cpu/object/Link.h - the linker, in this process, and a look into ELF
// files.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tessera::codegen::cpu {

// Links one object file into a shared object that exports `entry` alone.
std::string linkSharedObject(const std::string &object,
                             const std::string &entry);

// Names of the symbols an ELF file (object or shared object) does not define.
std::vector<std::string> undefinedSymbols(const std::string &bytes);

// Names of the symbols a shared object exports.
std::vector<std::string> exportedSymbols(const std::string &bytes);

} // namespace tessera::codegen::cpu
