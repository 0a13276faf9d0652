// trainer/observe/Trace.h - writes a Chrome trace of the steps that
// train.trace_steps selects.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Kernels.h"
#include "trainer/observe/Nvtx.h"
#include "trainer/settings/Config.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace tessera::trainer {

/// Records time spans of this process during the selected steps, for each
/// thread. The caller reports steps and their phases. at::RecordFunction
/// reports layers, torch operations, nodes of the backward pass, and kernel
/// launches. Spans of a thread are nested. On a GPU they are host times:
///
///   step       |-----------------step 7-----------------|
///   phases     |-----forward-----|----backward----|update|
///   layers      |layer 0||layer 1|
///   launches     |kernel|  |kernel|
///
/// A launch has its kernel's configuration as arguments: {"target",
/// "num_warps", "num_stages", "constexprs": {name: value}, "listed": index in
/// kernels.json}. Before the first and after the last of these steps, nothing
/// is recorded, and only the ranges of `nvtx` are emitted.
class Trace {
public:
  using Clock = std::chrono::steady_clock;

  /// Writes JSON to `file` (chrome://tracing, Perfetto) after the last step of
  /// the range. With an empty range, nothing is recorded. `kernels` are the
  /// kernels whose launches are traced. With a `target` ("sm_80"), finish()
  /// also writes kernels.json to the same folder. For each kind of launch it
  /// has {"ran": the request that was compiled (language/Request.h),
  /// "for_target": the request for the target, or {"error", "hint"} if the
  /// kernel does not support the target}. With `nvtx`, all steps and their
  /// phases are also NVTX ranges.
  Trace(std::string file, StepRange steps, models::Kernels &kernels,
        std::string target = {}, bool nvtx = false);
  /// Calls finish().
  ~Trace();
  Trace(const Trace &) = delete;

  /// Starts a step. In a resumed run, the first call may be for a step inside
  /// of the range. If `number` is after the range, ends the trace and returns
  /// the line of finish(). Otherwise returns an empty string.
  std::string beginStep(int64_t number);
  /// Starts a phase and ends the previous one. The first phase of a step starts
  /// with the step, so the phases of a step cover it completely. `name` must be
  /// a literal.
  void phase(const char *name, Clock::time_point now = Clock::now());
  /// Ends the step and its last phase.
  void endStep(Clock::time_point now = Clock::now());
  /// Ends the recording and writes the files. Returns a line with the file's
  /// name or the reason of a failure; empty if nothing was recorded.
  std::string finish();

private:
  struct Recorder;
  const std::string file;
  const StepRange steps;
  models::Kernels &kernels;
  const std::string target;
  std::optional<NvtxRanges> ranges;
  std::shared_ptr<Recorder> recorder; ///< Null unless recording.
};

} // namespace tessera::trainer
