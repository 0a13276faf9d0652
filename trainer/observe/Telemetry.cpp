// trainer/observe/Telemetry.cpp - formats the progress line, appends JSON
// lines, and survives full disks.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/observe/Telemetry.h"

#include "support/Error.h"
#include "support/Quantities.h"
#include "support/ShallowJson.h"
#include "support/Sync.h"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <sys/resource.h>
#include <unistd.h>

namespace tessera::trainer {

std::string duration(double seconds) {
  const int64_t s = std::max<int64_t>(0, std::llround(seconds));
  if (s >= 3600)
    return fmt::format("{}h{:02}m", s / 3600, s / 60 % 60);
  if (s >= 60)
    return fmt::format("{}m{:02}s", s / 60, s % 60);
  return fmt::format("{}s", s);
}

std::string isoTime(double seconds) {
  const std::time_t whole = std::time_t(seconds);
  std::tm parts = {};
  gmtime_r(&whole, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

ProcessMemory processMemory() {
  ProcessMemory memory;
  std::ifstream in("/proc/self/statm");
  int64_t pages = 0, resident = 0;
  if (in >> pages >> resident)
    memory.now = resident * sysconf(_SC_PAGE_SIZE);
  rusage usage = {};
  if (getrusage(RUSAGE_SELF, &usage) == 0)
    // The system updates ru_maxrss less often than the number of pages.
    memory.most = std::max(memory.now, int64_t(usage.ru_maxrss) * 1024);
  return memory;
}

void writeLog(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
  std::clearerr(stderr);
}

void logLine(const std::string &text) { writeLog(text + "\n"); }

Telemetry::Telemetry(const std::string &file, int64_t keptSteps)
    : terminal(isatty(STDERR_FILENO)), file(file) {
  if (file.empty())
    return;
  std::string kept;
  if (keptSteps > 0 && std::filesystem::exists(file)) {
    std::istringstream lines(readFile(file));
    for (std::string line; std::getline(lines, line);) {
      const auto json = parseShallowJson(line);
      if (json.is_object() && json.value("step", keptSteps + 1) <= keptSteps)
        kept += line + "\n";
    }
  }
  writeFile(file, kept);
  out.reset(::open(file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!out)
    throw Error("cannot write " + file + ": " + errnoText(errno),
                "check the rights of the run folder");
  events.emplace((std::filesystem::path(file).parent_path() / "tb").string(),
                 keptSteps + 1);
}

void Telemetry::step(const StepRecord &r, bool logged) {
  if (file.empty())
    return;
  const ProcessMemory memory = processMemory();
  if (logged) {
    nlohmann::json json = {{"step", r.step},
                           {r.unit.key, r.bits},
                           {"grad_norm", r.gradientNorm},
                           {"lr", r.learningRate},
                           {"step_ms", r.milliseconds},
                           {"tokens_per_s", r.tokensPerSecond},
                           {"memory_bytes", memory.now},
                           {"memory_most_bytes", memory.most}};
    if (r.utilization > 0)
      json["mfu"] = r.utilization;
    for (size_t i = 0; i < stageNames.size(); ++i)
      json["stages_ms"][stageNames[i]] = 1e3 * r.stages.seconds()[i];
    for (const auto &[name, value] : r.statistics)
      json[name] = value;
    if (r.buckets > 0) {
      json["buckets"] = r.buckets;
      json["buckets_beside"] = r.bucketsBeside;
    }
    record(json);
  }
  if (!terminal && !logged)
    return;
  const std::string line = fmt::format(
      "step {}/{} ({:.0f}%) | {:.4f} {} | gnorm {:.3f} | lr {:.2e} | "
      "{:.0f} ms | {:.0f} tok/s | {}{} | eta {}",
      r.step, r.steps, 100.0 * double(r.step) / double(r.steps), r.bits,
      r.unit.name, r.gradientNorm, r.learningRate, r.milliseconds,
      r.tokensPerSecond,
      r.utilization > 0 ? fmt::format("MFU {:.1f}% | ", 100 * r.utilization)
                        : "",
      bytesText(uint64_t(memory.now)), duration(r.secondsLeft));
  writeLog(terminal ? "\r\x1b[K" + line : line + "\n");
  drawn = terminal;
}

void Telemetry::record(const nlohmann::json &json) {
  if (file.empty())
    return;
  // Limits the memory for unwritten records while the disk is full.
  constexpr size_t most = size_t(64) << 20;
  if (unwritten.size() < most)
    // A sample of a byte-level model may not be valid UTF-8.
    unwritten +=
        json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
        "\n";
  std::string_view left = unwritten;
  const bool written = writeAll(out.get(), left);
  const int error = errno;
  unwritten.erase(0, unwritten.size() - left.size());
  if (written && failing)
    say(file + " is written again");
  else if (!written && !failing)
    say("WARNING: cannot write " + file + ": " + errnoText(error) +
        "; training continues, and what is missing will be written when that "
        "works again");
  failing = !written;
  addEvents(json);
}

void Telemetry::addEvents(const nlohmann::json &json) {
  EventFile::Scalars scalars;
  const auto add = [&](std::string tag, const nlohmann::json &value) {
    if (value.is_number())
      scalars.emplace_back(std::move(tag), value.get<double>());
  };
  for (const auto &[key, value] : json.items()) {
    const bool held = key.starts_with("val_");
    const std::string tag = held ? "val/" + key.substr(4) : "train/" + key;
    add(tag, value);
    if (value.is_object())
      for (const auto &[inner, number] : value.items())
        add(tag + "/" + inner, number);
  }
  std::erase_if(scalars, [](const auto &s) { return s.first == "train/step"; });
  const bool written =
      scalars.empty() || events->add(json.value("step", int64_t(0)), scalars);
  if (!written && !eventsFailing)
    say("WARNING: cannot write TensorBoard's events next to " + file + ": " +
        errnoText(errno) + "; training continues, metrics.jsonl has the same");
  eventsFailing = !written;
}

void Telemetry::say(const std::string &text) {
  if (file.empty())
    return;
  writeLog(fmt::format("{}{}\n", drawn ? "\n" : "", text));
  drawn = false;
}

} // namespace tessera::trainer
