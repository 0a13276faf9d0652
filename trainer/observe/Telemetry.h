// trainer/observe/Telemetry.h - the progress line and metrics.jsonl.
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
  int64_t step = 0, steps = 0; ///< Done so far, and in all.
  double bits = 0, gradientNorm = 0, learningRate = 0;
  double milliseconds = 0, tokensPerSecond = 0, secondsLeft = 0;
  LossUnit unit; ///< Of `bits`.
  /// The share of the processor's measured rate that the model's operations
  /// make (trainer/observe/ProcessorPeak.h); 0: not known.
  double utilization = 0;
  StageClock stages;
  /// Of gates and selections (models/Statistics.h), by name.
  std::vector<std::pair<std::string, double>> statistics = {};
  /// Buckets of gradients sent before the backward pass was over, of all; 0 of
  /// 0 in one process.
  int64_t bucketsBeside = 0, buckets = 0;
};

/// Bytes of memory of this process: now, and the most so far. 0: not known.
struct ProcessMemory {
  int64_t now = 0, most = 0;
};
ProcessMemory processMemory();

/// "2026-01-31T12:00:00Z" of seconds since the epoch.
std::string isoTime(double seconds);

/// "1h02m", "4m07s", "12s".
std::string duration(double seconds);

/// Writes to standard error. Ignores errors, because a run continues without a
/// terminal or reader.
void writeLog(std::string_view text);
void logLine(const std::string &text);

/// Progress on standard error: one line redrawn on a terminal, a line per
/// record elsewhere. Every record also goes to metrics.jsonl, its numbers to
/// TensorBoard's file in tb/.
class Telemetry {
public:
  /// Keeps the records of steps up to `keptSteps`, those a resumed run has
  /// behind it, and drops later ones. Without a file nothing is written
  /// anywhere: of several processes one speaks for all.
  Telemetry(const std::string &file, int64_t keptSteps);

  /// Redraws the line; `logged` also writes the record.
  void step(const StepRecord &record, bool logged);
  /// A record that cannot be written is kept and tried again with the next
  /// one; that is said once, and once when it is over.
  void record(const nlohmann::json &json);
  /// Prints a line of text, which the progress line does not overwrite.
  void say(const std::string &text);

private:
  void addEvents(const nlohmann::json &json);

  bool terminal;
  bool drawn = false;
  std::string file;
  UniqueFd out;
  std::string unwritten; ///< Of the file's end; may begin inside a line.
  bool failing = false;
  std::optional<EventFile> events; ///< None without a file.
  bool eventsFailing = false;
};

} // namespace tessera::trainer
