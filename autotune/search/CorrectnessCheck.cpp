// autotune/search/CorrectnessCheck.cpp - compares a candidate's results with
// the recorded ones.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/CorrectnessCheck.h"

#include "replay/Buffer.h"
#include "replay/Replay.h"
#include "support/Error.h"
#include "support/File.h"

#include <algorithm>
#include <map>
#include <vector>

namespace tessera::tune {

namespace fs = std::filesystem;
using cases::CaseArgument;
using cases::LoadedCase;

Verdict checkResults(const LoadedCase &loaded,
                     const cases::PreparedLaunch &launch, const Grid &grid,
                     cases::Device &device) {
  LoadedCase own = loaded;
  own.recorded.grid = grid;
  cases::CaseReport report;
  cases::runCase(own, launch, device, false, report);
  Verdict verdict;
  verdict.seconds = report.seconds;
  if (report.status == cases::Status::Ok)
    return verdict;
  // Messages about a tensor begin with its name; messages about a fault do not.
  verdict.problem = (report.message.starts_with("`") ? "wrong results: " : "") +
                    report.message;
  return verdict;
}

namespace {

using ArgumentNames = std::vector<std::string>;

// Overwrites the previous contents of a recording's written arguments.
class OldResults {
public:
  OldResults(const LoadedCase &loaded, const cases::PreparedLaunch &own,
             const Grid &grid, cases::Device &device)
      : loaded(loaded), own(own), grid(grid), device(device) {}

  std::optional<LoadedCase> without() {
    ArgumentNames all;
    for (const CaseArgument &argument : loaded.recorded.arguments)
      if (loaded.recorded.isWritten(argument.name) && argument.type &&
          loaded.before.contains(argument.name))
        all.push_back(argument.name);
    if (auto changed = attempt(all); changed || all.size() < 2)
      return changed;
    // The launch reads some of them.
    std::optional<LoadedCase> last;
    ArgumentNames good;
    for (const std::string &name : all)
      if (auto changed = attempt({name})) {
        good.push_back(name);
        last = std::move(changed);
      }
    return good.size() < 2 ? std::move(last) : attempt(good);
  }

private:
  using Kept = std::map<std::string, std::vector<bool>>;

  // Returns nullopt if the default configuration gives wrong results without
  // these contents. Elements that it never stores keep their recorded contents.
  std::optional<LoadedCase> attempt(const ArgumentNames &names) {
    Kept kept;
    LoadedCase changed = fill(names, kept);
    cases::CaseReport report = run(changed);
    if (report.status == cases::Status::Ok)
      return some(std::move(changed));
    if (!findKept(changed, report, kept))
      return std::nullopt;
    changed = fill(names, kept);
    if (run(changed).status != cases::Status::Ok)
      return std::nullopt;
    return some(std::move(changed));
  }

  static std::optional<LoadedCase> some(LoadedCase changed) {
    if (changed.filled.empty())
      return std::nullopt;
    return changed;
  }

  cases::CaseReport run(const LoadedCase &changed) {
    LoadedCase mine = changed;
    mine.recorded.grid = grid;
    cases::CaseReport report;
    cases::runCase(mine, own, device, false, report);
    return report;
  }

  LoadedCase fill(const ArgumentNames &names, const Kept &kept) const {
    LoadedCase changed = loaded;
    for (const std::string &name : names) {
      const CaseArgument &argument = *loaded.recorded.find(name);
      const auto found = kept.find(name);
      if (fillArgument(argument, changed.before.at(name),
                       found == kept.end() ? nullptr : &found->second))
        changed.filled.insert(name);
    }
    return changed;
  }

  // Returns false if no element remains to be filled.
  bool fillArgument(const CaseArgument &argument, cases::StoredTensor &before,
                    const std::vector<bool> *kept) const {
    const std::string wanted = gatherAfter(argument);
    // Also refuses a tensor of another size.
    const auto form = storedForm(argument, before, what(argument));
    const bool inOrder =
        form == cases::StoredForm::Logical || argument.layout.contiguous();
    const size_t width = cases::elementBytes(*argument.type);
    bool any = false;
    for (size_t i = 0; i < wanted.size() / width; ++i) {
      if (kept && (*kept)[i])
        continue;
      const size_t at =
          inOrder ? i : size_t(argument.layout.offset(int64_t(i)));
      fillElement(argument, before.bytes.data() + at * width,
                  wanted.data() + i * width);
      any = true;
    }
    return any;
  }

  // Fills with large numbers or NaN of every type. They are not a valid index
  // of a block or row, and differ from the result. Arguments get different fill
  // values, because arguments of equal contents may be mistaken for one tensor.
  void fillElement(const CaseArgument &argument, char *element,
                   const char *wanted) const {
    const auto number = size_t(&argument - loaded.recorded.arguments.data());
    for (const int byte : {0x7f - int(number % 8), 0x55, 0x00}) {
      std::fill_n(element, cases::elementBytes(*argument.type), char(byte));
      if (!cases::elementsEqual(*argument.type, element, wanted))
        return;
    }
  }

  // Adds the elements that still have their fill value. Returns false if there
  // are none.
  bool findKept(const LoadedCase &changed, const cases::CaseReport &report,
                Kept &kept) const {
    bool any = false;
    for (const std::string &name : changed.filled) {
      const auto produced = report.produced.find(name);
      if (produced == report.produced.end())
        continue;
      const CaseArgument &argument = *loaded.recorded.find(name);
      const std::string now =
          gather(argument, produced->second, what(argument));
      const std::string filler =
          gather(argument, changed.before.at(name), what(argument));
      const size_t width = cases::elementBytes(*argument.type);
      std::vector<bool> &list = kept[name];
      for (size_t at = 0; at + width <= filler.size(); at += width) {
        list.push_back(now.compare(at, width, filler, at, width) == 0);
        any = any || list.back();
      }
    }
    return any;
  }

  std::string gatherAfter(const CaseArgument &argument) const {
    return gather(argument,
                  tensorOf(loaded, loaded.after, "after.safetensors", argument),
                  what(argument));
  }

  std::string what(const CaseArgument &argument) const {
    return loaded.folder.string() + ": tensor `" + argument.name + "`";
  }

  const LoadedCase &loaded;
  const cases::PreparedLaunch &own;
  const Grid &grid;
  cases::Device &device;
};

} // namespace

std::optional<LoadedCase> withoutOldResults(const LoadedCase &loaded,
                                            const cases::PreparedLaunch &own,
                                            const Grid &grid,
                                            cases::Device &device) {
  return OldResults(loaded, own, grid, device).without();
}

void writeReproducer(const fs::path &folder, const fs::path &recorded,
                     const cases::PreparedLaunch &launch, const Grid &grid) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw Error("cannot make the folder " + folder.string() + ": " +
                    error.message(),
                "name a table in a folder that can be written with --out");
  LoadedCase loaded = cases::loadCaseText(recorded);
  for (const auto &[name, value] : launch.constexprs)
    loaded.recorded.constexprs[name] = value;
  if (launch.options.numWarps)
    loaded.recorded.numWarps = launch.options.numWarps;
  if (launch.options.numStages)
    loaded.recorded.numStages = launch.options.numStages;
  loaded.recorded.grid = grid;
  writeFile(folder / loaded.recorded.kernelFile, loaded.kernelText);
  for (const char *name : {"before.safetensors", "after.safetensors"})
    if (fs::exists(recorded / name, error))
      writeFile(folder / name, readFile(recorded / name));
  writeFile(folder / "case.json", cases::writeCase(loaded.recorded));
}

} // namespace tessera::tune
