// tools/gpucheck/Calibrate.cpp - measures the constants that the cost model
// takes from autotune/model/devices.yaml.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/gpucheck/GpuCheck.h"

#include "autotune/search/Sample.h"
#include "autotune/table/TuneTable.h"
#include "replay/packed/Packed.h"
#include "runtime/device/cuda/CudaCode.h"
#include "runtime/device/cuda/Peaks.h"
#include "runtime/device/cuda/TimingEvent.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Lists.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>

namespace tessera::gpucheck {

namespace fs = std::filesystem;
using runtime::cuda::Address;
using runtime::cuda::CudaCode;
using runtime::cuda::Driver;
using runtime::cuda::Peaks;

namespace {

// Values of CUdevice_attribute.
constexpr int clockRate = 13, multiprocessors = 16, cacheBytes = 38;

constexpr int measurements = 7;
constexpr uint32_t firstTurns = 4, mostTurns = 1 << 15;
constexpr double wantedMs = 2; // of a launch: far above its overhead
constexpr uint32_t blockThreads = 256, blocksOfSm = 2;
constexpr uint32_t chaseLine = 256; // bytes between the pointers

class Memory {
public:
  Memory(const Driver &driver, size_t bytes) : driver(driver), bytes(bytes) {
    driver.check(driver.api().MemAlloc(&address, bytes),
                 "allocating " + std::to_string(bytes) + " bytes");
  }
  Memory(const Memory &) = delete;
  ~Memory() { driver.api().MemFree(address); }

  void set(unsigned char value) const {
    driver.check(driver.api().MemsetD8Async(address, value, bytes, nullptr),
                 "filling memory");
  }
  void write(const void *from, size_t count) const {
    driver.check(driver.api().MemcpyHtoD(address, from, count),
                 "copying to the GPU");
  }
  template <class T>
  std::vector<T> read(size_t count) const {
    std::vector<T> values(count);
    driver.check(
        driver.api().MemcpyDtoH(values.data(), address, count * sizeof(T)),
        "copying from the GPU");
    return values;
  }

  const Driver &driver;
  const size_t bytes;
  Address address = 0;
};

// Upper bound of a measurement, and the published value.
struct Known {
  std::optional<double> published, most;
};

class Calibration {
public:
  explicit Calibration(const fs::path &folder)
      : folder(folder), driver(Driver::instance()),
        sms(uint32_t(std::max(driver.attribute(multiprocessors), 1))),
        blocks(sms * blocksOfSm), threads(blocks * blockThreads),
        clocks(driver, 16), out(driver, size_t(threads) * 4 + 64) {}

  Json measure(const std::string &name) {
    if (name == "dram_gbytes")
      return finish(name, "GB/s", readMemory(false));
    if (name == "l2_bytes_per_cycle")
      return finish(name, "bytes a cycle", readMemory(true));
    if (name == "tensor_fma")
      return finish(name, "multiply-adds of mma.sync a cycle and SM", mma());
    if (name == "shared_bytes_per_cycle")
      return finish(name, "bytes a cycle and SM", shared());
    if (name == "l2_latency")
      return finish(name, "cycles", latency(true));
    if (name == "dram_latency")
      return finish(name, "cycles", latency(false));
    if (name == "launch_cycles")
      return finish(name, "cycles", launch());
    throw Error("no figure `" + name + "` is measured",
                "there are: dram_gbytes, tensor_fma ...");
  }

private:
  struct Argument {
    alignas(8) unsigned char bytes[8] = {};
    Argument(Address value) { std::memcpy(bytes, &value, 8); }
    Argument(uint32_t value) { std::memcpy(bytes, &value, 4); }
  };

  const CudaCode &code(const std::string &kernel) {
    auto &place = loaded[kernel];
    if (!place) {
      const fs::path at = folder / "calibration" / kernel;
      const auto compiled =
          cases::readPacked(at, cases::newestPackedTarget(at, driver.target()));
      place = std::make_unique<CudaCode>(
          compiled, kernel,
          namesOf(compiled.meta.params, &language::ArtifactParameter::name));
    }
    return *place;
  }

  // Returns the milliseconds of one launch.
  double run(const std::string &kernel, uint32_t grid,
             std::vector<Argument> arguments) {
    const CudaCode &loadedCode = code(kernel);
    std::vector<void *> addresses;
    for (Argument &argument : arguments)
      addresses.push_back(argument.bytes);
    const runtime::cuda::TimingEvent before(driver), after(driver);
    before.record();
    loadedCode.start({grid, 1, 1}, addresses.data(), nullptr);
    after.record();
    return after.millisecondsSince(before);
  }

