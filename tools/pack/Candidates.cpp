// tools/pack/Candidates.cpp - compiles every configuration of recorded
// launches.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/pack/Candidates.h"

#include "autotune/search/Job.h"
#include "replay/gpu/GpuDevice.h"
#include "replay/packed/Packed.h"
#include "replay/packed/PackedTuning.h"
#include "runtime/compile/CompileTogether.h"
#include "support/Error.h"
#include "support/Options.h"
#include "support/StopSignals.h"
#include "support/Text.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <optional>
#include <span>

namespace tessera::tools {

namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

// Number of candidates compiled at once: enough for every worker.
constexpr size_t compiledAtOnce = 16;
// The same with a time budget, which is checked between groups.
constexpr size_t compiledInABudget = 4;

class Packer {
public:
  Packer(const CandidatesJob &wanted, const tune::Job &job,
         std::optional<Clock::time_point> deadline)
      : wanted(wanted), job(job), deadline(deadline),
        folder(wanted.out / job.loaded.folderName()) {}

  // Compiles the candidates. Throws Error if the kernel's default configuration
  // does not compile.
  cases::PackedTuning run() {
    tuning.key = job.key;
    tuning.tokens = job.launch.options.sequence;
    tuning.leftOut = job.space.leftOut;
    const std::vector<tune::Candidate> &all = job.space.candidates;
    if (all.empty())
      throw Error("no configuration to try: " +
                  (tuning.leftOut.empty() ? "the kernel does not have one"
                                          : tuning.leftOut[0].second));
    const size_t most = deadline ? compiledInABudget : compiledAtOnce;
    for (size_t first = 0; first < all.size(); first += most) {
      const size_t last = std::min(first + most, all.size());
      if (StopSignals::isSet())
        throw Error("interrupted");
      if (first > 0 && deadline && Clock::now() >= *deadline) {
        for (size_t i = first; i < all.size(); ++i)
          tuning.leftOut.emplace_back(all[i].use,
                                      "no time was left to compile");
        break;
      }
      runtime::compileTogether(
          std::span(all).subspan(first, last - first),
          [&](const tune::Candidate &one) { return requestOf(one); });
      for (size_t i = first; i < last; ++i)
        add(all[i]);
    }
    return std::move(tuning);
  }

private:
  language::CompileRequest requestOf(const tune::Candidate &candidate) const {
    return cases::gpuRequest(job.with(candidate), wanted.target,
                             candidate.grid);
  }

  void add(const tune::Candidate &candidate) {
    try {
      const auto compiled =
          runtime::CompileService::instance().get(requestOf(candidate));
      tuning.candidates.push_back(
          {candidate.use, candidate.grid,
           cases::packCode(folder, *compiled, wanted.withPtx)});
    } catch (const Error &error) {
      const std::string why = "does not compile: " + firstLine(error.message);
      if (tuning.candidates.empty())
        throw Error("the kernel's default configuration " + why);
      tuning.leftOut.emplace_back(candidate.use, why);
    }
  }

  const CandidatesJob &wanted;
  const tune::Job &job;
  const std::optional<Clock::time_point> deadline;
  const fs::path folder;
  cases::PackedTuning tuning;
};

} // namespace

size_t packCandidates(const CandidatesJob &wanted,
                      const std::function<void(const std::string &)> &say) {
  tune::JobList list =
      tune::loadJobs(wanted.cases, wanted.kernels, "sim:" + wanted.target);
  // Limits compilation so that one kernel cannot use the time of all others.
  if (!std::getenv(optionInfo(Option::CompileTimeout).name))
    ::setenv(optionInfo(Option::CompileTimeout).name, "60", 1);
  const Clock::time_point end = Clock::now() + wanted.budget;
  size_t failed = list.refused.size(), done = 0;
  for (const std::string &why : list.refused)
    say("not to be tuned: " + why);
  for (const tune::Job &job : list.jobs) {
    if (StopSignals::isSet())
      break;
    const std::string name = job.loaded.folderName();
    std::optional<Clock::time_point> deadline;
    if (wanted.budget.count()) {
      const Clock::time_point now = Clock::now();
      deadline = now + std::max(end - now, Clock::duration::zero()) /
                           int64_t(list.jobs.size() - done);
    }
    const std::string start = fmt::format(
        "[{} of {}] {:<32} {}", ++done, list.jobs.size(), name, wanted.target);
    // Compiles as the launch itself was packed: its code is the first
    // candidate.
    const fs::path folder = wanted.out / name;
    const bool tf32 = cases::packedTf32(folder);
    ::setenv(optionInfo(Option::F32Default).name,
             tf32 ? "tf32" : job.launch.f32Default.c_str(), 1);
    try {
      const cases::PackedTuning tuning = Packer(wanted, job, deadline).run();
      cases::packTuning(folder, wanted.target, tuning);
      say(fmt::format("{}, {} configurations, {} left out", start,
                      tuning.candidates.size(), tuning.leftOut.size()));
    } catch (const Error &error) {
      say(start + " cannot be tuned: " + error.message);
      ++failed;
    }
  }
  return failed;
}

} // namespace tessera::tools
