// replay/Case.h - a recorded launch: docs/cases.md says what it holds.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "replay/Elements.h"
#include "replay/Safetensors.h"
#include "runtime/Kernel.h"

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cases {

enum class ArgumentKind { Pointer, Int, Float };

struct CaseArgument {
  std::string name;
  ArgumentKind kind = ArgumentKind::Int;
  std::string dtype;         // as written: "fp32", "fp8e4nv"
  std::optional<DType> type; // none for a dtype kernels do not take here
  Layout layout;             // of a pointer
  int64_t elements = 0;      // that the recorder kept of it
  // Of a scalar: int64_t, double or bool. None for an integer that only u64
  // holds; `text` is the number then.
  std::optional<Arg> value;
  std::string text;
};

struct CompareMode {
  // Scratch: nobody reads it after the launch, anything may be there.
  enum class Kind { Exact, Rms, Unordered, Ties, Scratch };
  Kind kind = Kind::Exact;
  std::string scores; // of Ties: the argument that says what a near tie is
};
const char *compareModeName(CompareMode::Kind kind); // "exact", "rms", ...

// What a launch has to do, whoever compiles it.
struct CaseWork {
  double bytes = 0; // least traffic with memory, in 32-byte sectors
  // Of dots by type of the operands ("fp16"): two for each multiply and add.
  std::map<std::string, double> dotFlop;
  bool nondeterministic = false; // results differ from run to run (atomics)
};

// Where a launch of ours came from: what `tessera tune` needs beside the rest.
struct CaseSource {
  std::string file; // of the kernel, with its configurations and hints
  // The constexprs that the caller gave; the others were the kernel's choice.
  Constexprs given;
  int64_t sequence = 0; // LaunchOptions::sequence
};

struct Case {
  std::string name;
  std::string kernel;
  std::string kernelFile; // within the case's folder
  Grid grid = {1, 1, 1};
  // A dtype is still its text here: see resolveConstexprs().
  Constexprs constexprs;
  std::optional<int64_t> numWarps, numStages;
  std::vector<CaseArgument> arguments;
  std::vector<std::string> written;
  std::map<std::string, CompareMode> compare; // where given
  std::optional<CaseWork> work;
  std::optional<CaseSource> source;

  const CaseArgument *find(std::string_view name) const;
  bool isWritten(std::string_view name) const;
  // As given, else exact for integers and RMS for floats.
  CompareMode modeOf(const CaseArgument &argument) const;
};

// Pure: from the text of case.json; `name` is the file for messages. Throws
// Error with the place and the nearest name.
Case readCase(std::string_view text, const std::string &name);

// The text of case.json for a case. readCase() of it gives the case back.
std::string writeCase(const Case &recorded);

// A case with its files.
struct LoadedCase {
  std::filesystem::path folder;
  Case recorded;
  std::string kernelText;
  Tensors before, after;
  // Written arguments of which `before` holds other contents than recorded
  // (tune::withoutOldResults()).
  std::set<std::string> filled;
  // fp32 dots that name no precision were compiled as tf32.
  bool tf32 = false;

  // "own_matmul-fp32": the folder's name.
  std::string folderName() const;
};
// Throws Error.
LoadedCase loadCaseText(const std::filesystem::path &folder); // no tensors
LoadedCase loadCase(const std::filesystem::path &folder);

// The folders of cases that a path means: itself, or those directly in it,
// sorted. Throws Error when there is none.
std::vector<std::filesystem::path> findCases(const std::filesystem::path &path);

} // namespace tessera::cases
