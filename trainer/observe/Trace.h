// trainer/observe/Trace.h - a Chrome trace of chosen steps.
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

/// Spans of time of this process while the chosen steps run, by thread: steps
/// and their phases, which the run tells; layers, operations of torch, nodes of
/// the backward pass and launches of our kernels, of which at::RecordFunction
/// tells. Spans of a thread are nested. On a GPU they are times of the host. A
/// launch has its kernel's configuration as arguments: {"target", "num_warps",
/// "num_stages", "constexprs": {name: value}, "listed": index in kernels.json}.
/// Before the first of the steps and behind the last one nothing is observed
/// but what `nvtx` asks for.
class Trace {
public:
  using Clock = std::chrono::steady_clock;

  /// `file` gets the JSON (chrome://tracing, Perfetto) when the last step of
  /// the range is over. An empty range: no file, and all calls do nothing.
  /// `kernels` are those whose launches are traced. With a `target` ("sm_80")
  /// kernels.json appears beside the file, before it: for each kind of launch
  /// {"ran": what it was compiled from, "for_target": the same for the target,
  /// or {"error", "hint"} where the kernel has no form for it}, as
  /// language/Request.h has requests.
  /// With `nvtx` steps and phases, of all steps, are ranges of NVTX besides.
  Trace(std::string file, StepRange steps, models::Kernels &kernels,
        std::string target = {}, bool nvtx = false);
  ~Trace();
  Trace(const Trace &) = delete;

  /// A step begins; a first one may lie inside the range. One behind the range
  /// ends the trace: what finish() returns then, else an empty text.
  std::string beginStep(int64_t number);
  /// A phase begins, where the one before ends, the first with its step: phases
  /// add up to steps. `name` is a literal.
  void phase(const char *name, Clock::time_point now = Clock::now());
  /// Ends the step and its last phase.
  void endStep(Clock::time_point now = Clock::now());
  /// Writes what there is, and observes nothing any more. Returns a line about
  /// the file, or about why it could not be written; empty: there was nothing.
  std::string finish();

private:
  struct Recorder;
  const std::string file;
  const StepRange steps;
  models::Kernels &kernels;
  const std::string target;
  std::optional<NvtxRanges> ranges;
  std::shared_ptr<Recorder> recorder; ///< While something is observed.
};

} // namespace tessera::trainer
