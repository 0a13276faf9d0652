// replay/RunCase.cpp - runs one case: memory, launch, comparison.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "replay/Buffer.h"
#include "replay/Replay.h"
#include "support/Error.h"
#include "support/Lists.h"
#include "support/Names.h"

#include <algorithm>
#include <map>

namespace tessera::cases {

StoredTensor tensorOf(const LoadedCase &loaded, const Tensors &tensors,
                      const char *file, const CaseArgument &argument) {
  const auto found = tensors.find(argument.name);
  if (found != tensors.end())
    return found->second;
  if (argument.layout.span(argument.name) == 0)
    return {storedName(*argument.type), argument.layout.shape, ""};
  throw Error((loaded.folder / file).string() + " has no tensor `" +
                  argument.name + "`",
              nearestNameHint(argument.name, namesOf(std::views::keys(tensors)),
                              "tensors"));
}

namespace {

// A pointer argument with its memory. Arguments that share memory have the same
// `buffer`.
struct Bound {
  const CaseArgument *argument = nullptr;
  std::shared_ptr<GuardedBuffer> buffer;
  std::string initial; // the storage before the launch
};

std::string place(const LoadedCase &loaded, const char *file,
                  const std::string &name) {
  return (loaded.folder / file).string() + ": tensor `" + name + "`";
}

std::vector<Bound> bind(const LoadedCase &loaded, bool shareEqual) {
  std::vector<Bound> result;
  uint64_t gapsLeft = mostGapBytes; // of all arguments together
  for (const CaseArgument &argument : loaded.recorded.arguments) {
    if (argument.kind != ArgumentKind::Pointer)
      continue;
    const StoredTensor stored =
        tensorOf(loaded, loaded.before, "before.safetensors", argument);
    Bound bound;
    bound.argument = &argument;
    bound.buffer = std::make_shared<GuardedBuffer>(makeBuffer(
        argument, stored, place(loaded, "before.safetensors", argument.name),
        &gapsLeft));
    bound.initial = std::string(bound.buffer->view());
    if (shareEqual)
      for (const Bound &other : result)
        if (other.argument->type == argument.type &&
            loaded.recorded.isWritten(other.argument->name) &&
            loaded.recorded.isWritten(argument.name) &&
            other.initial == bound.initial &&
            tensorOf(loaded, loaded.after, "after.safetensors", argument)
                    .bytes == tensorOf(loaded, loaded.after,
                                       "after.safetensors", *other.argument)
                                  .bytes)
          bound.buffer = other.buffer;
    result.push_back(std::move(bound));
  }
  return result;
}

// True if written arguments were equal before and after. They may have been one
// tensor that was updated in place, which the recording does not show.
bool mayShare(const std::vector<Bound> &bound) {
  for (size_t i = 0; i < bound.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (bound[i].buffer == bound[j].buffer)
        return true;
  return false;
}

class CaseRun {
public:
  CaseRun(const LoadedCase &loaded, const PreparedLaunch &launch,
          CaseReport &report)
      : loaded(loaded), recorded(loaded.recorded), launch(launch),
        report(report) {}

  void run(Device &device, bool serial, bool share) {
    bound = bind(loaded, share);
    if (share && !mayShare(bound))
      return;
    report.arguments.clear();
    report.produced.clear();
    report.message.clear();
    report.status = Status::Ok;
    std::vector<ArgumentMemory> memory;
    for (const Bound &one : bound)
      memory.push_back(memoryOf(recorded, *one.argument, *one.buffer));
    const auto start = std::chrono::steady_clock::now();
    try {
      device.run(loaded, launch, memory, serial);
    } catch (const LaunchFault &fault) {
      fail(fault.message);
    }
    report.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    for (const Bound &one : bound)
      if (recorded.isWritten(one.argument->name))
        compareWritten(one);
      else
        checkUntouched(one);
    for (const Bound &one : bound)
      if (const std::string damage = one.buffer->damage(); !damage.empty())
        fail("`" + one.argument->name + "`: wrote " + damage);
  }

  // Called after a successful run with shared memory; `apart` is a run without.
  // True if only sharing explains the difference. A kernel that updates a
  // tensor in place stores through one of its names only, so the other keeps
  // its contents; any other value there is wrong.
  bool explains(const CaseRun &apart) const {
    for (size_t i = 0; i < bound.size(); ++i) {
      const std::string_view alone = apart.bound[i].buffer->view();
      if (alone != bound[i].buffer->view() && alone != apart.bound[i].initial)
        return false;
    }
    return true;
  }

private:
  void fail(const std::string &message) {
    report.status = Status::Mismatch;
    report.message += (report.message.empty() ? "" : "; ") + message;
  }

  void checkUntouched(const Bound &one) {
    const std::string_view now = one.buffer->view();
    if (now == one.initial)
      return;
    // A tensor that shares memory with a written one changes with it.
    for (const Bound &other : bound)
      if (&other != &one && other.buffer == one.buffer)
        return;
    const size_t size = elementBytes(*one.argument->type);
    size_t at = 0;
    while (now.substr(at * size, size) ==
           std::string_view(one.initial).substr(at * size, size))
      ++at;
    fail("`" + one.argument->name +
         "` is not among the written arguments and was changed at element " +
         std::to_string(at) + " of its storage");
  }

  Scores scoresOf(const std::string &name, std::string &bytes) {
    const CaseArgument &argument = *recorded.find(name);
    if (!argument.type)
      throw UnsupportedCase("argument `" + name + "` is of " + argument.dtype);
    const bool written = recorded.isWritten(name);
    const char *file = written ? "after.safetensors" : "before.safetensors";
    bytes = gather(argument,
                   tensorOf(loaded, written ? loaded.after : loaded.before,
                            file, argument),
                   place(loaded, file, name));
    Scores scores;
    scores.values = {*argument.type, bytes};
    scores.shape = argument.layout.shape;
    scores.limit = rmsLimit(recorded, argument, loaded.kernelText, loaded.tf32);
    return scores;
  }

  void compareWritten(const Bound &one) {
    const CaseArgument &argument = *one.argument;
    const std::string where = place(loaded, "after.safetensors", argument.name);
    const StoredTensor after =
        tensorOf(loaded, loaded.after, "after.safetensors", argument);
    const StoredForm form = storedForm(argument, after, where);
    const std::string gotBytes = gather(argument, one.buffer->view());
    const std::string wantBytes = gather(argument, after, where);
    const Elements got{*argument.type, gotBytes};
    const Elements want{*argument.type, wantBytes};
    const CompareMode mode = recorded.modeOf(argument);
    const double limit =
        rmsLimit(recorded, argument, loaded.kernelText, loaded.tf32);

    ArgumentReport result;
    result.name = argument.name;
    result.dtype = argument.dtype;
    result.mode = compareModeName(mode.kind);
    result.elements = want.count();
    switch (mode.kind) {
    case CompareMode::Kind::Exact:
      result.comparison = compareExact(got, want);
      break;
    case CompareMode::Kind::Rms:
      result.comparison = compareRms(got, want, limit);
      break;
    case CompareMode::Kind::Unordered:
      result.comparison = compareUnordered(got, want, limit);
      break;
    case CompareMode::Kind::Ties: {
      std::string bytes;
      const Scores scores = scoresOf(mode.scores, bytes);
      result.comparison = compareTies(got, want, argument.layout.shape, scores);
      break;
    }
    case CompareMode::Kind::Scratch:
      break;
    }
    Comparison &comparison = result.comparison;
    // Memory between the tensor's elements must not change.
    const int64_t gap =
        gapDifference(argument, one.buffer->view(),
                      form == StoredForm::Storage ? after.bytes : one.initial);
    if (gap >= 0) {
      comparison.ok = false;
      comparison.problem += (comparison.problem.empty() ? "" : "; ") +
                            ("element " + std::to_string(gap) +
                             " of its storage, which is not part of the "
                             "tensor, was changed");
    }
    if (comparison.first >= 0) {
      result.index = argument.layout.index(comparison.first);
      result.got = elementText(got.type, got.at(comparison.first));
      result.want = elementText(want.type, want.at(comparison.first));
    }
    StoredTensor produced = after;
    produced.bytes = form == StoredForm::Storage
                         ? std::string(one.buffer->view())
                         : gotBytes;
    // The recorder may have kept a different part of the storage after the
    // launch than before it.
    if (produced.bytes.size() == after.bytes.size())
      report.produced[argument.name] = std::move(produced);
    else
      report.produced[argument.name] = {after.dtype, argument.layout.shape,
                                        gotBytes};
    if (!comparison.ok) {
      std::string message = "`" + argument.name + "`: " + comparison.problem;
      if (!result.got.empty())
        message += "; first at [" + joined(result.index, ", ") +
                   "]: " + result.got + " instead of " + result.want;
      fail(message);
    }
    report.arguments.push_back(std::move(result));
  }

  const LoadedCase &loaded;
  const Case &recorded;
  const PreparedLaunch &launch;
  CaseReport &report;
  std::vector<Bound> bound;
};

} // namespace

void runCase(const LoadedCase &loaded, const PreparedLaunch &launch,
             Device &device, bool serial, CaseReport &report) {
  CaseRun apart(loaded, launch, report);
  apart.run(device, serial, false);
  if (report.status != Status::Mismatch)
    return;
  CaseReport shared = report;
  CaseRun together(loaded, launch, shared);
  together.run(device, serial, true);
  if (shared.status == Status::Ok && together.explains(apart))
    report = std::move(shared);
}

} // namespace tessera::cases
