// replay/Case.h - a recorded launch (docs/cases.md describes the format).
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
  std::optional<DType> type; // nullopt for an unsupported dtype
  Layout layout;             // of a pointer
  int64_t elements = 0;      // that the recorder stored
  // Value of a scalar: int64_t, double or bool. nullopt for an integer that
  // only u64 can hold; `text` is then the number.
  std::optional<Arg> value;
  std::string text;
};

struct CompareMode {
  // How a written argument is compared. Scratch: its contents after the launch
  // are unused, so any contents pass.
  enum class Kind { Exact, Rms, Unordered, Ties, Scratch };
  Kind kind = Kind::Exact;
  std::string scores; // of Ties: the argument with the scores
};
const char *compareModeName(CompareMode::Kind kind); // "exact", "rms", ...

// The work of a launch, independent of the compiler.
struct CaseWork {
  double bytes = 0; // minimum memory traffic, in 32-byte sectors
  // Operations of dots by type of the operands ("fp16"); a multiply-add counts
  // as two.
  std::map<std::string, double> dotFlop;
  bool nondeterministic = false; // results differ from run to run (atomics)
};

// The origin of a launch of tessera; `tessera tune` needs it.
struct CaseSource {
  std::string file; // of the kernel, with its configurations and hints
  // The constexprs that the caller gave. The kernel chose the others.
  Constexprs given;
  int64_t sequence = 0; // LaunchOptions::sequence
  int64_t threads = 0;  // that ran a CPU launch's programs; 0: not known
};

struct Case {
  std::string name;
  std::string kernel;
  std::string kernelFile; // within the case's folder
  Grid grid = {1, 1, 1};
  // A dtype is stored as text; see resolveConstexprs().
  Constexprs constexprs;
  std::optional<int64_t> numWarps, numStages;
  std::vector<CaseArgument> arguments;
  std::vector<std::string> written;
  std::map<std::string, CompareMode> compare; // where given
  std::optional<CaseWork> work;
  std::optional<CaseSource> source;

  const CaseArgument *find(std::string_view name) const;
  bool isWritten(std::string_view name) const;
  // Returns the given mode, else exact for integers and RMS for floats.
  CompareMode modeOf(const CaseArgument &argument) const;
};

// Parses the text of case.json; `name` is the file's name for messages. Throws
// Error with the place and the nearest name.
Case readCase(std::string_view text, const std::string &name);

// Returns the text of case.json, from which readCase() restores the case.
std::string writeCase(const Case &recorded);

// A case with its files.
struct LoadedCase {
  std::filesystem::path folder;
  Case recorded;
  std::string kernelText;
  Tensors before, after;
  // Written arguments whose contents in `before` differ from the recording
  // (tune::withoutOldResults()).
  std::set<std::string> filled;
  // True if fp32 dots without an explicit precision were compiled as tf32.
  bool tf32 = false;

  // Returns the folder's name: "own_matmul-fp32".
  std::string folderName() const;
};
// Load a case. Both functions throw Error.
LoadedCase loadCaseText(const std::filesystem::path &folder); // no tensors
LoadedCase loadCase(const std::filesystem::path &folder);

// Returns the case folders of a path: the path itself, or its direct
// subfolders, sorted. Throws Error if there are none.
std::vector<std::filesystem::path> findCases(const std::filesystem::path &path);

} // namespace tessera::cases
