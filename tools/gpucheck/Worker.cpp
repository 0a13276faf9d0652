// tools/gpucheck/Worker.cpp - holds the GPU and runs case after case.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/gpucheck/GpuCheck.h"

#include "replay/packed/PackedTensors.h"
#include "runtime/device/cuda/Driver.h"
#include "runtime/device/cuda/Peaks.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Json.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <functional>
#include <map>
#include <stdexcept>
#include <unistd.h>

namespace tessera::gpucheck {

namespace fs = std::filesystem;
using cases::PackedMode;
using runtime::cuda::Driver;
using runtime::cuda::Peaks;

namespace {

void send(const Json &json) {
  const std::string line =
      json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  for (size_t done = 0; done < line.size();) {
    const ssize_t put =
        ::write(workerPipe, line.data() + done, line.size() - done);
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      ::_exit(1); // the parent is gone
    done += size_t(put);
  }
}

// "580.159.04" of "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04
// ...": the first word that begins with three digits and a dot.
std::string driverRelease() {
  const std::string text =
      tryReadFile("/proc/driver/nvidia/version").value_or("");
  for (size_t at = 0; at < text.size();) {
    const size_t begin = text.find_first_not_of(" \n", at);
    if (begin == std::string::npos)
      break;
    at = std::min(text.find_first_of(" \n", begin), text.size());
    const std::string word = text.substr(begin, at - begin);
    if (word.size() > 4 && word[3] == '.' &&
        word.find_first_not_of("0123456789.") == std::string::npos)
      return word;
  }
  return "";
}

Json describeGpu(const Peaks &peaks) {
  const Driver &driver = Driver::instance();
  return {{"gpu", driver.gpu()},
          {"compute_capability", driver.computeCapability()},
          {"driver", driver.version()},
          {"driver_release", driverRelease()},
          {"target", driver.target()},
          {"sms", driver.attribute(16)}, // ..._MULTIPROCESSOR_COUNT
          {"peaks",
           {{"bytes_per_s", peaks.bytes},
            {"half_flop_per_s", peaks.half},
            {"tf32_flop_per_s", peaks.tf32},
            {"fp32_flop_per_s", peaks.fp32}}}};
}

// A rate beside what the device can do. One above that is a fault of the
// measurement, and no figure.
void addRate(Json &row, const std::string &name, double amount, double us,
             double peak) {
  if (amount <= 0 || us <= 0)
    return;
  const double rate = amount / (us * 1e-6);
  if (peak > 0 && rate > peak) {
    row["above_peak"].push_back(name);
    return;
  }
  row[name] = rate;
  if (peak > 0)
    row[name + "_of_peak"] = rate / peak;
}

void addTimes(Json &row, const cases::PackedTimes &times,
              const cases::LoadedCase &loaded, const Peaks &peaks) {
  const auto add = [&row](const std::string &name,
                          const std::vector<double> &values) {
    row[name] = 1000 * values[values.size() / 2];
    row[name + "_least"] = 1000 * values.front();
    row[name + "_quartiles"] = {1000 * values[values.size() / 4],
                                1000 * values[values.size() * 3 / 4]};
  };
  if (times.own.empty())
    return;
  add("us", times.own);
  if (!times.peer.empty())
    add("peer_us", times.peer);
  if (!loaded.recorded.work)
    return;
  const double us = row["us"].get<double>();
  addRate(row, "bytes_per_s", loaded.recorded.work->bytes, us, peaks.bytes);
  // Products of several types take their time one after the other at best.
  double flop = 0, seconds = 0;
  for (const auto &[type, count] : loaded.recorded.work->dotFlop) {
    const double peak = peaks.of(type == "fp32" && loaded.tf32 ? "tf32" : type);
    flop += count;
    seconds += peak > 0 ? count / peak : 0;
  }
  addRate(row, "flop_per_s", flop, us, seconds > 0 ? flop / seconds : 0);
}

void guarded(cases::CaseReport &report, const std::function<void()> &body) {
  try {
    body();
  } catch (const cases::UnsupportedCase &error) {
    report.status = cases::Status::Unsupported;
    report.message = error.what();
  } catch (const std::exception &error) {
    report.status = cases::Status::Error;
    report.message = error.what();
  }
}

class Worker {
public:
  Worker(const Options &options)
      : options(options), device(options.launches),
        peaks(runtime::cuda::peaksOf(Driver::instance())) {
    send({{"gpu", describeGpu(peaks)}});
  }

  // Throws LostContext, and what the item's own errors do not hold.
  Json run(const Item &item, size_t index) {
    switch (item.kind) {
    case Kind::Check:
      return check(item, index);
    case Kind::Tune:
      return tune(item, index);
    case Kind::Time:
      return time(item, index);
    case Kind::Calibrate:
      return measureFigure(item.name, item.folder, [index](Json line) {
        tell(index, std::move(line));
      });
    case Kind::Peers:
      break;
    }
    throw std::logic_error("an item of the parent");
  }

  // What is wrong is not timed.
  bool isWrong(const Item &item) const { return wrong.contains(item.name); }
  Clock::time_point tuningEnd = Clock::time_point::max();
  size_t tuningsLeft = 0;
  std::map<size_t, std::set<size_t>> excluded; // of items

private:
  static void tell(size_t index, Json line) {
    line["item"] = index;
    send(line);
  }
  static void phase(size_t index, const char *name) {
    tell(index, {{"phase", name}});
  }

  cases::CaseReport reportOf(const Item &item) const {
    cases::CaseReport report;
    report.folder = report.name = item.name;
    report.device = device.name();
    return report;
  }

