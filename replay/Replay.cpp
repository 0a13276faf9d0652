// replay/Replay.cpp - runs many cases in processes that a case may crash.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "replay/Replay.h"

#include "support/Error.h"
#include "support/File.h"
#include "support/Isolated.h"
#include "support/LanguageGaps.h"
#include "support/Progress.h"

#include <atomic>
#include <csignal>
#include <optional>

namespace tessera::cases {

namespace fs = std::filesystem;

namespace {

std::string describe(const Error &error) {
  return error.hint.empty() ? error.message
                            : error.message + "\nHINT: " + error.hint;
}

// True if a message names a word, method, keyword or statement that the
// language or target lacks. The recorded kernel compiled elsewhere, so this is
// not a wrong result.
bool namesMissingWord(const std::string &message) {
  if (namesLanguageGap(message))
    return true;
  for (const char *sign : {"does not exist in kernels", "not supported"})
    if (message.find(sign) != std::string::npos)
      return true;
  return false;
}

} // namespace

void guarded(CaseReport &report, const std::function<void()> &body) {
  try {
    body();
    return;
  } catch (const UnsupportedCase &error) {
    report.status = Status::Unsupported;
    report.message = describe(error);
  } catch (const CompileError &error) {
    report.status =
        namesMissingWord(error.message) ? Status::Unsupported : Status::Error;
    report.message = error.message;
  } catch (const Error &error) {
    report.status = Status::Error;
    report.message = describe(error);
  } catch (const std::bad_alloc &) {
    report.status = Status::Error;
    report.message = "out of memory";
  } catch (const std::exception &error) {
    report.status = Status::Error;
    report.message = error.what();
  }
}

namespace {

struct Job {
  CaseReport report;
  std::optional<LoadedCase> loaded;
  std::optional<PreparedLaunch> launch; // nullopt if the case cannot run
  bool ended = false;                   // the report is complete
};

Job makeJob(const fs::path &folder, Device &device) {
  Job job;
  job.report.folder = folder.string();
  job.report.device = device.name();
  const fs::path normal = folder.lexically_normal();
  job.report.name =
      (normal.has_filename() ? normal : normal.parent_path()).filename();
  guarded(job.report, [&] {
    job.loaded = loadCase(folder);
    job.report.name = job.loaded->recorded.name;
    job.report.kernel = job.loaded->recorded.kernel;
    if (auto why = device.unsupported(job.loaded->recorded))
      throw UnsupportedCase(*why);
    job.launch =
        device.usesKernelText() ? prepareLaunch(*job.loaded) : PreparedLaunch();
  });
  return job;
}

// Runs the jobs that have a launch, as items.
class Replay : public IsolatedItems {
public:
  Replay(const std::vector<fs::path> &folders, const ReplayOptions &options,
         const std::function<void(const CaseReport &)> &report)
      : options(options), report(report),
        device(openDevice(options.device, options.deviceOptions)) {
    for (const fs::path &folder : folders)
      jobs.push_back(makeJob(folder, *device));
  }

  void run() {
    compile();
    static const std::atomic<bool> never{false};
    tell();
    runAll(never);
  }

private:
  void compile() {
    std::vector<const PreparedLaunch *> launches;
    for (const Job &job : jobs)
      if (job.launch)
        launches.push_back(&*job.launch);
    device->compile(launches);
    for (Job &job : jobs) {
      if (job.launch)
        guarded(job.report, [&] {
          device->compileOne(*job.launch, job.loaded->recorded.grid);
        });
      job.ended = !job.launch || job.report.status != Status::Ok;
    }
  }

  std::optional<size_t> next(size_t from) const override {
    for (size_t i = from; i < jobs.size(); ++i)
      if (!jobs[i].ended)
        return i;
    return std::nullopt;
  }

  // Runs the case and writes its produced tensors.
  Json run(size_t item, const Say &say) override {
    const Job &job = jobs[item];
    say({"running", {}});
    CaseReport result = job.report;
    guarded(result, [&] {
      runCase(*job.loaded, *job.launch, *device, options.serial, result);
      if (!options.out.empty())
        writeOutput(options.out / (job.loaded->folderName() + ".safetensors"),
                    writeSafetensors(result.produced));
    });
    return parseJson(reportJson(result), "report");
  }
  bool usable() const override { return device->reusable(); }

  double limit() const override { return double(options.timeout.count()); }

  void done(size_t item, Json row) override {
    end(item, reportFromJson(row.dump()));
  }

  void failed(size_t item, const Phase &, const Ended &how) override {
    CaseReport result = jobs[item].report;
    result.status = Status::Error;
    const bool crashed = how.how == Ended::How::Crashed;
    result.message = (crashed ? "the launch ended with " : "") + how.text;
    for (const int signal : {SIGSEGV, SIGBUS})
      if (crashed && how.signal == signal)
        result.message +=
            "\nHINT: the kernel used an address far outside its arguments";
    end(item, std::move(result));
  }

  void end(size_t item, CaseReport result) {
    jobs[item].report = std::move(result);
    jobs[item].ended = true;
    tell();
  }

  // Passes reports on in the order of the cases.
  void tell() {
    for (; told < jobs.size() && jobs[told].ended; ++told) {
      Job &job = jobs[told];
      progress.clear();
      report(job.report);
      // Frees the tensors of the case.
      job.loaded.reset();
      job.launch.reset();
    }
    if (told < jobs.size() && progress.due())
      progress.show("replayed " + std::to_string(told) + " of " +
                    std::to_string(jobs.size()) +
                    progress.timeLeft(told, jobs.size()));
  }

  const ReplayOptions &options;
  const std::function<void(const CaseReport &)> &report;
  const std::unique_ptr<Device> device;
  std::vector<Job> jobs;
  size_t told = 0; // number of jobs already reported
  Progress progress;
};

} // namespace

void replay(const std::vector<fs::path> &folders, const ReplayOptions &options,
            const std::function<void(const CaseReport &)> &done) {
  if (!options.out.empty()) {
    std::error_code error;
    fs::create_directories(options.out, error);
    if (error)
      throw Error("cannot make the folder " + options.out.string() + ": " +
                      error.message(),
                  "name a folder that can be written with --out");
  }
  Replay(folders, options, done).run();
}

} // namespace tessera::cases
