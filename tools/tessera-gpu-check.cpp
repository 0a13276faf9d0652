// tools/tessera-gpu-check.cpp - runs packed cases on whatever NVIDIA GPU is
// present. Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/cases/Packed.h"
#include "runtime/device/cuda/Driver.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Json.h"

#include <CLI/CLI.hpp>

#include <cstdio>

using namespace tessera;
namespace fs = std::filesystem;

namespace {

struct Options {
  std::string folder, json;
  uint32_t repeats = 20;
};

// None where there is no GPU.
std::unique_ptr<cases::PackedDevice> openGpu(const Options &options) {
  try {
    return std::make_unique<cases::PackedDevice>(options.repeats);
  } catch (const Error &error) {
    std::printf("%s\nnothing was run\n", error.message.c_str());
    return nullptr;
  }
}

cases::CaseReport runOne(const fs::path &folder, cases::PackedDevice &device) {
  cases::CaseReport report;
  report.folder = folder.string();
  report.device = device.name();
  report.name = folder.lexically_normal().filename().string();
  try {
    const cases::LoadedCase loaded = cases::loadCase(folder);
    report.kernel = loaded.recorded.kernel;
    cases::runCase(loaded, cases::prepareLaunch(loaded), device, false, report);
  } catch (const cases::UnsupportedCase &error) {
    report.status = cases::Status::Unsupported;
    report.message = error.what();
  } catch (const std::exception &error) {
    report.status = cases::Status::Error;
    report.message = error.what();
  }
  return report;
}

int run(const Options &options) {
  // A wrong folder is said on any machine.
  const std::vector<fs::path> folders = cases::findCases(options.folder);
  for (const fs::path &folder : folders)
    if (cases::packedTargets(folder).empty())
      throw Error(folder.string() + " has no gpu.json, so no code",
                  "make it with tessera pack");
  const auto device = openGpu(options);
  if (!device)
    return 0;
  const auto &driver = runtime::cuda::Driver::instance();
  std::printf("%s, compute capability %d.%d, driver for CUDA %d.%d\n",
              driver.gpu().c_str(), driver.computeCapability() / 10,
              driver.computeCapability() % 10, driver.version() / 1000,
              driver.version() % 1000 / 10);
  Json rows = Json::array();
  size_t good = 0;
  for (const fs::path &folder : folders) {
    const cases::CaseReport report = runOne(folder, *device);
    const bool ok = report.status == cases::Status::Ok;
    good += ok;
    Json row = parseJson(cases::reportJson(report), "report");
    std::printf("%s", cases::reportLine(report).c_str());
    if (ok && !device->times().empty()) {
      const std::vector<double> &times = device->times();
      row["target"] = device->target();
      row["us"] = 1000 * times[times.size() / 2];
      row["us_least"] = 1000 * times.front();
      std::printf("  %.1f us", row["us"].get<double>());
    }
    std::printf("\n");
    std::fflush(stdout);
    rows.push_back(std::move(row));
  }
  std::printf("%zu of %zu cases are ok\n", good, folders.size());
  if (!options.json.empty())
    writeFile(options.json,
              Json{{"gpu", driver.gpu()},
                   {"compute_capability", driver.computeCapability()},
                   {"driver", driver.version()},
                   {"launches_timed", options.repeats},
                   {"ok", good},
                   {"cases", rows}}
                      .dump(1) +
                  "\n");
  return good == folders.size() ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app{"Runs packed cases on an NVIDIA GPU, compares their results "
               "with the recorded ones, and times them."};
  Options options;
  app.add_option("folder", options.folder, "what tessera pack wrote")
      ->required();
  app.add_option("--json", options.json, "file that gets the results");
  app.add_option("--repeat", options.repeats, "timed launches of each case")
      ->check(CLI::Range(0u, 100000u))
      ->capture_default_str();
  app.footer("Example:\n  tessera-gpu-check packed --json result.json\n\n"
             "Without a GPU it says so and ends with 0; else with 1 unless "
             "every case is ok.");
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options);
  } catch (const Error &error) {
    std::fprintf(stderr, "tessera-gpu-check: error: %s\n",
                 error.message.c_str());
    if (!error.hint.empty())
      std::fprintf(stderr, "HINT: %s\n", error.hint.c_str());
  } catch (const std::exception &error) {
    std::fprintf(stderr, "tessera-gpu-check: error: %s\n", error.what());
  }
  return 1;
}
