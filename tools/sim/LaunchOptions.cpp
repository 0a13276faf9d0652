// tools/sim/LaunchOptions.cpp - opens a launch for `analyze` and `debug` on the
// simulator.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/LaunchOptions.h"

#include "replay/Elements.h"
#include "simulator/isa/Targets.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Lists.h"
#include "tools/commands/OptionChecks.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <new>
#include <random>
#include <span>

namespace tessera::tools {

namespace fs = std::filesystem;

namespace {

uint64_t number(const std::string &text, const std::string &what) {
  uint64_t value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range)
    throw Error(what + " `" + text + "` is too large", "write 4 or 4,2,1");
  if (error != std::errc() || end != text.data() + text.size())
    throw Error(what + " `" + text + "` is not a whole number of 0 or more",
                "write 4 or 4,2,1");
  return value;
}

DType typeNamed(const std::string &name) {
  if (const auto type = dtypeFromText(name))
    return *type;
  throw Error("no type " + name,
              "known: i8 u8 i16 u16 fp16 bf16 i32 u32 fp32 i64 u64 fp64 "
              "fp8e4nv fp8e5");
}

// Collects buffers and parameters of a launch from --arg texts.
struct Arguments {
  std::deque<std::vector<uint8_t>> &buffers;
  std::vector<sim::Param> &params;
  sim::Memory &memory;
  std::mt19937 random{1};

  // Fills with small numbers of either sign, which are finite in every
  // floating-point type.
  void fill(std::span<uint8_t> to, DType type) {
    for (size_t at = 0, bytes = cases::elementBytes(type); at < to.size();
         at += bytes) {
      double value = std::uniform_real_distribution<>(-1, 1)(random);
      auto single = static_cast<float>(value);
      uint32_t bits;
      std::memcpy(&bits, &single, 4);
      uint16_t half = static_cast<uint16_t>(bits >> 16);
      if (type == DType::FP64)
        std::memcpy(&to[at], &value, 8);
      else if (type == DType::FP32)
        std::memcpy(&to[at], &bits, 4);
      else if (type == DType::BF16)
        std::memcpy(&to[at], &half, 2);
      else if (type == DType::FP16) { // 10 fraction bits, exponents 12 to 14
        half =
            static_cast<uint16_t>((half & 0x8000) | 0x3000 | (bits & 0x0bff));
        std::memcpy(&to[at], &half, 2);
      }
    }
  }

