// trainer/observe/Telemetry.h - reports the progress of a run: the progress
// line, metrics.jsonl and TensorBoard's events.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/File.h"
#include "trainer/data/Corpus.h"
#include "trainer/loop/StageClock.h"
#include "trainer/observe/EventFile.h"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::trainer {

/// The logged values of one optimizer step.
struct StepRecord {
  int64_t step = 0, steps = 0; ///< Completed steps, steps of the run.
  double bits = 0, gradientNorm = 0, learningRate = 0;
  double milliseconds = 0, tokensPerSecond = 0, secondsLeft = 0;
  LossUnit unit; ///< Unit of `bits`.
  /// Model FLOPs utilization, relative to the processor's measured peak
  /// (trainer/observe/ProcessorPeak.h); 0 if unknown.
  double utilization = 0;
  StageClock stages;
  /// Statistics of gates and selections (models/Statistics.h), by name.
  std::vector<std::pair<std::string, double>> statistics = {};
  /// Gradient buckets whose exchange started before the backward pass ended,
  /// and all buckets. Both are 0 in a run of one process.
  int64_t bucketsBeside = 0, buckets = 0;
};

/// Resident memory of this process in bytes: current and peak; 0 if unknown.
struct ProcessMemory {
  int64_t now = 0, most = 0;
};
/// Reads the memory of this process from the kernel.
ProcessMemory processMemory();

/// Returns seconds since the epoch as "2026-01-31T12:00:00Z".
std::string isoTime(double seconds);

/// Returns a duration in seconds as "1h02m", "4m07s" or "12s".
std::string duration(double seconds);

/// Writes to standard error. Ignores errors, because a run continues without a
/// terminal or reader.
void writeLog(std::string_view text);
/// Writes a line as writeLog() does.
void logLine(const std::string &text);

/// Reports progress on standard error: a single line that is redrawn on a
/// terminal, a line for each record elsewhere. Also writes every record to
/// metrics.jsonl, and its numbers to TensorBoard's file in tb/.
class Telemetry {
public:
  /// Opens metrics.jsonl as `file`. Keeps its records of steps up to
  /// `keptSteps`, from which a resumed run continues, and removes later ones.
  /// With an empty `file` the object reports nothing: only the first process of
  /// a run reports.
  Telemetry(const std::string &file, int64_t keptSteps);

  /// Redraws the progress line; with `logged`, also writes the record.
  void step(const StepRecord &record, bool logged);
  /// Writes a record. If that fails, the record is kept and written with the
  /// next one. A failure is reported once, and so is its end.
  void record(const nlohmann::json &json);
  /// Prints a line of text on standard error that the progress line does not
  /// overwrite.
  void say(const std::string &text);

private:
  void addEvents(const nlohmann::json &json);

  bool terminal;
  bool drawn = false;
  std::string file;
  UniqueFd out;
  /// Text that is not in the file yet; may begin inside a line.
  std::string unwritten;
  bool failing = false;
  std::optional<EventFile> events; ///< Unset without a file.
  bool eventsFailing = false;
};

} // namespace tessera::trainer
