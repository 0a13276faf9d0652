// ptx/ResourceReport.h - the resources and instructions of a compiled GPU
// kernel, as JSON.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptx/Listing.h"
#include "support/GpuTarget.h"
#include "support/Json.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera::ptx {

struct Resources;

// A buffer in shared memory.
struct SharedBuffer {
  std::string name; // its purpose
  uint64_t offset = 0, bytes = 0;
  uint32_t line = 0; // of the kernel's file; 0: unknown
};

// An optimization that the compiler could not apply at a place.
struct Remark {
  std::string place; // "k.py:12:9"
  std::string text;
};

// remarkComment() returns a remark as a comment line for the start of PTX;
// remarksOf() reads these lines.
std::string remarkComment(const Remark &remark);
std::vector<Remark> remarksOf(std::string_view ptx);

struct ReportInput {
  GpuTarget target;
  std::string ptx;
  const Resources *resources = nullptr; // null: not assembled
  std::string ptxasVersion;             // "12.8.93"
  std::string sass;                     // empty: not disassembled
  std::string sassOfPtx;                // with PTX lines; empty: no blocks
  uint64_t sharedBytes = 0;             // dynamic shared memory
  uint32_t threads = 0;                 // 0: the number in the PTX
  std::vector<SharedBuffer> buffers;
  std::vector<Remark> remarks;
};

// {"kernel", "target", "ptx_version", "threads", "registers", "stack",
// "spill_stores", "spill_loads", "shared", "shared_buffers", "blocks_per_sm",
// "warps_per_sm", "limited_by", "loop_non_tensor_per_tensor", "async_stages",
// "ptxas", "ptx": LISTING, "sass": LISTING, "remarks": [{"place", "text"}]};
// what is not known is null. With `sassOfPtx` also "sass_blocks": [[[PTX line,
// opcode]]] of each basic block; line 0: unknown; opcodes have no modifiers. A
// LISTING has "instructions" by class with their "total", and "loops".
// loop_non_tensor_per_tensor is SASS's, without SASS the PTX's. Depends on its
// input only.
Json makeReport(const ReportInput &input, std::string_view kernel = {});

// Returns a number or text of a report; fractions have two decimals.
std::string numberText(const Json &value, const char *unknown = "?");

// Returns the report as readable text.
std::string reportText(const Json &report);

// The listing's text with the line of the kernel before the first instruction
// that is for it. `source` is the text of the file `file` (last part of its
// path).
struct SourceText {
  std::string file, text;
};
std::string annotate(std::string_view text, const Listing &listing,
                     const std::vector<SourceText> &sources);

} // namespace tessera::ptx
