// tools/gpucheck/Parent.cpp - watches over the worker, collects the results.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/gpucheck/GpuCheck.h"

#include "support/Error.h"
#include "support/File.h"
#include "support/Json.h"
#include "support/Names.h"
#include "support/Process.h"

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <unistd.h>

namespace tessera::gpucheck {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace {

// The worker's lines.
class Lines {
public:
  explicit Lines(int fd) : fd(fd) {}

  enum class End { Line, Closed, TimeOut };
  End next(std::string &line, std::chrono::seconds limit) {
    const auto end = Clock::now() + limit;
    while (true) {
      const size_t at = kept.find('\n');
      if (at != std::string::npos) {
        line = kept.substr(0, at);
        kept.erase(0, at + 1);
        return End::Line;
      }
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
      : options(options), folders(casesOf(options)) {}

  int run() {
    while (rows.size() < folders.size()) {
      const size_t before = rows.size();
      if (const std::optional<int> code = oneWorker())
        return *code;
      // A worker that brings nothing new twice: the GPU is gone.
      idle = rows.size() == before ? idle + 1 : 0;
      if (idle == 2)
        throw Error("the GPU does not answer any more",
                    "look at it with nvidia-smi, and run the rest with --only");
    }
    return finish();
  }

private:
  // The exit code when there is nothing to run on.
  std::optional<int> oneWorker() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      throw Error("cannot make a pipe: " + errnoText(errno),
                  "close other programs");
    UniqueFd readEnd(ends[0]), writeEnd(ends[1]);
    SpawnOptions spawn;
    spawn.arguments = {executablePath().string(),
                       options.folder,
                       "--worker",
                       std::to_string(rows.size()),
                       "--repeat",
                       std::to_string(options.launches.timed),
                       "--again",
                       std::to_string(options.launches.repeated)};
    if (!options.only.empty())
      spawn.arguments.insert(spawn.arguments.end(), {"--only", options.only});
    if (!options.launches.clearCache)
      spawn.arguments.push_back("--warm-cache");
    spawn.descriptors = {{workerPipe, writeEnd.get()}};
    Process worker = Process::spawn(spawn);
    writeEnd.reset();
    Lines lines(readEnd.get());
    std::string line, phase = "opening the GPU";
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
        if (json.contains("gpu"))
          opened(json["gpu"]);
        else if (json.contains("phase"))
          phase = json["phase"].get<std::string>();
        else if (json.contains("row"))
          add(json["row"]);
        continue;
      }
      std::string why;
      if (end == Lines::End::TimeOut) {
        worker.killGroup();
        why = "no end after " + std::to_string(options.seconds) + " s of " +
              phase;
      } else if (const ExitStatus how = worker.wait(); !how.ok()) {
        why = "the process ended with " + how.text() + " while " + phase;
      } else {
        return std::nullopt; // a case spoiled its context, or all are done
      }
      if (gpu.is_null())
        throw Error("the driver does not start: " + why,
                    "look at the GPU with nvidia-smi");
      if (phase == "opening the GPU")
        return std::nullopt;
      failed(why);
      return std::nullopt;
    }
  }

  void opened(const Json &json) {
    if (!gpu.is_null())
      return;
    gpu = json;
    std::printf("%s, compute capability %d.%d, driver for CUDA %d.%d\n",
                gpu["gpu"].get<std::string>().c_str(),
                gpu["compute_capability"].get<int>() / 10,
                gpu["compute_capability"].get<int>() % 10,
                gpu["driver"].get<int>() / 1000,
                gpu["driver"].get<int>() % 1000 / 10);
    std::fflush(stdout);
  }

  void add(Json row) {
    std::string line = row["line"].get<std::string>();
    row.erase("line");
    if (row.contains("us")) {
      char text[80];
      std::snprintf(text, sizeof text, "  %.1f us", row["us"].get<double>());
      line += text;
    }
    if (row.contains("peer_us")) {
      const double ratio =
          row["us"].get<double>() / row["peer_us"].get<double>();
      char text[80];
      std::snprintf(text, sizeof text, ", %.2f x of %s's", ratio,
                    row["peer"].get<std::string>().c_str());
      line += text;
      logs += std::log(ratio);
      ++compared;
    }
    std::printf("[%zu of %zu, about %.0f s left] %s\n", rows.size() + 1,
                folders.size(), secondsLeft(), line.c_str());
    std::fflush(stdout);
    good += row["status"] == "ok";
    rows.push_back(std::move(row));
  }

  double secondsLeft() const {
    const double passed =
        std::chrono::duration<double>(Clock::now() - start).count();
    return passed / double(rows.size() + 1) *
           double(folders.size() - rows.size() - 1);
  }

  // The case that the worker was at.
  void failed(const std::string &why) {
    cases::CaseReport report;
    report.folder = folders[rows.size()].filename().string();
    report.name = report.folder;
    report.device = "cuda";
    report.status = cases::Status::Error;
    report.message = why;
    Json row = parseJson(cases::reportJson(report), "report");
    row["line"] = cases::reportLine(report);
    add(std::move(row));
  }

  int finish() const {
    std::printf("%zu of %zu cases are ok\n", good, folders.size());
    Json result = gpu;
    result["date"] = utcDate();
    result["launches_timed"] = options.launches.timed;
    result["cleared_cache"] = options.launches.clearCache;
    result["ok"] = good;
    if (compared) {
      result["peer_ratio"] = std::exp(logs / double(compared));
      std::printf("geometric mean of %zu times: %.3f x the other compiler's\n",
                  compared, result["peer_ratio"].get<double>());
    }
    if (const auto pack = tryReadFile(fs::path(options.folder) / "pack.json"))
      result["pack"] = parseJson(*pack, "pack.json");
    result["cases"] = rows;
    if (!options.json.empty())
      writeOutput(options.json, result.dump(1) + "\n");
    return good == folders.size() ? 0 : 1;
  }

  static std::string utcDate() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text;
  }

  const Options &options;
  const std::vector<fs::path> folders;
  const Clock::time_point start = Clock::now();
  Json gpu;
  std::vector<Json> rows;
  size_t good = 0, compared = 0, idle = 0;
  double logs = 0; // of our times over the peer's
};

} // namespace

std::vector<fs::path> casesOf(const Options &options) {
  std::vector<fs::path> folders;
  for (const fs::path &folder : cases::findCases(options.folder))
    if (fs::absolute(folder).lexically_normal().filename().string().find(
            options.only) != std::string::npos)
      folders.push_back(folder);
  if (folders.empty())
    throw Error("no case in " + options.folder + " has `" + options.only +
                    "` in its name",
                "leave out --only");
  for (const fs::path &folder : folders)
    if (cases::packedTargets(folder).empty())
      throw Error(folder.string() + " has no gpu.json, so no code",
                  "make it with tessera pack-cases");
  return folders;
}

int runParent(const Options &options) { return Parent(options).run(); }

} // namespace tessera::gpucheck