  // Adds fp32[1024], fp32[1024]=0, i32=5, fp32=0.5 or null.
  void add(const std::string &text) {
    size_t equals = text.find('='), open = text.find('[');
    if (text == "null") {
      params.push_back(sim::pointer(nullptr));
    } else if (open != std::string::npos) {
      size_t close = text.find(']', open);
      if (close == std::string::npos)
        throw Error("--arg " + text + " has no ]", "write fp32[1024]");
      const std::string name = text.substr(0, open);
      const DType type = typeNamed(name);
      uint64_t count =
          number(text.substr(open + 1, close - open - 1), "the length in");
      if (count > (uint64_t{1} << 32))
        throw Error("--arg " + text + " is too large", "4 Gi elements at most");
      // Aligns as cudaMalloc does, so that every run counts sectors and lines
      // in the same way.
      const uint64_t bytes = count * cases::elementBytes(type);
      std::vector<uint8_t> &buffer = buffers.emplace_back();
      try {
        buffer.resize(bytes + 256);
      } catch (const std::bad_alloc &) {
        throw Error("--arg " + text + " takes " + std::to_string(bytes) +
                        " bytes, more than there is memory",
                    "give fewer elements: " + name + "[4096]");
      }
      const auto base = reinterpret_cast<uintptr_t>(buffer.data());
      const std::span<uint8_t> aligned(buffer.data() + (256 - base % 256) % 256,
                                       bytes);
      if (equals == std::string::npos)
        fill(aligned, type);
      memory.add("arg" + std::to_string(params.size()), aligned.data(), bytes,
                 true);
      params.push_back(sim::pointer(aligned.data()));
    } else if (equals != std::string::npos) {
      const DType type = typeNamed(text.substr(0, equals));
      std::string value = text.substr(equals + 1);
      char *end = nullptr;
      if (type == DType::FP32)
        params.push_back(sim::scalar(std::strtof(value.c_str(), &end)));
      else if (type == DType::FP64)
        params.push_back(sim::scalar(std::strtod(value.c_str(), &end)));
      else {
        long long integer = std::strtoll(value.c_str(), &end, 0);
        sim::Param param = sim::scalar(integer);
        param.bytes.resize(cases::elementBytes(type));
        params.push_back(std::move(param));
      }
      if (value.empty() || *end)
        throw Error("--arg " + text + ": `" + value + "` is not a number",
                    "write i32=1024");
    } else {
      throw Error("cannot read --arg " + text,
                  "write fp32[1024] (random), fp32[1024]=0, i32=5 or null");
    }
  }
};

// Throws Error if the PTX is for a GPU that does not exist.
void checkTarget(const std::string &file, const std::string &target) {
  // Compute capabilities of PTX ISA 8.7.
  constexpr std::array<uint32_t, 24> capabilities = {
      10, 11, 12, 13, 20, 30, 32, 35, 37, 50, 52, 53,
      60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100};
  const uint32_t capability = sim::capabilityOf(target);
  const bool newer = capability > 100 && capability < 130;
  if (target.empty() || newer ||
      std::find(capabilities.begin(), capabilities.end(), capability) !=
          capabilities.end())
    return;
  throw Error(file + ": `.target " + target + "` does not name a GPU",
              "write the compute capability that the PTX is made for, such as "
              ".target sm_80 or .target sm_90");
}

std::string chooseKernel(const sim::Module &module,
                         const LaunchOptions &options) {
  const std::vector<std::string> kernels = module.kernels();
  if (!options.kernel.empty())
    return options.kernel;
  if (kernels.size() == 1)
    return kernels[0];
  throw Error(options.file + " has " + std::to_string(kernels.size()) +
                  " kernels",
              "choose one with --kernel: " + joined(kernels, ", "));
}

cases::SimLaunch fromText(const LaunchOptions &options, OpenedLaunch &opened) {
  if (!options.ptx.empty())
    throw Error("--ptx goes with the folder of a case, and " + options.file +
                    " is a file",
                "give the PTX alone, or a case and its PTX");
  cases::SimLaunch launch{
      sim::Module::load(readFile(options.file), options.file)};
  const sim::Module &module = launch.module;
  checkTarget(options.file, module.target());
  launch.kernel = chooseKernel(module, options);
  Arguments arguments{opened.buffers, launch.params, launch.memory, {}};
  for (const std::string &text : options.args)
    arguments.add(text);
  // The user may omit Triton's two trailing pointers to scratch memory.
  const std::vector<uint32_t> wanted = module.parameterBytes(launch.kernel);
  while (!options.args.empty() && launch.params.size() < wanted.size() &&
         launch.params.size() + 2 >= wanted.size())
    arguments.add("null");
  if (launch.params.size() != wanted.size())
    throw Error(launch.kernel + " takes " + std::to_string(wanted.size()) +
                    " parameters",
                "give one --arg for each; their sizes in bytes: " +
                    joined(wanted, ", "));
  launch.block = module.requiredBlock(launch.kernel);
  if (launch.block[0] == 0 && options.block.empty())
    throw Error(launch.kernel + " does not say its block size",
                "give --block 128");
  launch.grid = dimensions(options.grid, "--grid");
  return launch;
}

cases::SimLaunch fromCase(const LaunchOptions &options, OpenedLaunch &opened) {
  if (!options.args.empty())
    throw Error("--arg goes with PTX alone", "a case brings its arguments");
  opened.recorded.emplace(cases::loadCase(options.file));
  opened.memory = cases::fillMemory(*opened.recorded);
  const std::vector<cases::ArgumentMemory> &memory = opened.memory.arguments;
  const fs::path ptx =
      options.ptx.empty() ? fs::path("kernel.ptx") : fs::path(options.ptx);
  std::error_code error;
  if (options.edit)
    options.edit(*opened.recorded);
  else if (fs::is_regular_file(ptx, error) ||
           fs::is_regular_file(opened.recorded->folder / ptx, error))
    return cases::simLaunch(*opened.recorded, memory, ptx);
  if (!options.ptx.empty())
    throw Error("no file " + options.ptx,
                "--ptx is a path, or a name in the case's folder; without it "
                "the case's kernel is compiled");
  opened.compiled = opened.sharedGiven = true;
  return cases::compiledSimLaunch(*opened.recorded, memory,
                                  "sim:" + options.target);
}

} // namespace

