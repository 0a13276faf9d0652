// trainer/Telemetry.cpp - progress for people, JSON lines for programs.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/Telemetry.h"

#include "support/Error.h"
#include "support/File.h"

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sstream>
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

Telemetry::Telemetry(const std::string &file, int64_t keptSteps)
    : terminal(isatty(STDERR_FILENO)) {
  std::string kept;
  if (keptSteps > 0 && std::filesystem::exists(file)) {
    std::istringstream lines(readFile(file));
    for (std::string line; std::getline(lines, line);) {
      const auto json = nlohmann::json::parse(line, nullptr, false);
      if (json.is_object() && json.value("step", keptSteps + 1) <= keptSteps)
        kept += line + "\n";
    }
  }
  writeFile(file, kept);
  out.open(file, std::ios::app);
  if (!out)
    throw Error("cannot write " + file, "check the rights of the run folder");
}

void Telemetry::step(const StepRecord &r, bool logged) {
  if (logged)
    record({{"step", r.step},
            {"bpb", r.bitsPerByte},
            {"grad_norm", r.gradientNorm},
            {"lr", r.learningRate},
            {"step_ms", r.milliseconds},
            {"tokens_per_s", r.tokensPerSecond}});
  if (!terminal && !logged)
    return;
  const std::string line = fmt::format(
      "step {}/{} ({:.0f}%) | {:.4f} bits/byte | gnorm {:.3f} | lr {:.2e} | "
      "{:.0f} ms | {:.0f} tok/s | eta {}",
      r.step, r.steps, 100.0 * double(r.step) / double(r.steps), r.bitsPerByte,
      r.gradientNorm, r.learningRate, r.milliseconds, r.tokensPerSecond,
      duration(r.secondsLeft));
  fmt::print(stderr, "{}{}{}", terminal ? "\r\x1b[K" : "", line,
             terminal ? "" : "\n");
  std::fflush(stderr);
  drawn = terminal;
}

void Telemetry::record(const nlohmann::json &json) {
  out << json.dump() << std::endl;
  if (!out)
    throw Error("cannot write metrics.jsonl",
                "free some space; the run goes on from its last checkpoint");
}

void Telemetry::say(const std::string &text) {
  fmt::print(stderr, "{}{}\n", drawn ? "\n" : "", text);
  std::fflush(stderr);
  drawn = false;
}

} // namespace tessera::trainer
