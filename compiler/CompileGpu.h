// compiler/CompileGpu.h - compiles a tile kernel to PTX and a cubin.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/Compile.h"

namespace tessera::compiler {

// Supports the targets of support/GpuTarget.h. The artifact is the cubin, empty
// if request.assembler is "none" or no ptxas is found; stages["ptx"] is always
// set. A request may emit: "tile", "layout" (tile IR with a layout
// in every tensor type), "tiles" (Tiles.h), "places" (an object: the lines
// of PrintedLines.h for "tile" and "layout"), "llvm" (optimized), "ptx", "sass"
// (needs nvdisasm) and "report" (ptx/ResourceReport.h). An override may replace
// tile, layout, llvm and ptx. Phases in timings: parse, semantics, tile,
// layout, lower, optimize, emit, ptxas, report, total.
//
// Throws Error and CompileError.
void compileGpu(const language::CompileRequest &request,
                language::CompileResult &result, const PhaseListener &entering);

} // namespace tessera::compiler
