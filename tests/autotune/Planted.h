// tests/autotune/Planted.h - a kernel whose configurations are slow, wrong or
// faulty on purpose, and recorded launches of it.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/table/TuneTable.h"
#include "replay/Case.h"
#include "tests/author/Author.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace tessera {

namespace fs = std::filesystem;

// One store, after REPEAT multiplications that change nothing; BAD: 1 wrong, 2
// outside of its memory, 3 without an end, 4 no store, 5 half of the stores.
inline std::string kernelText(const std::string &hints) {
  return "import triton\nimport triton.language as tl\n\n\n" + hints + R"(
@triton.jit
def scale(X, Y, N, ONE, ZERO, REPEAT: tl.constexpr, BAD: tl.constexpr,
          BLOCK: tl.constexpr = 64):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = tl.load(X + i, mask=i < N, other=0.0)
    count = REPEAT
    if REPEAT == -1:
        count = N // 8
    for r in range(count):
        y = y * ONE + ZERO
    if BAD == 1:
        y += 1.0
    if BAD == 2:
        tl.store(Y + 500000000 + i, y)
    if BAD == 3:
        n = N
        while n > 0:
            tl.store(Y + i, y, mask=i < N)
            n = n * 3 // 3
    keep = i < N
    if BAD == 5:
        keep = keep & (i % 2 == 0)
    if BAD != 4:
        tl.store(Y + i, y, mask=keep)
)";
}

// 100000: tens of milliseconds, which no busy neighbour adds to a launch.
inline constexpr const char *planted =
    "# tessera: cpu(REPEAT=100000, BAD=0)\n"
    "# tessera: space(REPEAT=[100000, 1], BAD=[0, 1, 2, 3], "
    "where=BAD == 0 or REPEAT == 1)\n";

class Planted : public Author {
protected:
  // The tuner then measures processor time, which other programs change little:
  // unsteady times do not become entries.
  Planted() { ::setenv("TESSERA_THREADS", "1", 1); }

  // A launch of a file's kernel on n numbers.
  std::string record(const std::string &name, const std::string &file,
                     int64_t n, int64_t sequence = 0, int64_t repeat = 100000) {
    cases::Case recorded;
    recorded.name = name;
    recorded.kernel = "scale";
    recorded.kernelFile = "kernel.py";
    recorded.grid = {uint32_t((n + 63) / 64), 1, 1};
    recorded.constexprs = {
        {"REPEAT", repeat}, {"BAD", int64_t(0)}, {"BLOCK", int64_t(64)}};
    for (const char *pointer : {"X", "Y"}) {
      cases::CaseArgument argument;
      argument.name = pointer;
      argument.kind = cases::ArgumentKind::Pointer;
      argument.dtype = "fp32";
      argument.type = DType::FP32;
      argument.layout = cases::contiguousLayout({n});
      argument.elements = n;
      recorded.arguments.push_back(argument);
    }
    const auto scalar = [&](const char *word, cases::ArgumentKind kind,
                            const char *dtype, const Arg &value) {
      cases::CaseArgument argument;
      argument.name = word;
      argument.kind = kind;
      argument.dtype = dtype;
      argument.value = value;
      recorded.arguments.push_back(argument);
    };
    scalar("N", cases::ArgumentKind::Int, "i32", n);
    scalar("ONE", cases::ArgumentKind::Float, "fp32", 1.0);
    scalar("ZERO", cases::ArgumentKind::Float, "fp32", 0.0);
    recorded.written = {"Y"};
    recorded.source = cases::CaseSource{file, {}, sequence};
    std::vector<float> numbers;
    for (int64_t i = 0; i < n; ++i)
      numbers.push_back(float(i) + 1);
    const auto tensor = [&](const std::vector<float> &values) {
      std::string bytes(values.size() * sizeof(float), '\0');
      std::memcpy(bytes.data(), values.data(), bytes.size());
      return cases::StoredTensor{"F32", {n}, bytes};
    };
    const fs::path folder = path(name);
    fs::create_directories(folder);
    writeFile(folder / "kernel.py", readFile(file));
    writeFile(folder / "before.safetensors",
              cases::writeSafetensors(
                  {{"X", tensor(numbers)},
                   {"Y", tensor(std::vector<float>(size_t(n)))}}));
    writeFile(folder / "after.safetensors",
              cases::writeSafetensors({{"Y", tensor(numbers)}}));
    writeFile(folder / "case.json", cases::writeCase(recorded));
    return folder.string();
  }

  // The recorded memory holds the results already, as in the second step of a
  // program that reuses its outputs.
  static void placeResults(const fs::path &recorded) {
    cases::LoadedCase loaded = cases::loadCase(recorded);
    loaded.before["Y"] = loaded.after["Y"];
    writeFile(recorded / "before.safetensors",
              cases::writeSafetensors(loaded.before));
  }

  // A table at table.yaml with one entry, of another kernel.
  tune::TuneTable writeOther(const tune::DeviceModel &device) const {
    tune::TuneTable table;
    table.device = device;
    tune::TuneEntry entry;
    entry.key.kernel = "x.py:f";
    entry.key.textHash = std::string(32, '0');
    entry.timeUs = 1;
    entry.date = "2026-01-01";
    table.set(entry);
    tune::writeTable(path("table.yaml"), table);
    return table;
  }

  std::vector<tune::TuneEntry> entries() const {
    return tune::readTable(path("table.yaml")).entries();
  }

  // "REPEAT=1" of a choice.
  static int64_t repeat(const tune::TuneChoice &choice) {
    return std::get<int64_t>(choice.constexprs.at("REPEAT"));
  }

  // Ends once the file is there. False: the process ended first.
  static bool waitFor(const std::string &file, Process &process) {
    while (!fs::exists(file))
      if (process.wait(std::chrono::milliseconds(20)))
        return fs::exists(file);
    return true;
  }
};

} // namespace tessera
