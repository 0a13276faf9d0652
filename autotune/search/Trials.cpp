// autotune/search/Trials.cpp - compiles, checks and times the candidates of one
// launch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/Trials.h"

#include "autotune/search/Contest.h"
#include "autotune/search/CorrectnessCheck.h"
#include "autotune/table/TuneTable.h"
#include "runtime/compile/CompileTogether.h"
#include "runtime/launch/LaunchDevice.h"
#include "support/BuildId.h"
#include "support/Error.h"
#include "support/Hash.h"
#include "support/Isolated.h"
#include "support/Options.h"
#include "support/Text.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <thread>

namespace tessera::tune {

using cases::CaseArgument;

namespace {

// Returns the inputs, other than code, that the time of a launch depends on.
std::string inputsOf(const Job &job, const Grid &grid) {
  std::string text;
  const auto add = [&](int64_t number) {
    text += std::to_string(number) + " ";
  };
  for (uint32_t size : grid)
    add(size);
  for (const CaseArgument &argument : job.loaded.recorded.arguments) {
    text += argument.name + ":" + argument.dtype + " ";
    for (int64_t size : argument.layout.shape)
      add(size);
    text += "by ";
    for (int64_t stride : argument.layout.strides)
      add(stride);
    text += argument.text + ";";
  }
  return text;
}

std::string timesKeyOf(const Job &job, const Trial &trial) {
  const auto request = trial.launch.kernel->compileRequest(
      trial.launch.args, trial.launch.constexprs, trial.launch.options);
  return sha256Hex(request.key() + "\n" + compilerBuildId() + "\n" +
                   inputsOf(job, trial.candidate.grid) + "\n" +
                   optionText(Option::Threads) + " of " +
                   std::to_string(std::thread::hardware_concurrency()))
      .substr(0, 32);
}

} // namespace

Trials::Trials(const Job &job, const std::atomic<bool> &interrupted,
               std::function<void(const std::string &)> progress)
    : job(job), stop(interrupted), progress(std::move(progress)) {
  for (const Candidate &candidate : job.space.candidates) {
    Trial trial;
    trial.candidate = candidate;
    trial.launch = job.with(candidate);
    try {
      trial.timesKey = timesKeyOf(job, trial);
    } catch (const Error &error) {
      exclude(trial, firstLine(error.message));
    }
    all.push_back(std::move(trial));
  }
}

void Trials::exclude(Trial &trial, const std::string &why) {
  trial.state = Trial::State::Excluded;
  trial.problem = why;
}

void Trials::recall(const Times &times) {
  for (Trial &trial : all) {
    const KnownTime *known = times.find(trial.timesKey);
    if (!known || trial.state == Trial::State::Excluded)
      continue;
    if (known->problem.empty() && known->seconds.spread > Contest::mostSpread)
      continue; // measured again
    trial.known = true;
    if (!known->problem.empty()) {
      exclude(trial, known->problem);
      continue;
    }
    trial.state = Trial::State::Right;
    trial.sample = known->seconds;
    trial.samples = known->samples;
    trial.guess = known->seconds.median;
  }
}

void Trials::note(Times &times) const {
  for (const Trial &trial : all) {
    if (trial.known || trial.timesKey.empty())
      continue;
    // A failing default configuration is a bug to fix; it is not recorded.
    if (&trial == &all[0] && trial.state == Trial::State::Excluded)
      continue;
    if (trial.state != Trial::State::Excluded && !trial.timed())
      continue;
    KnownTime known;
    known.what =
        job.kernel->info.signature.kernel + " " + describe(trial.candidate.use);
    known.setCandidate(job.key, trial.candidate.use, &trial == &all[0]);
    known.problem = trial.problem;
    known.seconds = trial.sample;
    known.samples = trial.samples;
    times.set(trial.timesKey, std::move(known));
  }
}

void Trials::compile(Clock::time_point deadline) {
  const size_t piece =
      2 * std::max<size_t>(
              1, runtime::CompileService::environmentSettings().workers);
  std::vector<Trial *> waiting;
  for (Trial &trial : all)
    if (trial.state == Trial::State::Waiting)
      waiting.push_back(&trial);
  // Checks compare with a launch of the default configuration.
  if (!waiting.empty() && all[0].known && all[0].state == Trial::State::Right)
    all[0].launch.kernel->prepare(all[0].launch.args, all[0].launch.constexprs,
                                  all[0].launch.options);
  for (size_t first = 0; first < waiting.size(); first += piece) {
    // Compiles the default configuration's batch even after the deadline.
    if (stop || (first > 0 && Clock::now() >= deadline))
      return;
    const size_t last = std::min(first + piece, waiting.size());
    progress("compiling " + std::to_string(last) + " of " +
             std::to_string(waiting.size()));
    runtime::compileTogether(std::span(waiting).subspan(first, last - first),
                             [](const Trial *trial) {
                               return trial->launch.kernel->compileRequest(
                                   trial->launch.args, trial->launch.constexprs,
                                   trial->launch.options);
                             });
    for (size_t i = first; i < last; ++i)
      try {
        const cases::PreparedLaunch &launch = waiting[i]->launch;
        launch.kernel->prepare(launch.args, launch.constexprs, launch.options);
        waiting[i]->state = Trial::State::Compiled;
      } catch (const Error &error) {
        exclude(*waiting[i], "does not compile: " + firstLine(error.message));
      }
  }
}

bool Trials::endedWell(const Ended &ended, Trial &current) {
  if (ended.how == Ended::How::Done || ended.how == Ended::How::Interrupted)
    return true;
  exclude(current, ended.how == Ended::How::Crashed ? "crashes: " + ended.text
                                                    : ended.text);
  return false;
}

double Trials::limitOf(const Trial &trial) const {
  const double own = all[0].guess;
  if (&trial == &all[0] || own <= 0)
    return firstLimit;
  return std::clamp(slowestFactor * own, leastLimit, firstLimit);
}

bool Trials::checkSome(const std::vector<size_t> &which,
                       Clock::time_point deadline) {
  size_t current = 0;
  const auto body = [&](const Report &report) {
    const auto device =
        cases::openDevice(job.launch.options.device.get()->name, {});
    report({{"begin", 0}});
    const Grid &grid = all[0].candidate.grid;
    const Verdict own = checkResults(job.loaded, all[0].launch, grid, *device);
    report({{"checked", 0}, {"seconds", own.seconds}, {"why", own.problem}});
    if (!own.problem.empty())
      return;
    const auto changed =
        withoutOldResults(job.loaded, all[0].launch, grid, *device);
    for (size_t i : which) {
      if (i == 0)
        continue;
      if (Clock::now() >= deadline)
        return;
      report({{"begin", i}});
      Verdict verdict;
      try {
        verdict = checkResults(changed ? *changed : job.loaded, all[i].launch,
                               all[i].candidate.grid, *device);
      } catch (const Error &error) {
        verdict.problem = error.message;
      }
      report({{"checked", i},
              {"seconds", verdict.seconds},
              {"why", firstLine(verdict.problem)}});
    }
  };
  const auto event = [&](const Json &object) {
    if (object.contains("begin")) {
      current = object["begin"].get<size_t>();
      progress("checking " + describe(all[current].candidate.use));
      return;
    }
    Trial &trial = all[object["checked"].get<size_t>()];
    const auto why = object["why"].get<std::string>();
    if (!why.empty())
      return exclude(trial, why);
    if (trial.state == Trial::State::Compiled)
      trial.state = Trial::State::Right;
    trial.guess = object["seconds"].get<double>();
  };
  const Ended ended =
      runIsolated(body, event, [&] { return limitOf(all[current]); }, stop);
  return endedWell(ended, all[current]);
}

std::vector<size_t> Trials::compiledOnes() const {
  std::vector<size_t> which;
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].state == Trial::State::Compiled)
      which.push_back(i);
  return which;
}

