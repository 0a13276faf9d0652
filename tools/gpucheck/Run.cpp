// tools/gpucheck/Run.cpp - checks, times and tunes packed cases in a process
// that owns the GPU, and collects the results.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/gpucheck/GpuCheck.h"

#include "autotune/search/TableFile.h"
#include "replay/Replay.h"
#include "replay/packed/Packed.h"
#include "replay/packed/PackedTensors.h"
#include "replay/packed/PackedTuning.h"
#include "runtime/device/cuda/Driver.h"
#include "support/Error.h"
#include "support/Isolated.h"
#include "support/StopSignals.h"

#include <algorithm>
#include <cstdio>

namespace tessera::gpucheck {

namespace fs = std::filesystem;
using runtime::cuda::Driver;

std::vector<Item> itemsOf(const Options &options) {
  const auto wanted = [&](Kind kind) {
    return options.phases.empty() ||
           std::find(options.phases.begin(), options.phases.end(),
                     kindNames[size_t(kind)]) != options.phases.end();
  };
  const std::vector<fs::path> folders = cases::findCases(options.folder);
  const fs::path root = options.folder;
  std::vector<Item> items;
  const auto add = [&](Kind kind, const fs::path &folder) {
    items.push_back(
        {kind, folder, fs::absolute(folder).lexically_normal().filename()});
  };
  // Results are always compared first, because a wrong case is not timed.
  for (const fs::path &folder : folders)
    if (!cases::packedTargets(folder).empty())
      add(Kind::Check, folder);
    else
      throw Error(folder.string() + " has no gpu.json, so no code",
                  "make it with tessera pack-cases");
  for (const fs::path &folder : folders)
    if (wanted(Kind::Tune) && !cases::tuningTargets(folder).empty())
      add(Kind::Tune, folder);
  for (const fs::path &folder : folders)
    if (wanted(Kind::Time) && options.timed)
      add(Kind::Time, folder);
  if (wanted(Kind::Peers) && fs::exists(root / "peers.py"))
    items.push_back({Kind::Peers, root, "torch"});
  if (wanted(Kind::Calibrate) && fs::exists(root / "devices.json"))
    for (const std::string &name : figureNames())
      items.push_back({Kind::Calibrate, root, name});
  return items;
}

cases::LoadedCase loadCase(const fs::path &folder) {
  cases::LoadedCase loaded = cases::loadPacked(folder);
  loaded.tf32 = cases::packedTf32(folder);
  return loaded;
}

cases::PreparedLaunch launchOf(runtime::CompiledKernel code,
                               uint32_t appended) {
  cases::PreparedLaunch launch;
  launch.code =
      std::make_shared<const runtime::CompiledKernel>(std::move(code));
  launch.appended = appended;
  return launch;
}

namespace {

constexpr double peersSeconds = 60;

class GpuCheck : public IsolatedItems {
public:
  explicit GpuCheck(const Options &options)
      : options(options), results(options, itemsOf(options)) {
    if (options.resume)
      results.resume();
  }

  Outcome run() {
    const std::atomic<bool> &interrupted = StopSignals::isSet();
    try {
      for (auto item = results.next(); item && !interrupted;
           item = results.next())
        if (results.items()[*item].kind == Kind::Peers)
          peers(*item);
        else
          runAll(interrupted);
    } catch (const runtime::cuda::NoGpu &none) {
      std::printf("%s\nnothing was run\n", none.message.c_str());
      return {};
    }
    return results.finish(interrupted);
  }

private:
  void peers(size_t item) {
    const double seconds = std::min(results.secondsLeft(), peersSeconds);
    results.add(item, seconds < 1 ? Json{{"late", true}}
                                  : runPeers(options, seconds));
  }

  // Other libraries are measured while no other process uses the GPU.
  std::optional<size_t> next(size_t from) const override {
    const auto item = results.next(from);
    return item && results.items()[*item].kind != Kind::Peers ? item
                                                              : std::nullopt;
  }

  Json open() override {
    if (options.budget)
      tuningEnd = Clock::now() +
                  std::chrono::duration_cast<Clock::duration>(
                      std::chrono::duration<double>(results.tuningLeft()));
    Json facts = cases::describeGpuOrNone();
    if (!facts.contains("none")) {
      facts["state"] =
          results.state().is_null() ? cases::gpuState() : results.state();
      device = deviceOf(facts);
      driverRelease = facts["driver_release"];
    }
    return facts;
  }

  bool usable() const override { return Driver::instance().healthy(); }
  double limit() const override { return options.seconds; }

