// tools/commands/Analyze.cpp - tessera analyze FILE.ptx: what a kernel does on
// the simulator. Copyright the tessera authors. SPDX-License-Identifier:
// Apache-2.0
#include "tools/commands/Command.h"

#include "runtime/sim/Estimate.h"
#include "runtime/sim/Sim.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Json.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <random>

namespace tessera::tools {
namespace {

struct Options {
  std::string file, kernel, target = "sm_80", grid = "1", block;
  std::vector<std::string> args;
  uint32_t shared = 0;
  bool json = false, serial = false;
};

uint64_t number(const std::string &text, const std::string &what) {
  uint64_t value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw Error(what + " `" + text + "` is no number", "write 4 or 4,2,1");
  return value;
}

sim::Dim3 dimensions(const std::string &text, const std::string &what) {
  sim::Dim3 result{1, 1, 1};
  size_t i = 0, start = 0;
  while (start <= text.size()) {
    size_t end = std::min(text.find(',', start), text.size());
    if (i == 3)
      throw Error(what + " has at most three numbers", "write 4,2,1");
    result[i++] =
        static_cast<uint32_t>(number(text.substr(start, end - start), what));
    start = end + 1;
  }
  return result;
}

unsigned bytesOf(const std::string &type) {
  static const std::map<std::string, unsigned> known = {
      {"i8", 1},  {"u8", 1},  {"i16", 2},  {"u16", 2}, {"fp16", 2}, {"bf16", 2},
      {"i32", 4}, {"u32", 4}, {"fp32", 4}, {"i64", 8}, {"u64", 8},  {"fp64", 8},
  };
  auto found = known.find(type);
  if (found == known.end())
    throw Error("no type " + type,
                "known: i8 u8 i16 u16 fp16 bf16 i32 u32 fp32 i64 u64 fp64");
  return found->second;
}

// Buffers and parameters of a launch from --arg texts.
struct Arguments {
  std::vector<std::vector<uint8_t>> buffers;
  std::vector<sim::Param> params;
  sim::Memory memory;
  std::mt19937 random{1};

  // Small numbers of either sign: finite in every floating type.
  void fill(std::vector<uint8_t> &to, const std::string &type) {
    for (size_t at = 0, bytes = bytesOf(type); at < to.size(); at += bytes) {
      double value = std::uniform_real_distribution<>(-1, 1)(random);
      auto single = static_cast<float>(value);
      uint32_t bits;
      std::memcpy(&bits, &single, 4);
      uint16_t half = static_cast<uint16_t>(bits >> 16);
      if (type == "fp64")
        std::memcpy(&to[at], &value, 8);
      else if (type == "fp32")
        std::memcpy(&to[at], &bits, 4);
      else if (type == "bf16")
        std::memcpy(&to[at], &half, 2);
      else if (type == "fp16") { // 10 bits of fraction, exponents 12 to 14
        half =
            static_cast<uint16_t>((half & 0x8000) | 0x3000 | (bits & 0x0bff));
        std::memcpy(&to[at], &half, 2);
      }
    }
  }