  // Returns the clock in MHz by the counters of the previous launch, or else
  // the clock that the driver reports.
  double clockMhz() const {
    const auto counted = clocks.read<uint64_t>(2);
    if (counted[0] > 1000 && counted[1] > 1000)
      return 1e3 * double(counted[0]) / double(counted[1]);
    return 1e-3 * driver.attribute(clockRate);
  }

  // Returns a number of turns for which a launch takes long enough, and the
  // milliseconds of several launches. `once` runs and checks a number of turns.
  template <class Once>
  std::pair<uint32_t, std::vector<double>> longEnough(const Once &once) {
    uint32_t turns = firstTurns;
    for (int grown = 0; grown < 5; ++grown) {
      const double took = once(turns);
      if (took >= wantedMs / 2 || turns == mostTurns)
        break;
      const double factor =
          std::clamp(wantedMs / std::max(took, 1e-3), 2.0, 16.0);
      turns = uint32_t(std::min(double(turns) * factor, double(mostTurns)));
    }
    std::vector<double> times;
    for (int i = 0; i < measurements; ++i)
      times.push_back(once(turns));
    return {turns, times};
  }

  static std::vector<double> rates(double amount,
                                   const std::vector<double> &times) {
    std::vector<double> result;
    for (const double milliseconds : times)
      result.push_back(amount / (milliseconds * 1e-3));
    return result;
  }

  void expect(bool right, const char *what) const {
    if (!right)
      throw Error(std::string("the microbenchmark ") + what +
                      " wrote a wrong result: nothing is known of its time",
                  "look at the GPU with nvidia-smi, and pack the folder again");
  }

  // Returns GB/s of DRAM, or bytes per cycle of L2.
  std::vector<double> readMemory(bool fromCache) {
    const size_t cache =
        size_t(std::max(driver.attribute(cacheBytes), 1 << 20));
    // A fourth of L2 fits into either half of L2. With 16 times L2, no data of
    // one round remains in it for the next.
    const uint64_t wanted = fromCache ? cache / 4 : cache * 16,
                   step = uint64_t(threads) * 4 * 16;
    const uint64_t bytes = std::max<uint64_t>(wanted / step, 1) * step;
    const auto quads = uint32_t(bytes / 16);
    const Memory data(driver, bytes);
    data.set(1);
    const auto once = [&](uint32_t turns) {
      const double took =
          run(fromCache ? "read_l2" : "read_dram", blocks,
              {data.address, out.address, clocks.address, quads, turns});
      const uint32_t sum = uint32_t(bytes / threads / 4 * turns) * 0x01010101u;
      const auto sums = out.read<uint32_t>(threads);
      expect(sums.front() == sum && sums.back() == sum,
             fromCache ? "read_l2" : "read_dram");
      return took;
    };
    if (!fromCache) {
      std::vector<double> times;
      for (int i = 0; i <= measurements; ++i)
        times.push_back(once(1));
      times.erase(times.begin()); // the first launch touches new pages
      std::vector<double> result = rates(double(bytes), times);
      for (double &rate : result)
        rate *= 1e-9;
      return result;
    }
    const auto [turns, times] = longEnough(once);
    return perCycle(rates(double(bytes) * turns, times), 1);
  }

  std::vector<double> perCycle(std::vector<double> perSecond, double parts) {
    const double clock = clockMhz() * 1e6;
    for (double &rate : perSecond)
      rate /= clock * parts;
    return perSecond;
  }

  std::vector<double> mma() {
    const auto [turns, times] = longEnough([&](uint32_t count) {
      const double took =
          run("mma_loop", blocks, {out.address, clocks.address, count});
      const auto sums = out.read<float>(threads);
      expect(sums.front() == 512.0f * float(count) &&
                 sums.back() == sums.front(),
             "mma_loop");
      return took;
    });
    const double products =
        double(turns) * 8 * (16 * 8 * 16) * (threads / 32.0);
    return perCycle(rates(products, times), sms);
  }

  std::vector<double> shared() {
    const auto [turns, times] = longEnough([&](uint32_t count) {
      const double took =
          run("shared_loop", blocks, {out.address, clocks.address, count});
      const auto sums = out.read<uint32_t>(threads);
      expect(sums[1] == 8 * count &&
                 sums.back() == (blockThreads - 1) * 8 * count,
             "shared_loop");
      return took;
    });
    return perCycle(rates(double(turns) * 8 * 16 * threads, times), sms);
  }

