// tools/gpucheck/Parent.cpp - watches over the worker, collects the results.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/gpucheck/Results.h"

#include "support/Error.h"
#include "support/Names.h"
#include "support/Process.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <unistd.h>

namespace tessera::gpucheck {

namespace {

std::atomic<bool> interrupted{false};

// The first signal ends the run in good order, the second the process.
void onInterrupt(int signal) {
  if (interrupted.exchange(true))
    ::signal(signal, SIG_DFL);
}

void watchInterrupts() {
  struct sigaction action = {};
  action.sa_handler = onInterrupt;
  for (const int signal : {SIGINT, SIGTERM})
    ::sigaction(signal, &action, nullptr);
}

// Of the time of all, kept for what follows tuning: figures and peers take
// about as long on every GPU, times a part of a second for each case.
constexpr double afterTuning = 60, secondsOfTime = 0.3, mostOfBudget = 0.5;
constexpr double peersSeconds = 60;

// The worker's lines.
class Lines {
public:
  explicit Lines(int fd) : fd(fd) {}

  enum class End { Line, Closed, TimeOut, Interrupted };
  End next(std::string &line, std::chrono::seconds limit) {
    const auto end = Clock::now() + limit;
    while (true) {
      const size_t at = kept.find('\n');
      if (at != std::string::npos) {
        line = kept.substr(0, at);
        kept.erase(0, at + 1);
        return End::Line;
      }
      if (interrupted)
        return End::Interrupted;
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
      if (left.count() <= 0)
        return End::TimeOut;
      pollfd wanted{fd, POLLIN, 0};
      const int ready =
          ::poll(&wanted, 1, int(std::min<int64_t>(left.count(), 60'000)));
      if (ready < 0 && errno != EINTR)
        return End::Closed;
      if (ready <= 0)
        continue;
      char buffer[1 << 14];
      const ssize_t got = ::read(fd, buffer, sizeof buffer);
      if (got < 0 && errno == EINTR)
        continue;
      if (got <= 0)
        return End::Closed;
      kept.append(buffer, size_t(got));
    }
  }

private:
  int fd;
  std::string kept;
};

class Parent {
public:
  explicit Parent(const Options &options)
      : options(options), results(options, itemsOf(options)) {
    if (options.resume)
      results.resume();
  }

  int run() {
    watchInterrupts();
    size_t idle = 0;
    while (const auto next = results.next()) {
      if (interrupted)
        break;
      const size_t before = settled;
      if (results.items()[*next].kind == Kind::Peers)
        peers(*next);
      else if (const std::optional<int> code = oneWorker(*next))
        return *code;
      // A worker that brings nothing new twice: the GPU is gone.
      idle = settled == before ? idle + 1 : 0;
      if (idle == 2)
        throw Error("the GPU does not answer any more",
                    "look at it with nvidia-smi, and go on with --resume");
    }
    return results.finish(interrupted);
  }

private:
  double left() const {
    return options.budget -
           std::chrono::duration<double>(Clock::now() - start).count();
  }

  // For tuning: what follows it keeps its part.
  double tuneLeft() const {
    double kept = 0, others = 0;
    for (size_t i = 0; i < results.items().size(); ++i) {
      const Kind kind = results.items()[i].kind;
      if (results.done(i))
        continue;
      if (kind == Kind::Time)
        kept += secondsOfTime;
      else if (kind == Kind::Peers || kind == Kind::Calibrate)
        others = afterTuning;
    }
    kept += others;
    return left() - std::min(kept, mostOfBudget * options.budget);
  }

  void peers(size_t item) {
    ++settled;
    const double seconds =
        options.budget ? std::min(left(), peersSeconds) : peersSeconds;
    if (seconds < 1)
      return results.tooLate(item);
    results.add(item, runPeers(options, seconds));
  }

  SpawnOptions commandOf(size_t first) const {
    SpawnOptions spawn;
    spawn.arguments = {executablePath().string(),
                       options.folder,
                       "--worker",
                       std::to_string(first),
                       "--repeat",
                       std::to_string(options.launches.timed),
                       "--again",
                       std::to_string(options.launches.repeated),
                       "--budget",
                       std::to_string(options.budget),
                       "--left",
                       std::to_string(left()),
                       "--tune-left",
                       std::to_string(tuneLeft())};
    const auto add = [&](const char *name, const std::string &value) {
      spawn.arguments.insert(spawn.arguments.end(), {name, value});
    };
    for (const std::string &phase : options.phases)
      add("--phases", phase);
    for (size_t i = first; i < results.items().size(); ++i)
      if (results.done(i))
        add("--skip", std::to_string(i));
    for (const std::string &text : results.excluded())
      add("--exclude", text);
    if (!options.only.empty())
      add("--only", options.only);
    if (!options.launches.clearCache)
      spawn.arguments.push_back("--warm-cache");
    return spawn;
  }

  // The exit code when there is nothing to run on.
  std::optional<int> oneWorker(size_t first) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      throw Error("cannot make a pipe: " + errnoText(errno),
                  "close other programs");
    UniqueFd readEnd(ends[0]), writeEnd(ends[1]);
    SpawnOptions spawn = commandOf(first);
    spawn.descriptors = {{workerPipe, writeEnd.get()}};
    Process worker = Process::spawn(spawn);
    writeEnd.reset();
    Lines lines(readEnd.get());
    current = first;
    candidate = std::nullopt;
    phase = opening;
    bool answered = false;
    std::string line;
    while (true) {
      const Lines::End end =
          lines.next(line, std::chrono::seconds(options.seconds));
      if (end == Lines::End::Line) {
        const Json json = parseJson(line, "line of the worker");
        if (json.contains("none")) {
          std::printf("%s\nnothing was run\n",
                      json["none"].get<std::string>().c_str());
          return 0;
        }
        if (json.contains("error"))
          throw Error(json["error"].get<std::string>());
        if (json.contains("gpu")) {
          results.opened(json["gpu"]);
          answered = true;
        } else {
          take(json);
        }
        continue;
      }
      if (end == Lines::End::Interrupted) {
        worker.killGroup();
        return std::nullopt;
      }
      std::string why;
      if (end == Lines::End::TimeOut) {
        worker.killGroup();
        why = "no end after " + std::to_string(options.seconds) + " s of " +
              phase;
      } else if (const ExitStatus how = worker.wait(); !how.ok()) {
        why = "the process ended with " + how.text() + " while " + phase;
      } else {
        return std::nullopt; // an item spoiled its context, or all are done
      }
      if (!results.isOpen() || (!answered && phase == opening))
        throw Error("the driver does not start: " + why,
                    "look at the GPU with nvidia-smi");
      if (phase != opening)
        blame(why);
      return std::nullopt;
    }
  }

  void take(const Json &json) {
    const size_t item = json.at("item").get<size_t>();
    if (json.contains("phase")) {
      current = item;
      phase = json["phase"].get<std::string>();
      candidate = std::nullopt;
      if (json.contains("candidate"))
        candidate = json["candidate"].get<size_t>();
      return;
    }
    ++settled;
    phase = opening; // of what comes next, nothing is known
    if (json.contains("row"))
      results.add(item, json["row"]);
    else if (json.contains("excluded"))
      results.exclude(item, json["excluded"].get<size_t>(),
                      json["why"].get<std::string>());
    else
      results.tooLate(item);
  }

  // The item that the worker was at, or its configuration.
  void blame(const std::string &why) {
    ++settled;
    if (candidate)
      results.exclude(current, *candidate, why);
    else
      results.fail(current, why);
  }

  static constexpr const char *opening = "opening the GPU";

  const Options &options;
  const Clock::time_point start = Clock::now();
  Results results;
  size_t settled = 0; // rows, configurations left out, items that are late
  size_t current = 0;
  std::optional<size_t> candidate;
  std::string phase;
};

} // namespace

int runParent(const Options &options) { return Parent(options).run(); }

} // namespace tessera::gpucheck