  // fp32[1024], fp32[1024]=0, i32=5, fp32=0.5, null
  void add(const std::string &text) {
    size_t equals = text.find('='), open = text.find('[');
    if (text == "null") {
      params.push_back(sim::pointer(nullptr));
    } else if (open != std::string::npos) {
      size_t close = text.find(']', open);
      if (close == std::string::npos)
        throw Error("--arg " + text + " has no ]", "write fp32[1024]");
      std::string type = text.substr(0, open);
      uint64_t count =
          number(text.substr(open + 1, close - open - 1), "the length in");
      if (count > (uint64_t{1} << 32))
        throw Error("--arg " + text + " is too large", "4 Gi elements at most");
      std::vector<uint8_t> &buffer =
          buffers.emplace_back(count * bytesOf(type));
      if (equals == std::string::npos)
        fill(buffer, type);
      memory.add("arg" + std::to_string(params.size()), buffer.data(),
                 buffer.size());
      memory.ranges.back().writable = true;
      params.push_back(sim::pointer(buffer.data()));
    } else if (equals != std::string::npos) {
      std::string type = text.substr(0, equals);
      std::string value = text.substr(equals + 1);
      unsigned bytes = bytesOf(type);
      char *end = nullptr;
      if (type == "fp32")
        params.push_back(sim::scalar(std::strtof(value.c_str(), &end)));
      else if (type == "fp64")
        params.push_back(sim::scalar(std::strtod(value.c_str(), &end)));
      else {
        long long integer = std::strtoll(value.c_str(), &end, 0);
        sim::Param param = sim::scalar(integer);
        param.bytes.resize(bytes);
        params.push_back(std::move(param));
      }
      if (value.empty() || *end)
        throw Error("--arg " + text + ": `" + value + "` is no number",
                    "write i32=1024");
    } else {
      throw Error("cannot read --arg " + text,
                  "write fp32[1024] (random), fp32[1024]=0, i32=5 or null");
    }
  }
};

double ratio(uint64_t a, uint64_t b) {
  return b ? static_cast<double>(a) / static_cast<double>(b) : 0;
}

// Instructions of one source line together.
struct LineSum {
  uint64_t issues = 0, lanes = 0, requests = 0, ways = 0, sectors = 0,
           tensor = 0;
};
std::map<std::string, LineSum> byLine(const sim::Counters &c) {
  std::map<std::string, LineSum> lines;
  for (const sim::InstructionCount &i : c.instructions) {
    if (!i.issues)
      continue;
    LineSum &sum = lines[i.source.empty() ? "-" : i.source];
    sum.issues += i.issues;
    sum.lanes += i.lanes;
    sum.requests += i.requests;
    sum.ways += i.ways;
    sum.sectors += i.sectors;
    sum.tensor += i.kind == sim::Class::Tensor ? i.issues : 0;
  }
  return lines;
}

Json toJson(const sim::Report &report, const sim::Estimate &e,
            const sim::Device &device) {
  const sim::Counters &c = report.counters;
  Json classes = Json::object(), lines = Json::object(), units = Json::object();
  for (unsigned k = 0; k < sim::NumClasses; ++k)
    if (c.byClass[k])
      classes[sim::className(static_cast<sim::Class>(k))] = c.byClass[k];
  for (const auto &[line, sum] : byLine(c))
    lines[line] = {
        {"warp_instructions", sum.issues}, {"lane_instructions", sum.lanes},
        {"memory_requests", sum.requests}, {"bank_passes", sum.ways},
        {"sectors", sum.sectors},          {"tensor_instructions", sum.tensor}};
  for (const auto &[unit, cycles] : e.units)
    units[unit] = cycles;
  Json findings = Json::array();
  for (const sim::Finding &f : report.findings)
    findings.push_back(f.text());
  return {{"kernel", report.kernel},
          {"findings", findings},
          {"blocks", c.blocks},
          {"warps", c.warps},
          {"warp_instructions", c.warpInstructions},
          {"lane_instructions", c.laneInstructions},
          {"tensor_instructions", c.tensorInstructions},
          {"classes", classes},
          {"shared_requests", c.sharedRequests},
          {"shared_passes", c.sharedWays},
          {"global_requests", c.globalRequests},
          {"global_sectors", c.globalSectors},
          {"l2_lines", c.l2Lines},
          {"async_groups_in_flight", c.asyncMaxGroups},
          {"barriers", c.barriers},
          {"lines", lines},
          {"estimate",
           {{"device", device.name},
            {"cycles", e.cycles},
            {"microseconds", e.microseconds},
            {"limited_by", e.limit},
            {"blocks_per_sm", e.blocksPerSm},
            {"units", units}}}};
}

void print(const sim::Report &report, const sim::Estimate &e,
           const sim::Device &device) {
  const sim::Counters &c = report.counters;
  auto row = [](const char *name, uint64_t value, const std::string &more) {
    std::printf("  %-26s %14llu  %s\n", name,
                static_cast<unsigned long long>(value), more.c_str());
  };
  char text[128];
  std::printf("%s: %llu blocks, %llu warps\n", report.kernel.c_str(),
              static_cast<unsigned long long>(c.blocks),
              static_cast<unsigned long long>(c.warps));
  std::snprintf(text, sizeof(text), "%.1f of 32 lanes at work",
                ratio(c.laneInstructions, c.warpInstructions));
  row("warp instructions", c.warpInstructions, text);
  for (unsigned k = 0; k < sim::NumClasses; ++k)
    if (c.byClass[k])
      row((std::string("  ") + sim::className(static_cast<sim::Class>(k)))
              .c_str(),
          c.byClass[k], "");
  std::snprintf(text, sizeof(text), "%.2f passes over the banks each",
                ratio(c.sharedWays, c.sharedRequests));
  row("shared-memory requests", c.sharedRequests, text);
  std::snprintf(text, sizeof(text), "%.2f sectors of 32 bytes each",
                ratio(c.globalSectors, c.globalRequests));
  row("global-memory requests", c.globalRequests, text);
  row("different 128-byte lines", c.l2Lines, "");
  row("async groups in flight", c.asyncMaxGroups, "at most, in a thread");
  std::printf("\n%-28s %12s %9s %9s %9s %8s\n", "source line", "warp instr.",
              "requests", "passes", "sectors", "tensor");
  for (const auto &[line, sum] : byLine(c))
    std::printf("%-28s %12llu %9llu %9llu %9llu %8llu\n",
                line.substr(0, line.find(',')).c_str(),
                static_cast<unsigned long long>(sum.issues),
                static_cast<unsigned long long>(sum.requests),
                static_cast<unsigned long long>(sum.ways),
                static_cast<unsigned long long>(sum.sectors),
                static_cast<unsigned long long>(sum.tensor));
  std::printf("\n%s: at least %.0f cycles, %.1f us, limited by %s; %u blocks "
              "fit an SM, %.0f%% of the SMs are busy\n",
              device.name.c_str(), e.cycles, e.microseconds, e.limit.c_str(),
              e.blocksPerSm, 100 * e.busySms);
  for (const auto &[unit, cycles] : e.units)
    if (cycles >= 0.1 * (e.cycles - device.launchCycles))
      std::printf("  %-26s %14.0f cycles\n", unit.c_str(), cycles);
}

int run(const Options &options) {
  const sim::Device device = sim::findDevice(options.target);
  const sim::Module module =
      sim::Module::load(readFile(options.file), options.file);
  const std::vector<std::string> kernels = module.kernels();
  std::string kernel = options.kernel;
  if (kernel.empty()) {
    if (kernels.size() != 1) {
      std::string names;
      for (const std::string &name : kernels)
        names += (names.empty() ? "" : ", ") + name;
      throw Error(options.file + " has " + std::to_string(kernels.size()) +
                      " kernels",
                  "choose one with --kernel: " + names);
    }
    kernel = kernels[0];
  }
  Arguments arguments;
  for (const std::string &text : options.args)
    arguments.add(text);
  // Triton's two pointers to scratch memory at the end may be left out.
  const std::vector<uint32_t> wanted = module.parameterBytes(kernel);
  while (!options.args.empty() && arguments.params.size() < wanted.size() &&
         arguments.params.size() + 2 >= wanted.size())
    arguments.add("null");
  if (arguments.params.size() != wanted.size()) {
    std::string sizes;
    for (uint32_t bytes : wanted)
      sizes += (sizes.empty() ? "" : ", ") + std::to_string(bytes);
    throw Error(kernel + " takes " + std::to_string(wanted.size()) +
                    " parameters",
                "give one --arg for each; their sizes in bytes: " + sizes);
  }
  sim::Dim3 block = module.requiredBlock(kernel);
  if (!options.block.empty())
    block = dimensions(options.block, "--block");
  else if (block[0] == 0)
    throw Error(kernel + " does not say its block size", "give --block 128");
  sim::Options simOptions;
  simOptions.serial = options.serial;
  const sim::Report report = module.launch(
      kernel, dimensions(options.grid, "--grid"), block, options.shared,
      arguments.params, arguments.memory, simOptions);
  const sim::Estimate e = sim::estimate(report.counters, device);
  if (options.json)
    std::printf("%s\n", toJson(report, e, device).dump(2).c_str());
  else if (report.ok())
    print(report, e, device);
  if (!report.output.empty())
    std::fprintf(stderr, "%s", report.output.c_str());
  if (!report.ok() && !options.json)
    std::fprintf(stderr, "%s\n", report.text().c_str());
  return report.ok() ? 0 : 1;
}

} // namespace

Command addAnalyze(CLI::App &app) {
  auto options = std::make_shared<Options>();
  CLI::App *verb = app.add_subcommand(
      "analyze",
      "Run PTX on the simulator: checks, counters, a cycle estimate");
  verb->footer(
      "Examples:\n"
      "  tessera analyze vadd.ptx --grid 4 --arg 'fp32[4096]' --arg "
      "'fp32[4096]' \\\n"
      "      --arg 'fp32[4096]' --arg i32=4096\n"
      "  tessera analyze matmul.ptx --grid 8,8 --shared 16384 --json --arg "
      "'fp16[262144]' ...\n\n"
      "One --arg for each kernel parameter: TYPE[N] is a buffer of random "
      "numbers\n(zeros for integers or with =0), TYPE=VALUE a scalar, null a "
      "null pointer.\nEvery access is checked (docs/simulator.md); the exit "
      "status is 1 when a\ncheck fires.");
  verb->add_option("file", options->file, "PTX text")->required();
  verb->add_option("--kernel", options->kernel,
                   "Entry, when there are several");
  verb->add_option("--target", options->target,
                   "Device of the estimate: sm_80 or sm_90")
      ->capture_default_str();
  verb->add_option("--grid", options->grid, "Blocks: x[,y[,z]]")
      ->capture_default_str();
  verb->add_option("--block", options->block,
                   "Threads: x[,y[,z]]; else what .reqntid says");
  verb->add_option("--shared", options->shared,
                   "Bytes of dynamic shared memory")
      ->capture_default_str();
  verb->add_option("--arg", options->args, "A parameter, in order")
      ->allow_extra_args(false);
  verb->add_flag("--json", options->json, "Print JSON");
  verb->add_flag("--serial", options->serial, "Blocks in order, on one core");
  return {verb, [options] { return run(*options); }};
}

} // namespace tessera::tools