  void opened(const Json &facts) override {
    cases::requireGpu(facts);
    results.opened(facts);
  }

  void done(size_t item, Json row) override {
    results.add(item, std::move(row));
  }

  void failed(size_t item, const Phase &phase, const Ended &how) override {
    std::string why = how.text;
    if (how.how == Ended::How::Endless)
      why += " of " + phase.what;
    if (how.how == Ended::How::Crashed)
      why = "the process ended with " + why + " while " + phase.what;
    if (phase.part)
      results.exclude(item, *phase.part, why);
    else
      results.fail(item, why);
  }

  Json run(size_t index, const Say &say) override {
    const Item &item = results.items()[index];
    if (results.isWrong(item))
      return {{"left_out", "its results are wrong"}};
    const bool tunes = item.kind == Kind::Tune;
    if (tunes ? Clock::now() >= tuningEnd : results.secondsLeft() <= 0)
      return {{"late", true}};
    const auto plain = [&](const char *what) { say({what, {}}); };
    switch (item.kind) {
    case Kind::Check: {
      Json row = check(item, plain);
      results.note(index, row);
      return row;
    }
    case Kind::Tune:
      return tune(index, say);
    case Kind::Time:
      plain("timing");
      return timeCase(item, results.hasPeer(item), options);
    case Kind::Calibrate:
      plain(("measuring " + item.name).c_str());
      return measureFigure(item.name, item.folder);
    case Kind::Peers:
      break;
    }
    throw std::logic_error("an item of the watching process");
  }

  Json check(const Item &item, const std::function<void(const char *)> &say) {
    say("reading");
    cases::CaseReport report;
    report.folder = report.name = item.name;
    report.device = "cuda";
    cases::CaseReport other = report;
    std::string target;
    std::optional<cases::PeerCode> peer;
    cases::guarded(report, [&] {
      const cases::LoadedCase loaded = loadCase(item.folder);
      report.kernel = loaded.recorded.kernel;
      target =
          cases::newestPackedTarget(item.folder, Driver::instance().target());
      peer = cases::readPeer(item.folder, target);
      say("running");
      cases::GpuDevice own("", options.repeated);
      cases::runCase(loaded, launchOf(cases::readPacked(item.folder, target)),
                     own, false, report);
      if (!peer || report.status != cases::Status::Ok)
        return;
      say("running the other compiler's code");
      cases::GpuDevice once("");
      cases::guarded(other, [&] {
        cases::runCase(loaded, launchOf(peer->compiled, peer->appended), once,
                       false, other);
      });
    });
    Json row = parseJson(cases::reportJson(report), "report");
    row["line"] = cases::reportLine(report);
    row["target"] = target;
    if (!peer || report.status != cases::Status::Ok)
      return row;
    row["peer"] = peer->compiler;
    row["peer_status"] = cases::statusName(other.status);
    if (other.status != cases::Status::Ok)
      row["peer_message"] = other.message;
    return row;
  }

  // Each case gets an equal part of the time that remains for tuning.
  Json tune(size_t index, const Say &say) {
    int64_t left = 0;
    for (size_t i = index; i < results.items().size(); ++i)
      left += results.items()[i].kind == Kind::Tune && !results.done(i);
    const auto now = Clock::now();
    const auto deadline = options.budget ? now + (tuningEnd - now) / left
                                         : Clock::time_point::max();
    const Tuned tuned =
        tuneCase({results.items()[index].folder, results.excluded(index),
                  deadline, options.clearCache},
                 [&](const std::string &what, size_t candidate) {
                   say({what, candidate});
                 });
    if (tuned.entry)
      keep(*tuned.entry);
    return tuned.row;
  }

  void keep(const tune::TuneEntry &entry) const {
    const fs::path file = tableOf(options, device);
    if (file.empty())
      return;
    tune::TuneProvenance provenance = options.provenance;
    provenance.driver = driverRelease;
    if (provenance.command.empty()) {
      provenance.command = "scripts/gpu-check";
      provenance.commit = results.commit();
    }
    tune::TableFile table(file, device, provenance);
    table.replace(entry);
    table.write();
  }

  const Options &options;
  Results results;
  // State of the worker process.
  Clock::time_point tuningEnd = Clock::time_point::max();
  tune::DeviceModel device;
  std::string driverRelease;
};

} // namespace

Outcome runGpuCheck(const Options &options) { return GpuCheck(options).run(); }

} // namespace tessera::gpucheck