void Trials::check(Clock::time_point deadline) {
  while (true) {
    const std::vector<size_t> which = compiledOnes();
    const bool finished = which.empty() || stop || checkSome(which, deadline);
    if (all[0].state == Trial::State::Excluded)
      throw Error("`" + job.key.kernel +
                      "`: the kernel's own configuration cannot be used: " +
                      all[0].problem,
                  "record the launch again if the kernel has changed since; "
                  "try: tessera replay " +
                      job.loaded.folder.string());
    if (finished)
      return;
  }
}

bool Trials::timeSome(const std::vector<size_t> &which, int rounds,
                      Clock::time_point deadline, double &drift) {
  size_t current = which[0];
  const auto body = [&](const Report &report) {
    TimedMemory memory(job.loaded);
    const double before = timeControl();
    for (int round = 0; round < rounds; ++round)
      for (size_t place = 0; place < which.size(); ++place) {
        // Alternates the direction, so that a drift affects all trials equally.
        const size_t i = which[round % 2 ? which.size() - 1 - place : place];
        if (round > 0 && Clock::now() >= deadline)
          return;
        report({{"begin", i}});
        report({{"timed", i},
                {"seconds", timeLaunch(all[i].launch, all[i].candidate.grid,
                                       memory, all[i].guess)}});
      }
    report({{"drift", timeControl() / before - 1}});
  };
  const auto event = [&](const Json &object) {
    if (object.contains("begin")) {
      current = object["begin"].get<size_t>();
      progress("timing " + describe(all[current].candidate.use));
    } else if (object.contains("timed")) {
      Trial &trial = all[object["timed"].get<size_t>()];
      trial.seconds.push_back(object["seconds"].get<double>());
    } else {
      drift = std::abs(object["drift"].get<double>());
    }
  };
  LoadWatch load;
  const Ended ended =
      runIsolated(body, event, [&] { return limitOf(all[current]); }, stop);
  othersBusy = std::max(othersBusy, load.othersBusy().value_or(0));
  for (size_t i : which)
    if (!all[i].seconds.empty()) {
      all[i].sample = sampleOf(all[i].seconds);
      all[i].samples = int64_t(all[i].seconds.size());
      all[i].guess = all[i].sample.median;
    }
  return endedWell(ended, all[current]);
}

void Trials::time(std::vector<size_t> which, int rounds,
                  Clock::time_point deadline) {
  bool again = true; // repeats once if the machine's speed changed
  while (!which.empty() && !stop) {
    std::vector<std::vector<double>> before;
    for (size_t i : which)
      before.push_back(all[i].seconds);
    double drift = 0;
    const bool finished = timeSome(which, rounds, deadline, drift);
    if (finished && drift <= mostDrift)
      return;
    if (finished && (!again || Clock::now() >= deadline)) {
      drifted = true;
      return;
    }
    if (finished) {
      again = false;
      for (size_t n = 0; n < which.size(); ++n)
        all[which[n]].seconds = before[n];
      continue;
    }
    std::erase_if(which, [&](size_t i) {
      return all[i].state == Trial::State::Excluded;
    });
  }
}

} // namespace tessera::tune
