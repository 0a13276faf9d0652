// tests/unit/autotune/model/DevicesTest.cpp - data of GPUs against one another
// and against what else is known of them.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/Devices.h"

#include "autotune/model/DevicesText.h"
#include "support/Error.h"
#include "support/GpuTarget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

using namespace tessera;
using namespace tessera::tune;

namespace {

// "COLUMN: MESSAGE | HINT" of what the text, with one part replaced, is refused
// for in the line of that part.
std::string refusal(const std::string &part, const std::string &by) {
  std::string text = devicesText;
  const size_t at = text.find(part);
  if (at == std::string::npos)
    return "no such part";
  const auto line = 1 + std::count(text.begin(), text.begin() + long(at), '\n');
  const std::string place = "g.yaml:" + std::to_string(line) + ":";
  text.replace(at, part.size(), by);
  try {
    parseGpus(text, "g.yaml");
  } catch (const Error &error) {
    return error.message.starts_with(place)
               ? error.message.substr(place.size()) + " | " + error.hint
               : "not at " + place + " " + error.message;
  }
  return "read";
}

} // namespace

// Two ways to the same peak: the published one, and per SM and cycle.
TEST(TuneGpus, PeaksFollowFromRatesAndClock) {
  for (const char *name : {"a100", "a100-pcie", "h100", "h200"}) {
    const GpuData &gpu = findGpu(name);
    const double tera = gpu.rates.sms * gpu.rates.clockMhz * 1e6 * 2e-12;
    EXPECT_NEAR(tera * gpu.warpgroupFma / gpu.bf16Tflops, 1, 0.005) << name;
    EXPECT_DOUBLE_EQ(gpu.bf16Tflops, 2 * gpu.tf32Tflops) << name;
    EXPECT_LE(gpu.rates.tensorFma, gpu.warpgroupFma) << name;
    // The H100's peak of fp32 is at its higher clock, 1980 MHz.
    const double lanes = gpu.rates.lanes[size_t(sim::Class::Float)];
    const double clocks = gpu.rates.target == "sm_90" ? 1980.0 / 1830 : 1;
    EXPECT_NEAR(tera * lanes * clocks / gpu.fp32Tflops, 1, 0.005) << name;
  }
}

TEST(TuneGpus, LimitsAreThoseOfTheCompiler) {
  for (const GpuData &gpu : gpus()) {
    const GpuTarget target = GpuTarget::parse(gpu.rates.target);
    EXPECT_EQ(gpu.rates.sharedBytes, target.sharedPerSm);
    EXPECT_EQ(gpu.rates.maxWarps, target.warpsPerSm);
    EXPECT_EQ(gpu.rates.maxBlocks, target.blocksPerSm);
    EXPECT_EQ(gpu.registers, target.registersPerSm);
  }
}

TEST(TuneGpus, AreFoundByNameAndTarget) {
  EXPECT_EQ(findGpu("h200").rates.dramGbytes, 4800);
  EXPECT_EQ(findGpu("sm_90a").rates.name, "h100");
  EXPECT_EQ(describe(deviceModel(findGpu("a100"))),
            "NVIDIA A100-SXM4-80GB, sm_80, 108 SMs, 400 W");
  try {
    findGpu("a10");
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.message, "no data of a GPU `a10`");
    EXPECT_EQ(error.hint, "did you mean `a100`?");
  }
  try {
    findGpu("sm_81");
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.hint, "did you mean `sm_80`?");
  }
  try {
    findGpu("rtx");
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.hint,
              "known GPUs: a100, a100-pcie, h100, h200, sm_80, sm_90");
  }
}

// The file is refused if any figure lacks its source, and each source names its
// publication or states that it is an estimate.
TEST(TuneGpus, EveryFigureHasASource) {
  const std::string text = devicesText;
  size_t figures = 0;
  for (size_t at = 0; (at = text.find("{value: ", at)) != std::string::npos;
       ++at, ++figures) {
    const size_t begin = text.find(", source: ", at), end = text.find('}', at);
    ASSERT_LT(begin, end) << text.substr(at, 80);
    std::string without = text;
    EXPECT_THROW(parseGpus(without.erase(begin, end - begin), "g.yaml"), Error)
        << text.substr(at, end - at);
  }
  EXPECT_EQ(figures, 2u * 8 + gpus().size() * 12);
  const size_t sources = text.find("sources:\n") + 9;
  std::istringstream lines(
      text.substr(sources, text.find("architectures:") - sources));
  const char *const publications[] = {"white paper",       "datasheet",
                                      "Programming Guide", "arXiv",
                                      "gpu-benches",       "an estimate"};
  for (std::string line; std::getline(lines, line);)
    if (line.find(": \"") != std::string::npos) {
      EXPECT_TRUE(std::any_of(std::begin(publications), std::end(publications),
                              [&](const char *word) {
                                return line.find(word) != std::string::npos;
                              }))
          << line;
    }
}

TEST(TuneGpus, ErrorsNameTheLocation) {
  EXPECT_EQ(refusal("clock_mhz: {value: 1410", "clock_mhz: {value: fast"),
            "22: this is not a finite number | write a number such as "
            "12.5");
  EXPECT_EQ(refusal("source: a100-latency", "source: a10-latency"),
            "36: no source `a10-latency` | add it under "
            "`sources`");
  EXPECT_EQ(refusal("clock_mhz:", "clock:").substr(0, 34),
            "3: a GPU has no `clock` | did you ");
  EXPECT_EQ(refusal("{value: 108, source: a100}", "{value: 108}"),
            "8: `source` is missing | add `source: ...`");
  EXPECT_EQ(refusal("value: 108", "value: 108.5"),
            "8: `sms` is not a whole number of 32 bits | write a whole "
            "number");
  EXPECT_EQ(refusal("value: 400", "value: -400"),
            "24: a figure is more than 0 and at most 1e12 | write it "
            "in the unit of the others");
  EXPECT_EQ(refusal("name: a100-pcie", "name: a100"),
            "3: a second GPU `a100` | remove one of the two");
  EXPECT_EQ(refusal("estimate: ", "guess: \"made up\"\n  estimate: "),
            "10: no figure has the source `guess` | remove it");
  EXPECT_EQ(refusal("gpus:", "cards:"),
            "1: the file has no `cards` | known names: sources, architectures, "
            "gpus");
}