  Json check(const Item &item, size_t index) {
    phase(index, "reading");
    cases::CaseReport report = reportOf(item);
    cases::LoadedCase loaded;
    std::string target;
    std::optional<std::string> peer;
    guarded(report, [&] {
      loaded = load(item, report);
      target = cases::packedTargetHere(item.folder);
      if (const auto code = cases::readPeer(item.folder, target))
        peer = code->compiler;
      phase(index, "running");
      device.use(PackedMode::Check, false);
      cases::runCase(loaded, {}, device, false, report);
    });
    Json row = parseJson(cases::reportJson(report), "report");
    row["line"] = cases::reportLine(report);
    row["target"] = target;
    if (report.status != cases::Status::Ok) {
      wrong.insert(item.name);
      return row;
    }
    if (!peer)
      return row;
    phase(index, "running the other compiler's code");
    cases::CaseReport other = report;
    other.arguments.clear();
    guarded(other, [&] {
      device.use(PackedMode::Peer, true);
      cases::runCase(loaded, {}, device, false, other);
    });
    row["peer"] = *peer;
    row["peer_status"] = cases::statusName(other.status);
    if (other.status != cases::Status::Ok)
      row["peer_message"] = other.message;
    if (other.status == cases::Status::Error)
      withoutPeer.insert(item.name);
    return row;
  }

  static cases::LoadedCase load(const Item &item, cases::CaseReport &report) {
    cases::LoadedCase loaded = cases::loadPacked(item.folder);
    loaded.tf32 = cases::packedTf32(item.folder);
    report.kernel = loaded.recorded.kernel;
    return loaded;
  }

  Json time(const Item &item, size_t index) {
    phase(index, "timing");
    cases::CaseReport report = reportOf(item);
    cases::LoadedCase loaded;
    guarded(report, [&] {
      loaded = load(item, report);
      const std::string target = cases::packedTargetHere(item.folder);
      const bool peer = cases::readPeer(item.folder, target) &&
                        !withoutPeer.contains(item.name);
      device.use(PackedMode::Time, peer);
      cases::runCase(loaded, {}, device, false, report);
    });
    Json row = Json::object();
    if (report.status == cases::Status::Error)
      row["time_error"] = report.message;
    else
      addTimes(row, device.times(), loaded, peaks);
    return row;
  }

  // An equal part of the time that is left for tuning.
  Json tune(const Item &item, size_t index) {
    const auto now = Clock::now();
    auto deadline = Clock::time_point::max();
    if (tuningEnd != deadline)
      deadline = now + std::max(tuningEnd - now, Clock::duration::zero()) /
                           int64_t(std::max<size_t>(tuningsLeft, 1));
    const TuneTask task{item.folder, excluded[index], deadline,
                        options.launches.clearCache};
    try {
      return tuneCase(task,
                      [index](Json line) { tell(index, std::move(line)); });
    } catch (const Error &error) {
      return {{"error", error.message}};
    }
  }

  std::set<std::string> wrong, withoutPeer; // cases
  const Options &options;
  cases::PackedDevice device;
  Peaks peaks;
};

} // namespace

// "3:1" of the options: configuration 1 of item 3.
static std::map<size_t, std::set<size_t>>
excludedOf(const std::vector<std::string> &list) {
  std::map<size_t, std::set<size_t>> excluded;
  for (const std::string &text : list)
    excluded[std::stoul(text)].insert(
        std::stoul(text.substr(text.find(':') + 1)));
  return excluded;
}

// All that follows, as far as the time goes.
static void runItems(Worker &worker, const Options &options) {
  const std::vector<Item> items = itemsOf(options);
  const std::set<size_t> skip(options.skip.begin(), options.skip.end());
  const auto start = Clock::now();
  const auto after = [&](double seconds) {
    return options.budget ? start + std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(seconds))
                          : Clock::time_point::max();
  };
  const auto end = after(options.left);
  worker.tuningEnd = after(options.tuneLeft);
  worker.excluded = excludedOf(options.exclude);
  for (size_t i = size_t(options.worker); i < items.size(); ++i)
    worker.tuningsLeft += items[i].kind == Kind::Tune && !skip.contains(i);
  for (size_t i = size_t(options.worker); i < items.size(); ++i) {
    const Item &item = items[i];
    if (skip.contains(i))
      continue;
    if (item.kind == Kind::Peers)
      return; // the parent goes on, with the GPU for itself
    const auto limit = item.kind == Kind::Tune ? worker.tuningEnd : end;
    try {
      if (worker.isWrong(item))
        send({{"item", i}, {"row", {{"left_out", "its results are wrong"}}}});
      else if (Clock::now() >= limit)
        send({{"item", i}, {"late", true}});
      else
        send({{"item", i}, {"row", worker.run(item, i)}});
    } catch (const LostContext &lost) {
      send({{"item", i}, {"excluded", lost.candidate}, {"why", lost.why}});
    } catch (const Error &error) {
      send({{"item", i}, {"row", {{"error", error.message}}}});
    }
    if (item.kind == Kind::Tune)
      --worker.tuningsLeft;
    if (!Driver::instance().healthy())
      return; // the next worker has a context of its own
  }
}

int runWorker(const Options &options) {
  ::signal(SIGPIPE, SIG_IGN);
  try {
    Worker worker(options);
    runItems(worker, options);
  } catch (const runtime::cuda::NoGpu &error) {
    send({{"none", error.message}});
  } catch (const std::exception &error) {
    send({{"error", error.what()}});
  }
  // Not through the driver's own end of the process, which may hang.
  ::_exit(0);
}

int runProbe() {
  try {
    std::printf("%s\n", Driver::instance().gpu().c_str());
    return 0;
  } catch (const runtime::cuda::NoGpu &error) {
    std::printf("%s\n", error.message.c_str());
    return 2;
  }
}

} // namespace tessera::gpucheck
