// tools/bench/Options.h - the options of every verb of `tessera bench`.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Progress.h"
#include "tools/bench/Counting.h"
#include "tools/bench/DevicePeak.h"
#include "tools/bench/Machine.h"
#include "tools/bench/Result.h"
#include "trainer/settings/Config.h"

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tessera::bench {

struct Options {
  std::string verb, command; // command: the command line, for the file
  std::string config;
  std::vector<std::string> settings;
  std::string device = "cpu", gpu; // gpu: of predicted times
  std::vector<int64_t> lengths;
  int64_t rounds = 0; // 0: the verb's own
  std::string out;
  int64_t timeout = 600; // seconds of a measurement on a GPU
  // For a process that may crash (Isolated.h). `measuring` receives the name of
  // each measurement, and "" at its end. `broken` maps measurements to the
  // reason that they ended earlier processes.
  std::function<void(const std::string &)> measuring;
  std::map<std::string, std::string> broken;
};

// A running verb.
class Run {
public:
  // Throws Error for a config, a device or a GPU that does not exist.
  explicit Run(const Options &options);

  const Options &options() const { return given; }
  const trainer::Config &config() const { return settings; }
  const BenchDevice &device() const { return where; }
  bool counts() const { return where.kind == BenchDevice::Kind::Sim; }
  // Returns the device of tensors. Counted launches are recorded on the CPU.
  c10::Device tensors() const { return place; }
  c10::ScalarType precision() const;
  std::vector<int64_t> lengths(std::vector<int64_t> otherwise) const;
  int64_t rounds(int64_t otherwise) const;
  double peak() const; // FLOP a second; 0: not known
  // Returns the recording for verbs that count, and for stages. It exists
  // before the first launch.
  LaunchRecording &recording() const { return *recorded; }
  // Returns the GPU whose times are predicted from counters.
  const tune::GpuData &gpu() const { return *predicted; }
  // Returns the head of the file: machine, command, geometry. `what`: a
  // sentence.
  Json head(const std::string &what) const;
  // Return the member of rows that is printed, and its unit.
  std::string counted() const;
  std::string unit() const;

  // True if Ctrl-C was pressed.
  bool interrupted() const;
  // Reports that a measurement begins, or with "" that it has ended.
  void measuring(const std::string &what) const {
    if (given.measuring)
      given.measuring(what);
  }
  // Returns the reason that the measurement ended an earlier process, or an
  // empty string.
  std::string brokenBy(const std::string &what) const {
    const auto found = given.broken.find(what);
    return found == given.broken.end() ? "" : found->second;
  }
  // Prints a line of progress with the remaining time, if one is due.
  void progress(const std::string &what, uint64_t done, uint64_t total);

private:
  const Options given;
  trainer::Config settings;
  BenchDevice where;
  c10::Device place;
  Peak most;
  std::unique_ptr<LaunchRecording> recorded;
  const tune::GpuData *predicted = nullptr;
  Progress line;
};

// An implementation to time or to count.
struct Variant {
  std::string name;
  std::function<void()> run;
  double flop = 0; // Row::flop
  Json more = Json::object();
  // True if its kernels are ours, so that launches can be counted. A variant of
  // other kernels that cannot run here becomes a row with the reason.
  bool ours = true;
};

// Adds rows of the variants at one length. These have times of `rounds`
// interleaved rounds after a warm-up round, or counters of the launches of one
// round. `done` of `total` estimates the remaining time and grows by the length
// each round.
void measure(Run &run, Result &result, const std::vector<Variant> &variants,
             int64_t tokens, int64_t rounds, uint64_t &done, uint64_t total);

// The verbs. They return 0, or 1 if a number was refused.
int benchForward(Run &run);
int benchBackward(Run &run);
int benchDecode(Run &run);
int benchStep(Run &run);
int benchStages(Run &run);
int benchLaunch(Run &run);
int benchCold(Run &run);

} // namespace tessera::bench
