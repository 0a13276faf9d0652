// codegen/gpu/emit/InlinedLines.h - adds inlined_at to line information of PTX.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// For an inlined helper, LLVM 22 prints the line in the helper but not that of
// the call (PTX ISA, ".loc": function_name, inlined_at). Without the call,
// three loads through one helper share one line in every profile.
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
  // Gives the instructions of each inlined call a distinct file name, which
  // appears in the PTX. The module must be optimized already.
  explicit InlinedLines(llvm::Module &module);

  // Returns the PTX text of that module with inlined_at instead of those names.
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