  // Returns the cycles of a load that depends on the previous load.
  std::vector<double> latency(bool fromCache) {
    const size_t cache =
        size_t(std::max(driver.attribute(cacheBytes), 1 << 20));
    const size_t bytes = fromCache ? cache / 8 : cache * 4;
    const auto count = uint32_t(bytes / chaseLine);
    const Memory data(driver, bytes);
    // Links all lines to one ring in which neighbours are far apart. The step
    // is odd, so it is coprime to the number of lines, a power of two.
    uint32_t lines = 1;
    while (lines * 2 <= count)
      lines *= 2;
    const uint32_t step = (lines / 8 * 5) | 1;
    std::vector<uint64_t> image(size_t(lines) * chaseLine / 8, 0);
    const auto place = [&](uint32_t line) {
      return size_t(line) * chaseLine / 8;
    };
    for (uint32_t line = 0; line < lines; ++line)
      image[place(line)] =
          data.address +
          8 * place(uint32_t((uint64_t(line) + step) & (lines - 1)));
    data.write(image.data(), image.size() * 8);
    const uint32_t turns = std::min(lines, 4096u);
    std::vector<double> result;
    uint32_t at = 0; // first line of the next launch
    for (int i = 0; i <= measurements; ++i) {
      if (fromCache)
        at = 0; // cached since the previous launch
      run("chase", 1,
          {Address(data.address + 8 * place(at)), out.address, clocks.address,
           turns});
      at = uint32_t((at + uint64_t(step) * turns) & (lines - 1));
      expect(out.read<uint64_t>(1)[0] == data.address + 8 * place(at), "chase");
      if (i)
        result.push_back(double(clocks.read<uint64_t>(2)[0]) / turns);
    }
    return result;
  }

  // Returns the cycles between two events with an empty launch between them, at
  // the highest clock.
  std::vector<double> launch() {
    std::vector<double> result;
    for (int i = 0; i < 5 * measurements; ++i) {
      const double took = run("nothing", 1, {clocks.address});
      if (i >= measurements)
        result.push_back(took * driver.attribute(clockRate));
    }
    return result;
  }

  // Returns the entry of this GPU by the model's name, as tables are found.
  std::optional<Json> deviceHere() const {
    const fs::path file = folder / "devices.json";
    const Json json = parseJson(readFile(file), file.string());
    const tune::DeviceModel here{driver.gpu(), driver.target(), sms, 0, 0};
    for (const Json &gpu : member<Json>(json, "gpus", file.string()))
      if (fits({member<std::string>(gpu, "model", file.string()),
                member<std::string>(gpu, "target", file.string()),
                member<int64_t>(gpu, "sms", file.string()), 0, 0},
               here))
        return gpu;
    return std::nullopt;
  }

  Known knownOf(const std::string &name) const {
    const Peaks peaks = runtime::cuda::peaksOf(driver);
    const auto device = deviceHere();
    const auto figure = [&](const char *key) -> std::optional<double> {
      return device
                 ? std::optional(member<double>(*device, key, "devices.json"))
                 : std::nullopt;
    };
    Known known{figure(name.c_str()), std::nullopt};
    if (name == "dram_gbytes" && peaks.bytes)
      known.most = peaks.bytes * 1e-9;
    if (name == "tensor_fma" && peaks.half)
      known.most = peaks.half / 2 / sms / (1e3 * driver.attribute(clockRate));
    // An SM cannot exceed its path to L1 and shared memory: 32 banks of 4
    // bytes.
    if (name == "shared_bytes_per_cycle")
      known.most = 128;
    if (name == "l2_bytes_per_cycle")
      known.most = 128.0 * sms;
    return known;
  }

  Json finish(const std::string &name, const char *unit,
              const std::vector<double> &values) {
    const tune::Sample sample = tune::sampleOf(values);
    const Known known = knownOf(name);
    Json row = {{"name", name}, {"unit", unit}, {"published", nullptr}};
    if (known.published)
      row["published"] = *known.published;
    if (known.most && sample.median > *known.most) {
      char text[160];
      std::snprintf(text, sizeof text,
                    "%.5g is above the hardware's peak of %.5g: a fault of the "
                    "measurement",
                    sample.median, *known.most);
      row["refused"] = text;
      return row;
    }
    if (!(sample.median > 0)) {
      row["refused"] = "the device reports no time or clock";
      return row;
    }
    row["value"] = sample.median;
    row["spread"] = sample.spread;
    row["clock_mhz"] = clockMhz();
    if (known.published)
      row["of_published"] = sample.median / *known.published;
    return row;
  }

  const fs::path folder;
  const Driver &driver;
  const uint32_t sms, blocks, threads;
  const Memory clocks, out;
  std::map<std::string, std::unique_ptr<CudaCode>> loaded;
};

} // namespace

const std::vector<std::string> &figureNames() {
  static const std::vector<std::string> names = {
      "dram_gbytes",  "l2_bytes_per_cycle",
      "tensor_fma",   "shared_bytes_per_cycle",
      "l2_latency",   "dram_latency",
      "launch_cycles"};
  return names;
}

Json measureFigure(const std::string &name, const fs::path &folder) {
  return Calibration(folder).measure(name);
}

} // namespace tessera::gpucheck
