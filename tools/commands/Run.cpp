// tools/commands/Run.cpp - tessera run FILE: launches a kernel on generated or
// given tensors.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/Command.h"
#include "tools/commands/DeviceOption.h"
#include "tools/commands/OptionChecks.h"
#include "tools/commands/OutOption.h"

#include "replay/Buffer.h"
#include "replay/Elements.h"
#include "replay/Safetensors.h"
#include "runtime/launch/FindFile.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Lists.h"
#include "support/Names.h"
#include "tools/check/Child.h"
#include "tools/check/PlainLaunch.h"
#include "tools/check/Problem.h"
#include "tools/compile/Jobs.h"
#include "tools/sim/LaunchOptions.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>

namespace tessera::tools {
namespace {

struct RunOptions {
  std::string file, instance, input, output, grid;
  std::vector<std::string> args;
  std::vector<int64_t> lengths;
  std::string device;
  int64_t heads = 0;
  std::optional<int64_t> repeat;
};

// Returns the instance of the given name, and its kernel. Without a name,
// returns the first instance of the file.
std::pair<std::shared_ptr<const Description>, const language::Instance *>
findInstance(const RunOptions &options) {
  std::vector<std::string> known;
  std::pair<std::shared_ptr<const Description>, const language::Instance *>
      found;
  const std::vector<std::string> kernels =
      runtime::kernelNames(runtime::findTypedFile(options.file));
  if (kernels.empty())
    throw Error(options.file + " has no kernels",
                "a kernel is a function under @triton.jit");
  for (const std::string &kernel : kernels) {
    const auto description =
        runtime::describeKernel(runtime::findTypedFile(options.file), kernel);
    for (const language::Instance &instance :
         description->info.hints.instances) {
      known.push_back(instance.name);
      if (instance.name == options.instance ||
          (options.instance.empty() && !found.second))
        found = {description, &instance};
    }
  }
  if (!found.second)
    throw Error(
        known.empty()
            ? options.file + " names no instances"
            : options.file + " has no instance `" + options.instance + "`",
        known.empty()
            ? "write one above the kernel: # tessera: instance NAME(...)"
            : nearestNameHint(options.instance, known, "instances"));
  return found;
}

// A launch of an instance of the file, or of a kernel that --arg alone
// describes (a plain launch).
struct Launch {
  std::shared_ptr<const Description> kernel;
  language::Instance instance;
  Shape shape;
  std::map<std::string, Arg> scalars;
};

// Returns the kernel for a launch without an instance: the named kernel or the
// only one. Returns null if the launch uses an instance or if the file has no
// kernels. A file with instances has plain launches only if an --arg names a
// tensor.
std::shared_ptr<const Description> plainKernel(const RunOptions &options) {
  const std::string file = runtime::findTypedFile(options.file);
  const std::vector<std::string> kernels = runtime::kernelNames(file);
  bool instances = false;
  for (const std::string &name : kernels)
    instances |=
        !runtime::describeKernel(file, name)->info.hints.instances.empty();
  if (kernels.empty() ||
      (instances &&
       std::none_of(options.args.begin(), options.args.end(), namesTensor)))
    return nullptr;
  if (options.instance.empty() && kernels.size() > 1)
    throw Error(options.file + " has " + std::to_string(kernels.size()) +
                    " kernels",
                "name one: -i " + kernels.front());
  return runtime::describeKernel(
      file, options.instance.empty() ? kernels.front() : options.instance);
}

// Applies --arg x=3. A constexpr changes the instance; a size or a scalar
// changes the problem.
void applyArgs(const RunOptions &options, const Description &kernel,
               language::Instance &instance, Shape &shape,
               std::map<std::string, Arg> &scalars) {
  std::vector<std::string> known = namesOf(kernel.info.signature.parameters,
                                           &language::KernelParameter::name);
  for (const auto &[name, value] : shape.sizes)
    known.push_back(name);
  for (const std::string &argument : options.args) {
    const auto [name, text] = nameAndValue(argument, "--arg");
    const language::Value value = argumentValue(kernel, name, text);
    const int index = kernel.info.signature.find(name);
    if (index < 0 && !shape.sizes.count(name))
      throw Error("kernel `" + kernel.info.signature.kernel +
                      "` has no argument or size `" + name + "`",
                  nearestNameHint(name, known, "arguments"));
    if (index >= 0 &&
        kernel.info.signature.parameters[size_t(index)].isConstexpr) {
      instance.arguments[size_t(index)] = language::argumentFromValue(
          kernel.info.signature.parameters[size_t(index)], value);
    } else if (const auto number = value.asInt()) {
      shape.sizes[name] = int64_t(*number);
      scalars[name] = int64_t(*number);
    } else if (const auto real = value.asFloat()) {
      scalars[name] = *real;
    } else {
      throw Error("--arg " + name + " is " + value.repr() +
                      ", which is not a number",
                  "tensors come from --input FILE.safetensors");
    }
  }
}

std::string shapeText(const std::vector<int64_t> &shape) {
  return "[" + joined(shape, ", ") + "]";
}

// Returns a packed tensor with the stored elements.
Tensor fromStored(const std::string &name, const cases::StoredTensor &stored,
                  const Tensor &wanted) {
  if (stored.dtype != cases::storedName(wanted.type()) ||
      stored.shape != wanted.shape())
    throw Error("`" + name + "` is " + stored.dtype + " " +
                    shapeText(stored.shape) + " in the file, but the launch " +
                    "needs " + cases::storedName(wanted.type()) + " " +
                    shapeText(wanted.shape()),
                "change --lengths, --heads or --arg for other sizes, and -i "
                "for other types");
  Tensor packed(wanted.type(), stored.shape);
  std::memcpy(packed.data(), stored.bytes.data(),
              std::min(packed.bytes(), stored.bytes.size()));
  return packed;
}

cases::StoredTensor toStored(const Tensor &tensor) {
  Tensor packed(tensor.type(), tensor.shape());
  for (int64_t i = 0, end = tensor.count(); i < end; ++i)
    packed.set(i, tensor.at(i));
  cases::StoredTensor stored;
  stored.dtype = cases::storedName(tensor.type());
  stored.shape = tensor.shape();
  stored.bytes.assign(static_cast<const char *>(packed.data()),
                      size_t(tensor.count()) *
                          cases::elementBytes(tensor.type()));
  return stored;
}

void printTensor(const std::string &name, const Tensor &tensor) {
  double low = INFINITY, high = -INFINITY, sum = 0, squares = 0;
  int64_t finite = 0, other = 0;
  for (int64_t i = 0, end = tensor.count(); i < end; ++i) {
    const double value = tensor.at(i);
    if (!std::isfinite(value)) {
      ++other;
      continue;
    }
    ++finite;
    low = std::min(low, value);
    high = std::max(high, value);
    sum += value;
    squares += value * value;
  }
  std::printf("%s: %s %s", name.c_str(), dtypeName(tensor.type()),
              shapeText(tensor.shape()).c_str());
  if (finite)
    std::printf(", %.6g to %.6g, mean %.6g, RMS %.6g", low, high,
                sum / double(finite), std::sqrt(squares / double(finite)));
  if (other)
    std::printf(", %lld NaN or infinite", static_cast<long long>(other));
  std::printf("\n");
}

Shape shapeOf(const RunOptions &options, const Description &kernel,
              const language::Instance &instance) {
  Shape shape;
  if (kernel.has("CU") && !options.lengths.empty()) {
    shape = packedShape(options.lengths, 1);
    shape.text.clear();
  } else {
    shape = shapesOf(kernel, instance).back();
  }
  if (options.heads)
    shape.sizes["H"] = options.heads;
  return shape;
}

Launch launchOf(const RunOptions &options) {
  if (auto kernel = plainKernel(options)) {
    if (!options.lengths.empty() || options.heads)
      throw Error(
          "--lengths and --heads need an instance, and a tensor in --arg "
          "replaces the instances",
          "give every size with --arg, such as --arg x=fp32[1000]");
    PlainLaunch plain = plainLaunch(*kernel, options.args);
    return {std::move(kernel), std::move(plain.instance),
            std::move(plain.shape), std::move(plain.scalars)};
  }
  const auto [kernel, found] = findInstance(options);
  Launch launch{kernel, *found, shapeOf(options, *kernel, *found), {}};
  applyArgs(options, *kernel, launch.instance, launch.shape, launch.scalars);
  return launch;
}

// Parses "8,4,2". Throws Error, also for more than 2^30 programs on an axis.
Grid gridOf(const std::string &text) {
  const sim::Dim3 numbers = dimensions(text, "the value");
  Grid grid{1, 1, 1};
  for (size_t i = 0; i < grid.size(); ++i) {
    grid[i] = numbers[i];
    if (grid[i] > 1u << 30)
      // The parser prints the name of the option before this text.
      throw Error("the value " + text +
                      " has more than 2^30 programs on an axis",
                  "launch fewer programs that do more each");
  }
  return grid;
}

// Returns " plain N=100": the text of the shape and the sizes that are not in
// it.
std::string sizesOf(const Shape &shape) {
  std::string text = shape.text.empty() ? "" : " " + shape.text;
  for (const auto &[name, value] : shape.sizes) {
    const std::string word = " " + name + "=" + std::to_string(value);
    if ((text + " ").find(word + " ") == std::string::npos)
      text += word;
  }
  return text;
}

int run(const RunOptions &options) {
  const auto [kernel, instance, shape, scalars] = launchOf(options);
  Problem problem(kernel, instance, shape);
  problem.setDevice(options.device);
  for (const auto &[name, value] : scalars)
    problem.setScalar(name, value);
  Tensors tensors = problem.tensors();
  if (!options.input.empty()) {
    const auto stored =
        cases::readSafetensors(readFile(options.input), options.input);
    for (const auto &[name, tensor] : stored) {
      if (!tensors.count(name))
        throw Error(options.input + " holds `" + name +
                        "`, which is not a tensor of the kernel",
                    nearestNameHint(name, namesOf(std::views::keys(tensors)),
                                    "tensors"));
      tensors[name] = fromStored(name, tensor, tensors.at(name));
    }
  }
  std::optional<Grid> grid;
  if (options.grid.empty() && !kernel->info.hints.grid)
    throw Error("the number of programs of `" + kernel->info.signature.kernel +
                    "` is not known",
                "write --grid 8, --grid 8,4 or --grid 8,4,2");
  if (!options.grid.empty())
    grid = gridOf(options.grid);

  Tensors before;
  for (const auto &[name, tensor] : tensors)
    before[name] = tensor.copy();
  problem.run(*kernel, tensors, grid);
  cases::Tensors changed;
  for (const auto &[name, tensor] : tensors)
    if (!tensor.sameBytes(before.at(name)))
      changed[name] = toStored(tensor);

  Tensors scratch;
  for (const auto &[name, tensor] : before)
    scratch[name] = tensor.copy();
  std::vector<double> times;
  // By default a simulation is not repeated, because its duration is not a
  // performance measurement.
  const int64_t repeat =
      options.repeat.value_or(options.device == "cpu" ? 5 : 0);
  for (int64_t i = 0; i < repeat; ++i) {
    const auto start = std::chrono::steady_clock::now();
    problem.run(*kernel, scratch, grid);
    times.push_back(std::chrono::duration<double, std::milli>(
                        std::chrono::steady_clock::now() - start)
                        .count());
  }
  std::sort(times.begin(), times.end());

  std::printf("%s,%s on %s\n", instance.name.c_str(), sizesOf(shape).c_str(),
              options.device == "cpu" ? hostTarget().c_str()
                                      : options.device.c_str());
  if (!times.empty())
    std::printf("%.3f ms (median of %zu; %.3f to %.3f)\n",
                times[times.size() / 2], times.size(), times.front(),
                times.back());
  if (changed.empty())
    std::printf("no tensor changed\n");
  for (const auto &parameter : kernel->info.signature.parameters)
    if (const std::string name = tensorName(parameter.name);
        changed.count(name))
      printTensor(name, tensors.at(name));
  if (!options.output.empty()) {
    writeOutput(options.output, cases::writeSafetensors(changed));
    std::printf("wrote %s\n", options.output.c_str());
  }
  return 0;
}

} // namespace

Command addRun(CLI::App &app) {
  auto options = std::make_shared<RunOptions>();
  CLI::App *verb =
      app.add_subcommand("run", "Launch a kernel on random or given tensors");
  verb->add_option("file", options->file, "kernel file (.py)")->required();
  verb->add_option("-i,--instance", options->instance,
                   "instance, or kernel of a file without instances; "
                   "default: the first");
  verb->add_option("--grid", options->grid,
                   "programs: X, or X,Y,Z; default: the hint grid(...)")
      ->check([](const std::string &text) -> std::string {
        try {
          gridOf(text);
          return "";
        } catch (const Error &error) {
          return error.message;
        }
      });
  verb->add_option("--arg", options->args,
                   "NAME=value of a scalar, a size or a constexpr; "
                   "NAME=fp32[100,64] of a tensor replaces the instances of "
                   "the file")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  verb->add_option("--lengths", options->lengths,
                   "tokens of each packed sequence: 1000,24")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(int64_t(0), int64_t(1) << 24));
  verb->add_option("--heads", options->heads, "key/value heads")
      ->check(positiveNumber());
  verb->add_option("--input", options->input,
                   "tensors by name (safetensors); others are random")
      ->check(notEmpty());
  addOut(*verb, options->output,
         "where to write the tensors that changed (safetensors)");
  addDeviceOption(*verb, options->device);
  verb->add_option("--repeat", options->repeat,
                   "timed launches, each on the results of the one before; "
                   "default: 5, none on a simulated GPU")
      ->check(CLI::Range(int64_t(0), int64_t(100000)));
  verb->footer(
      "Examples:\n"
      "  tessera run kernels/tutorials/dilated_window.py --lengths 1000,24 "
      "--heads 2\n"
      "  tessera run add.py -i small --arg N=100000 --arg BLOCK=256\n"
      "  tessera run plain.py --arg x=fp32[1000] --arg out=fp32[1000] --arg "
      "n=1000 --arg BLOCK=128 --grid 8\n"
      "  tessera run mine.py --input in.safetensors --out out.safetensors\n"
      "  tessera run mine.py --device sim:sm_80 --lengths 100\n"
      "\nArguments get their values by name and hints, as in tessera check.");
  return {verb, [options] {
            options->device = chosenDevice(options->device);
            if (const auto ended = continueInChild())
              return *ended;
            return run(*options);
          }};
}

} // namespace tessera::tools
