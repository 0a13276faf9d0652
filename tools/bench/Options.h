// tools/bench/Options.h - what every verb of `tessera bench` is given.
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
  std::string verb, command; // the command line, for the file
  std::string config;
  std::vector<std::string> settings;
  std::string device = "cpu", gpu; // gpu: of predicted times
  std::vector<int64_t> lengths;
  int64_t rounds = 0; // 0: the verb's own
  std::string out;
  int64_t timeout = 600; // seconds of a measurement on a GPU
  // Of a process that may break (Isolated.h): is told what is measured, "" at
  // the end of that; and why earlier processes broke, by what they measured.
  std::function<void(const std::string &)> measuring;
  std::map<std::string, std::string> broken;
};

// A verb under way.
class Run {
public:
  // Throws Error for a config, a device or a GPU that there is not.
  explicit Run(const Options &options);

  const Options &options() const { return given; }
  const trainer::Config &config() const { return settings; }
  const BenchDevice &device() const { return where; }
  bool counts() const { return where.kind == BenchDevice::Kind::Sim; }
  // Where tensors lie; counters are of launches recorded on the CPU.
  c10::Device tensors() const { return place; }
  c10::ScalarType precision() const;
  std::vector<int64_t> lengths(std::vector<int64_t> otherwise) const;
  int64_t rounds(int64_t otherwise) const;
  double peak() const; // FLOP a second; 0: not known
  // Of launches: for verbs that count, and for stages. Made before the first.
  LaunchRecording &recording() const { return *recorded; }
  // The GPU of predicted times, where counters are taken.
  const tune::GpuData &gpu() const { return *predicted; }
  // The file's beginning: machine, command, geometry. `what`: a sentence.
  Json head(const std::string &what) const;
  // The member of rows that is printed, and its unit.
  std::string counted() const;
  std::string unit() const;

  // Whether Ctrl-C was pressed.
  bool interrupted() const;
  // Notes that a measurement begins, or with "" that none is being made.
  void measuring(const std::string &what) const {
    if (given.measuring)
      given.measuring(what);
  }
  // Why the measurement broke an earlier process; empty: it did not.
  std::string brokenBy(const std::string &what) const {
    const auto found = given.broken.find(what);
    return found == given.broken.end() ? "" : found->second;
  }
  // A line of progress with the time that is left, where one is due.
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

// Something to be timed or counted.
struct Variant {
  std::string name;
  std::function<void()> run;
  double flop = 0; // Row::flop
  Json more = Json::object();
  // Its kernels are: there is something to count. One of others that cannot
  // run here is a row that says why.
  bool ours = true;
};

// Rows of the variants at one length: times of `rounds` rounds in turns, after
// one that does not count, or counters of the launches of one. `done` of
// `total` is for the time that is left, and grows by the length each round.
void measure(Run &run, Result &result, const std::vector<Variant> &variants,
             int64_t tokens, int64_t rounds, uint64_t &done, uint64_t total);

// The verbs. 0, or 1 where a figure was refused.
int benchForward(Run &run);
int benchBackward(Run &run);
int benchDecode(Run &run);
int benchStep(Run &run);
int benchStages(Run &run);
int benchLaunch(Run &run);
int benchCold(Run &run);

} // namespace tessera::bench
