// codegen/gpu/emit/InlinedLines.h - lines of helpers, with the calls that
// brought them.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// LLVM 22 prints the line of a helper and not where the helper was called (PTX
// ISA, ".loc": function_name, inlined_at). Without it three loads through one
// helper share one line in every profile.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace llvm {
class DILocation;
class Module;
} // namespace llvm

namespace tessera::codegen::gpu {

class InlinedLines {
public:
  // Gives the instructions of each call a file name of their own, which the
  // text will show. The module has been optimized.
  explicit InlinedLines(llvm::Module &module);

  // The PTX text of that module with inlined_at instead of those names.
  std::string write(std::string_view ptx) const;

private:
  struct Call {
    std::string file, function;           // of the helper
    const llvm::DILocation *at = nullptr; // where it was called
  };
  class Writer;

  std::vector<Call> calls;
};

} // namespace tessera::codegen::gpu
