// tools/gpucheck/Worker.cpp - holds the GPU and runs case after case.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/gpucheck/GpuCheck.h"

#include "runtime/cases/PackedTensors.h"
#include "runtime/device/cuda/Driver.h"
#include "runtime/device/cuda/Peaks.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Json.h"
#include "support/Process.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <functional>
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

  Json runCase(const fs::path &folder, size_t index) {
    const auto phase = [index](const char *name) {
      send({{"case", index}, {"phase", name}});
    };
    phase("reading");
    cases::CaseReport report;
    report.folder = folder.filename().string();
    report.device = device.name();
    report.name = report.folder;
    cases::LoadedCase loaded;
    std::string target;
    std::optional<std::string> peer;
    guarded(report, [&] {
      loaded = cases::loadPacked(folder);
      loaded.tf32 = cases::packedTf32(folder);
      report.kernel = loaded.recorded.kernel;
      target = cases::packedTargetHere(folder);
      if (const auto code = cases::readPeer(folder, target))
        peer = code->compiler;
      phase("running");
      device.use(PackedMode::Check, false);
      cases::runCase(loaded, {}, device, false, report);
    });
    Json row = parseJson(cases::reportJson(report), "report");
    row["line"] = cases::reportLine(report);
    row["target"] = target;
    if (report.status != cases::Status::Ok)
      return row;
    bool peerRuns = false;
    if (peer) {
      phase("running the other compiler's code");
      cases::CaseReport other = report;
      other.arguments.clear();
      guarded(other, [&] {
        device.use(PackedMode::Peer, true);
        cases::runCase(loaded, {}, device, false, other);
      });
      peerRuns = other.status != cases::Status::Error;
      row["peer"] = *peer;
      row["peer_status"] = cases::statusName(other.status);
      if (other.status != cases::Status::Ok)
        row["peer_message"] = other.message;
    }
    if (options.launches.timed && Driver::instance().healthy()) {
      phase("timing");
      cases::CaseReport timed = report;
      guarded(timed, [&] {
        device.use(PackedMode::Time, peerRuns);
        cases::runCase(loaded, {}, device, false, timed);
      });
      if (timed.status == cases::Status::Error)
        row["time_error"] = timed.message;
      else
        addTimes(row, device.times(), loaded, peaks);
    }
    return row;
  }

private:
  const Options &options;
  cases::PackedDevice device;
  Peaks peaks;
};

} // namespace

int runWorker(const Options &options) {
  ::signal(SIGPIPE, SIG_IGN);
  const std::vector<fs::path> folders = casesOf(options);
  try {
    Worker worker(options);
    for (size_t i = size_t(options.worker); i < folders.size(); ++i) {
      send({{"row", worker.runCase(folders[i], i)}});
      if (!Driver::instance().healthy())
        ::_exit(0); // the next worker has a context of its own
    }
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