sim::Dim3 dimensions(const std::string &text, const std::string &what) {
  sim::Dim3 result{1, 1, 1};
  size_t i = 0, start = 0;
  while (start <= text.size()) {
    size_t end = std::min(text.find(',', start), text.size());
    if (i == 3)
      throw Error(what + " has at most three numbers", "write 4,2,1");
    const uint64_t value = number(text.substr(start, end - start), what);
    if (value > std::numeric_limits<uint32_t>::max())
      throw Error(what + " `" + text + "` is too large", "write 4 or 4,2,1");
    result[i++] = static_cast<uint32_t>(value);
    start = end + 1;
  }
  return result;
}

std::unique_ptr<OpenedLaunch> openLaunch(const LaunchOptions &options) {
  auto opened = std::make_unique<OpenedLaunch>();
  std::error_code error;
  if (!fs::exists(options.file, error))
    throw Error("no file or folder " + options.file,
                "name PTX text, or the folder of a recorded case");
  const bool isCase = fs::is_directory(options.file, error);
  opened->launch =
      isCase ? fromCase(options, *opened) : fromText(options, *opened);
  cases::SimLaunch &launch = *opened->launch;
  if (!options.block.empty())
    launch.block = dimensions(options.block, "--block");
  opened->sharedGiven |= options.shared || !isCase;
  if (!isCase)
    launch.dynamicShared = options.shared.value_or(0);
  else if (options.shared)
    launch.dynamicShared = *options.shared;
  return opened;
}

const char *const launchHelp =
    "One --arg for each kernel parameter: TYPE[N] is a buffer of random "
    "numbers\n(zeros for integers or with =0), TYPE=VALUE a scalar, null a "
    "null pointer.\nA case (docs/cases.md) brings arguments and grid; its "
    "kernel is compiled unless\n--ptx names PTX, or kernel.ptx is in its "
    "folder. Every access is checked\n(docs/simulator.md).";

void addLaunchOptions(CLI::App &verb, LaunchOptions &options) {
  verb.add_option("file", options.file, "PTX text, or the folder of a case")
      ->required();
  verb.add_option("--ptx", options.ptx,
                  "PTX of the case: a file, or its name in the folder");
  verb.add_option("--kernel", options.kernel, "Entry, when there are several");
  verb.add_option("--grid", options.grid, "Blocks: x[,y[,z]]")
      ->capture_default_str();
  verb.add_option("--block", options.block,
                  "Threads: x[,y[,z]]; else what .reqntid says");
  verb.add_option("--shared", options.shared, "Bytes of dynamic shared memory");
  verb.add_option("--timeout", options.timeout,
                  "Seconds after which the launch is stopped")
      ->check(positiveNumber())
      ->capture_default_str();
  verb.add_option("--arg", options.args, "A parameter, in order")
      ->allow_extra_args(false);
}

} // namespace tessera::tools
