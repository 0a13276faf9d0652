// tools/TraceOption.h - the option --trace of tessera-opt and tessera-lower.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// LLVM's -debug-only exists only in LLVM packages built with assertions. The
// functions that implement it are in every package.
#pragma once

#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Debug.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <string>
#include <vector>

namespace tessera::tools {

/// Turns on the debug output of the passes named in `list`, separated by
/// commas. Ends the program if a pass is unknown: the passes must be registered
/// before the command line is parsed.
inline void traceDecisions(const std::string &list) {
  llvm::SmallVector<llvm::StringRef> names;
  llvm::StringRef(list).split(names, ',');
  std::vector<std::string> texts;
  for (llvm::StringRef name : names) {
    if (!mlir::PassInfo::lookup(name)) {
      llvm::errs() << "error: --trace: no pass `" << name
                   << "`; --help lists the passes of tessera-opt\n";
      std::exit(1);
    }
    texts.push_back(name.str());
  }
  std::vector<const char *> types;
  for (const std::string &text : texts)
    types.push_back(text.c_str());
  llvm::DebugFlag = true;
  llvm::setCurrentDebugTypes(types.data(), unsigned(types.size()));
}

inline llvm::cl::opt<std::string> trace(
    "trace",
    llvm::cl::desc("print on stderr what these passes decide, separated by "
                   "commas: --trace=tessera-memory-barriers"),
    llvm::cl::value_desc("PASS,..."),
    llvm::cl::cb<void, std::string>(traceDecisions));

} // namespace tessera::tools
