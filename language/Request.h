// language/Request.h - compilation requests and results, and their JSON.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Signature.h"
#include "support/LineTable.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::language {

struct CompileOptions {
  int64_t numWarps = 4;
  int64_t numStages = 2;
  std::string f32Default = "tf32"; // or "ieee"
  bool debug = false;              // tl.device_assert is checked
  bool swapAb = false;             // the hint swap_ab (GPU)
  bool constantInputs = false;     // the hint constant_inputs (GPU)
  bool wideGrid = false;           // GPU: more than narrowGrid programs along x
};

// A file that the kernel comes from, for places in diagnostics.
struct RequestSource {
  std::string path;
  std::string text;
};

// The edited text of a stage, which replaces the compiler's output of that
// stage (TESSERA_OVERRIDE).
struct StageOverride {
  std::string stage; // "tile", "loops" or "llvm"
  std::string path;  // for messages
  std::string text;
};

struct CompileRequest {
  std::string file;   // path of the kernel's file
  std::string kernel; // name of the function
  // Canonical text of the kernel, its callees and constants: part of the key.
  std::string text;
  // The complete files, the kernel's file first. Not part of the key. If empty,
  // the compiler compiles `text`.
  std::vector<RequestSource> sources;
  std::vector<Argument> args;
  CompileOptions options;
  std::string target;            // "cpu:<mcpu>:<features>", "sm_80"
  std::vector<std::string> emit; // stages to return as text
  // GPU: the ptxas to use; empty: the one that findPtxas() finds; "none": the
  // artifact is PTX alone. Not part of key(): the artifact's key has the
  // version of the ptxas.
  std::string assembler;
  std::vector<StageOverride> overrides; // in the order of the stages
  // Stop after types are known: no artifact, and the one stage "values", what
  // each expression is (compiler/semantics/ValueLog.h). For editors. Not part
  // of key(): such requests are not cached.
  bool frontEndOnly = false;

  std::string toJson() const;
  // Parses a request. Throws Error for malformed JSON and for missing or
  // unknown members.
  static CompileRequest fromJson(std::string_view text);
  // Returns the SHA-256 of the members that determine the artifact: kernel,
  // text, args, options and target, but not file, sources, emit or overrides.
  std::string key() const;
  // Returns the SHA-256 of the edited stages; empty if there are none.
  std::string overrideKey() const;
};

struct ArtifactParameter {
  std::string name;
  std::string kind; // "pointer", "scalar", or "report" (see
                    // runtime/device/cpu/KernelOutput.h)
  std::string type; // "*fp32:16", "i32" ...
};

// Limits on the threads and the bytes of shared memory of a block in metadata.
// No GPU exceeds them.
inline constexpr uint32_t maxBlockThreads = 1024;
inline constexpr uint32_t maxSharedBytes = 1u << 20;
// Limit on the blocks per SM in metadata.
inline constexpr uint32_t maxBlocksPerSm = 64;

struct ArtifactMeta {
  std::string symbol = "tessera_entry";
  // cpu: one 8-byte slot each. GPU: the parameters of the entry, in order.
  std::vector<ArtifactParameter> params;
  uint64_t scratchBytes = 0; // cpu: per thread, 64-byte aligned
  uint32_t threads = 0;      // GPU: of a block, (threads, 1, 1); cpu: 0
  uint32_t sharedBytes = 0;  // GPU: dynamic shared memory of a block
  // GPU: the largest number of programs along x that the code supports; 0: no
  // limit.
  uint32_t gridLimit = 0;
  // GPU: the value of ptxas --minnctapersm (blocks per SM), also required to
  // assemble the PTX again; 0: ptxas ran without the option.
  uint32_t minBlocks = 0;
  // GPU: pairs of parameters that must not overlap in memory: the code moves
  // copies from the first before stores to the second.
  std::vector<std::pair<uint32_t, uint32_t>> disjoint;
  std::vector<std::string> edited; // stages that were overridden
  LineTable lines;                 // cpu: of the entry
};

struct DiagnosticRecord {
  std::string id, severity, file, message, hint;
  uint32_t line = 0, column = 0, endLine = 0, endColumn = 0;
};

struct CompileResult {
  bool ok = false;
  bool defect = false; // true if a compiler bug caused the failure
  std::vector<DiagnosticRecord> diagnostics;
  std::string rendered; // the diagnostics as text for people
  // The shared object; for a GPU, the cubin, which is empty without ptxas.
  // stages["ptx"] always holds the PTX. The JSON does not contain the artifact:
  // it is the second frame of a reply.
  std::string artifact;
  ArtifactMeta meta;
  std::map<std::string, std::string> stages;
  std::map<std::string, double> timings; // seconds by phase

  std::string toJson() const;
  static CompileResult fromJson(std::string_view text);
  // Adds the diagnostics, structured and rendered.
  void addDiagnostics(const std::vector<Diagnostic> &list);
};

} // namespace tessera::language
