// tools/commands/Check.cpp - tessera check FILE: compares a kernel with its
// reference, and its gradients with finite differences.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/Command.h"
#include "tools/commands/DeviceOption.h"

#include "language/pattern/Pattern.h"
#include "replay/Elements.h"
#include "runtime/launch/FindFile.h"
#include "runtime/launch/PatternFile.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Lists.h"
#include "support/Names.h"
#include "support/Options.h"
#include "tools/check/Child.h"
#include "tools/check/Gradients.h"
#include "tools/check/MaskedTiles.h"
#include "tools/check/OnePass.h"
#include "tools/check/Problem.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <limits>
#include <memory>
#include <optional>

namespace tessera::tools {
namespace {

struct CheckOptions {
  std::string file, kernel, reference;
  std::vector<std::string> instances, backward;
  std::string device;
  bool noGradients = false;
};

// Returns the limit of the relative RMS error by the type of the kernel's
// tensors (docs/numerics.md).
double limitOf(const Tensors &tensors) {
  double limit = 1e-12;
  for (const auto &[name, tensor] : tensors)
    switch (tensor.type()) {
    case DType::FP16:
    case DType::BF16:
      return 5e-3;
    case DType::FP32:
      limit = std::max(limit, 1e-5);
      break;
    default:
      break;
    }
  // Tensors are fp64, but scalar arguments are fp32.
  return limit;
}

// Returns the tensors with floats as fp32, which the reference takes.
Tensors forReference(const Tensors &tensors) {
  Tensors result;
  for (const auto &[name, tensor] : tensors)
    result[name] = tensor.isFloat() && cases::elementBytes(tensor.type()) < 4
                       ? tensor.as(DType::FP32)
                       : tensor.copy();
  return result;
}

Tensors copies(const Tensors &tensors) {
  Tensors result;
  for (const auto &[name, tensor] : tensors)
    result[name] = tensor.copy();
  return result;
}

bool hasNan(const Tensor &tensor) {
  for (int64_t i = 0, end = tensor.count(); i < end; ++i)
    if (tensor.at(i) != tensor.at(i))
      return true;
  return false;
}

// The tensors that the launches write, and those among them that they also
// read.
struct Outputs {
  std::vector<std::string> names;
  std::vector<std::string> inPlace;
};

Outputs findOutputs(const Problem &problem, const Description &kernel,
                    const Description &reference) {
  Outputs outputs;
  const Tensors plain = forReference(problem.tensors());
  Tensors byReference = copies(plain), byKernel = copies(problem.tensors());
  problem.run(reference, byReference);
  problem.run(kernel, byKernel);
  for (const auto &parameter : kernel.info.signature.parameters) {
    const std::string name = tensorName(parameter.name);
    if (!byKernel.count(name))
      continue;
    const Tensor &tensor = byKernel.at(name);
    if (!tensor.sameBytes(problem.tensors().at(name)) ||
        !byReference.at(name).sameBytes(plain.at(name)))
      outputs.names.push_back(name);
  }
  if (outputs.names.empty())
    throw Error("neither `" + kernel.info.signature.kernel +
                    "` nor its reference changes a tensor",
                "a kernel stores its results; is a grid of its hint 0?");
  // Fills outputs with NaN, which shows elements that are not written. A tensor
  // that is also read would spread the NaN.
  Tensors poisoned = copies(plain);
  for (const std::string &name : outputs.names)
    if (poisoned.at(name).isFloat())
      poisoned.at(name).fill(std::numeric_limits<double>::quiet_NaN());
  problem.run(reference, poisoned);
  for (const std::string &name : outputs.names)
    if (poisoned.at(name).isFloat() && hasNan(poisoned.at(name)) &&
        !hasNan(byReference.at(name)))
      outputs.inPlace.push_back(name);
  return outputs;
}

void printNumber(double value) { std::printf("  %9.1e", value); }

void printMismatch(const std::string &name, const std::string &place,
                   const Difference &difference) {
  std::printf("    %s%s is %.9g, the reference says %.9g", name.c_str(),
              place.c_str(), difference.value, difference.expected);
  if (difference.wrong > 1)
    std::printf(" (the first of %lld elements that are off)",
                static_cast<long long>(difference.wrong));
  std::printf("\n");
}

class Checker {
public:
  Checker(const CheckOptions &options, const std::string &name,
          const std::string &reference)
      : options(options), kernel(runtime::describeKernel(
                              runtime::findTypedFile(options.file), name)),
        reference(runtime::describeKernel(runtime::findTypedFile(options.file),
                                          reference)) {
    for (const std::string &other : backwardNames())
      backward.push_back(
          runtime::describeKernel(runtime::findTypedFile(options.file), other));
    // The one-pass kernel writes the same gradients as the others.
    const auto found =
        std::find_if(backward.begin(), backward.end(),
                     [](const DescriptionPtr &one) { return isOnePass(*one); });
    if (backward.size() > 1 && found != backward.end()) {
      onePass = *found;
      backward.erase(found);
    }
  }

  // Returns the number of wrong lines.
  int run() {
    makeRows();
    compileAll();
    findAllOutputs();
    const std::string name = kernel->info.signature.kernel;
    std::printf("%s against %s, relative RMS errors\n", name.c_str(),
                reference->info.signature.kernel.c_str());
    printHeading(outputs.names);
    for (Row &row : rows)
      checkRow(row);
    if (!backward.empty() && !options.noGradients) {
      checkBackward();
      if (onePass && options.device == "cpu")
        checkOnePass();
    }
    printLengths();
    printMaskedTiles();
    return failures;
  }

private:
  struct Row {
    std::string label, shape;
    std::unique_ptr<Problem> problem;
    bool isInstance = true; // false: a configuration
  };

  std::vector<std::string> backwardNames() const {
    const auto names =
        runtime::kernelNames(runtime::findTypedFile(options.file));
    if (!options.backward.empty())
      return options.backward;
    const std::string prefix = kernel->info.signature.kernel + "_bwd";
    std::vector<std::string> found;
    for (const std::string &other : names)
      if (other == prefix || other.starts_with(prefix + "_"))
        found.push_back(other);
    return found;
  }

  std::vector<const language::Instance *> wantedInstances() const {
    const std::vector<std::string> known =
        namesOf(kernel->info.hints.instances, &language::Instance::name);
    std::vector<const language::Instance *> wanted;
    for (const language::Instance &instance : kernel->info.hints.instances)
      if (options.instances.empty() ||
          isListed(options.instances, instance.name))
        wanted.push_back(&instance);
    for (const std::string &name : options.instances)
      if (!isListed(known, name))
        throw Error("kernel `" + kernel->info.signature.kernel +
                        "` has no instance `" + name + "`",
                    nearestNameHint(name, known, "instances"));
    if (wanted.empty())
      throw Error("kernel `" + kernel->info.signature.kernel +
                      "` names no instances",
                  "write above it the types to check, for example: # tessera: "
                  "instance small(X=\"*fp32:16\", N=\"i32\", BLOCK=64)");
    return wanted;
  }

  // Returns the shape for configurations. Packed sequences use the shape that
  // has every class of tile.
  static const Shape &shapeForConfigurations(const std::vector<Shape> &shapes) {
    const size_t third = std::min<size_t>(2, shapes.size() - 1);
    return shapes.back().reason.empty() ? shapes[third] : shapes.back();
  }

  void makeRows() {
    for (const language::Instance *instance : wantedInstances()) {
      const auto shapes = shapesOf(*kernel, *instance);
      for (const Shape &shape : shapes)
        rows.push_back({instance->name, shape.text,
                        std::make_unique<Problem>(kernel, *instance, shape),
                        true});
      // Launches without an instance use the configurations, so each of these
      // is checked.
      const bool cpu = options.device == "cpu";
      if (instance == &kernel->info.hints.instances.front())
        for (const auto &config :
             cpu ? kernel->info.hints.cpuConfigs : kernel->info.configs) {
          const Shape &shape = shapeForConfigurations(shapes);
          std::string values =
              joined(config.constexprs, ", ", [](const auto &entry) {
                return entry.first + "=" + entry.second.repr();
              });
          if (!cpu && config.numWarps)
            values += ", num_warps=" + std::to_string(*config.numWarps);
          if (!cpu && config.numStages)
            values += ", num_stages=" + std::to_string(*config.numStages);
          rows.push_back({(cpu ? "cpu(" : "Config(") + values + ")", shape.text,
                          std::make_unique<Problem>(kernel, *instance, shape),
                          false});
          rows.back().problem->setTiles(config);
        }
    }
    for (const Row &row : rows)
      place(*row.problem);
  }

  // Sets the device of the kernels. The reference runs on the cpu.
  void place(Problem &problem) const {
    std::vector<const Description *> others;
    for (const DescriptionPtr &one : backward)
      others.push_back(one.get());
    problem.setDevice(options.device, others);
  }

  void compileAll() {
    std::vector<LaunchRequest> requests;
    for (const Row &row : rows) {
      requests.push_back(row.problem->request(*kernel, row.problem->tensors()));
      held.push_back(forReference(row.problem->tensors()));
      requests.push_back(row.problem->request(*reference, held.back()));
    }
    precompile(requests);
    held.clear();
  }

  // Finds the outputs of the first nonempty shape. All shapes write the same
  // tensors.
  void findAllOutputs() {
    outputs = findOutputs(*rows[std::min<size_t>(1, rows.size() - 1)].problem,
                          *kernel, *reference);
  }

  void printHeading(const std::vector<std::string> &names) {
    labelWidth = 8;
    shapeWidth = 5;
    for (const Row &row : rows) {
      labelWidth = std::max(labelWidth, int(row.label.size()));
      shapeWidth = std::max(shapeWidth, int(row.shape.size()));
    }
    std::printf("  %-*s  %-*s", labelWidth, "instance", shapeWidth, "shape");
    for (const std::string &name : names)
      std::printf("  %9s", name.c_str());
    std::printf("\n");
  }

  void printVerdict(bool good, double limit) {
    if (good)
      std::printf("  ok\n");
    else
      std::printf("  WRONG (limit %.0e)\n", limit);
    failures += !good;
    std::fflush(stdout);
  }

  void checkRow(Row &row) {
    const Problem &problem = *row.problem;
    Tensors got = copies(problem.tensors()),
            want = forReference(problem.tensors());
    for (const std::string &name : outputs.names)
      if (!isListed(outputs.inPlace, name))
        for (Tensors *side : {&got, &want})
          side->at(name).fill(side->at(name).isFloat()
                                  ? std::numeric_limits<double>::quiet_NaN()
                                  : -99);
    problem.run(*kernel, got);
    problem.run(*reference, want);
    const double limit = limitOf(problem.tensors());
    std::printf("  %-*s  %-*s", labelWidth, row.label.c_str(), shapeWidth,
                row.shape.c_str());
    bool good = true;
    std::vector<std::pair<std::string, Difference>> wrong;
    for (const std::string &name : outputs.names) {
      const Difference difference = compare(got.at(name), want.at(name), limit);
      printNumber(difference.error);
      if (!difference.ok(limit))
        wrong.emplace_back(name, difference);
      good &= difference.ok(limit);
    }
    printVerdict(good, limit);
    for (const auto &[name, difference] : wrong)
      if (difference.where >= 0)
        printMismatch(name, got.at(name).place(difference.where), difference);
  }

  std::string backwardList() const {
    return joined(backward, ", ", [](const DescriptionPtr &one) {
      return one->info.signature.kernel;
    });
  }

  void checkBackward() {
    const GradientCheck check{kernel, reference, backward, outputs.names};
    const auto names = gradientNames(check);
    std::printf("%s against finite differences of %s in fp64\n",
                backwardList().c_str(),
                reference->info.signature.kernel.c_str());
    printHeading(names);
    for (const language::Instance *instance : wantedInstances())
      for (const Shape &shape : gradientShapesOf(*kernel, *instance)) {
        Problem problem(kernel, *instance, shape);
        place(problem);
        printGradients(
            instance->name, shape, names, limitOf(problem.tensors()),
            checkGradients(check, problem, limitOf(problem.tensors())));
      }
  }

  // Compares the one-pass kernel on the CPU, where the op runs it.
  void checkOnePass() {
    const GradientCheck check{kernel, reference, backward, outputs.names};
    const auto names = gradientNames(check);
    std::printf("%s against %s\n", onePass->info.signature.kernel.c_str(),
                backwardList().c_str());
    printHeading(names);
    for (const language::Instance *instance : wantedInstances())
      for (Shape shape : gradientShapesOf(*kernel, *instance)) {
        shape.sizes["shares"] = 1;
        const Problem problem(kernel, *instance, shape);
        const double limit = limitOf(problem.tensors());
        std::map<std::string, GradientResult> results;
        for (const auto &[name, difference] :
             compareOnePass(check, onePass, problem, limit))
          results[name] = {difference,
                           problem.tensors()
                               .at(name.substr(1))
                               .place(std::max<int64_t>(difference.where, 0))};
        if (!results.empty())
          printGradients(instance->name, shape, names, limit, results);
      }
  }

  // Prints the lengths that `tessera check` chose, and why.
  void printLengths() const {
    for (const Row &row : rows) {
      const Shape &shape = row.problem->shape();
      if (shape.reason.empty() || !row.isInstance)
        continue;
      std::printf("%s compared at up to %lld tokens: %s\n", row.label.c_str(),
                  static_cast<long long>(shape.sizes.at("S")),
                  shape.reason.c_str());
    }
  }

  // Prints the tiles of the first instance that are computed but entirely
  // masked. They cost time and do not change results.
  void printMaskedTiles() const {
    const auto tiles = countMaskedTiles(*kernel, *wantedInstances().front());
    if (!tiles || !tiles->computed)
      return;
    const double share = double(tiles->masked) / double(tiles->computed);
    std::printf("%s computes %lld tiles at %lld tokens, %lld of them (%.0f%%) "
                "wholly masked\n",
                kernel->info.signature.kernel.c_str(),
                static_cast<long long>(tiles->computed),
                static_cast<long long>(tiles->tokens),
                static_cast<long long>(tiles->masked), 100 * share);
    if (share > 0.25)
      std::printf("HINT: leave such tiles out, by the bounds of the loop or by "
                  "an `if needed(...)` as in the file of tessera new\n");
  }

  void printGradients(const std::string &label, const Shape &shape,
                      const std::vector<std::string> &names, double limit,
                      const std::map<std::string, GradientResult> &results) {
    std::printf("  %-*s  %-*s", labelWidth, label.c_str(), shapeWidth,
                shape.text.c_str());
    bool good = true;
    for (const std::string &name : names) {
      printNumber(results.at(name).difference.error);
      good &= results.at(name).difference.ok(limit);
    }
    printVerdict(good, limit);
    if (!shape.remark.empty())
      std::printf("    %s\n", shape.remark.c_str());
    for (const std::string &name : names)
      if (const GradientResult &result = results.at(name);
          result.difference.where >= 0)
        printMismatch(name, result.place, result.difference);
  }

  const CheckOptions &options;
  DescriptionPtr kernel, reference;
  std::vector<DescriptionPtr> backward;
  DescriptionPtr onePass; // or null
  std::vector<Row> rows;
  std::deque<Tensors> held; // alive until their requests are prepared
  Outputs outputs;
  int labelWidth = 0, shapeWidth = 0;
  int failures = 0;
};

// Returns the kernels to check, each with its reference.
std::vector<std::pair<std::string, std::string>>
pairsOf(const CheckOptions &options) {
  const auto names = runtime::kernelNames(runtime::findTypedFile(options.file));
  if (!options.kernel.empty()) {
    const std::string reference =
        options.reference.empty() ? options.kernel + "_ref" : options.reference;
    for (const std::string &name : {options.kernel, reference})
      if (!isListed(names, name))
        throw Error(options.file + " has no kernel `" + name + "`",
                    nearestNameHint(name, names, "kernels"));
    return {{options.kernel, reference}};
  }
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string &name : names)
    if (isListed(names, name + "_ref"))
      pairs.emplace_back(name, name + "_ref");
  if (!options.reference.empty()) {
    if (!isListed(names, options.reference))
      throw Error(options.file + " has no kernel `" + options.reference + "`",
                  nearestNameHint(options.reference, names, "kernels"));
    if (pairs.size() != 1)
      throw Error("--reference needs to know which kernel it is for",
                  "name it with --kernel");
    pairs[0].second = options.reference;
  }
  if (pairs.empty()) {
    for (const std::string &name : names) // reports a misspelt directive
      runtime::describeKernel(runtime::findTypedFile(options.file), name);
    throw Error(options.file + " has no kernel with a reference",
                "write a plain kernel NAME_ref next to NAME, or give both with "
                "--kernel and --reference");
  }
  return pairs;
}

int run(const CheckOptions &options) {
  // The limits assume dots of full precision.
  if (options.device != "cpu")
    ::setenv(optionInfo(Option::F32Default).name, "ieee", 0);
  int failures = 0;
  for (const auto &[name, reference] : pairsOf(options))
    failures += Checker(options, name, reference).run();
  if (failures)
    std::printf("%d lines are wrong\n", failures);
  return failures ? 1 : 0;
}

} // namespace

namespace {

// Checks a pattern that selects blocks: a program with LibTorch compares its
// ops with plain torch, because it has no kernel that is a reference. Returns
// nullopt for any other file.
std::optional<int> checkSelectedPattern(const CheckOptions &options) {
  const std::string file = runtime::findTypedFile(options.file);
  if (!language::isPattern(readFile(file)) ||
      !runtime::readPatternFile(file)->selection)
    return std::nullopt;
  if (!options.kernel.empty() || !options.reference.empty() ||
      !options.instances.empty() || !options.backward.empty() ||
      options.noGradients)
    throw Error(file + " selects blocks: check takes the file and --device",
                "leave the other options away");
  ::setenv("TESSERA_DEVICE", options.device.c_str(), 1);
  ::setenv("TESSERA_F32_DEFAULT", "ieee", 1); // the reference is exact
  return execTrain({"check-pattern", file});
}

} // namespace

Command addCheck(CLI::App &app) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App *verb = app.add_subcommand(
      "check", "Compare a kernel with its reference over many shapes");
  verb->add_option("file", options->file, "kernel file (.py)")->required();
  verb->add_option("-k,--kernel", options->kernel,
                   "kernel to check; default: all that have a NAME_ref");
  verb->add_option("-r,--reference", options->reference,
                   "plain kernel with the same arguments; default: NAME_ref");
  verb->add_option("-i,--instance", options->instances,
                   "only this `# tessera: instance`")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  verb->add_option("-b,--backward", options->backward,
                   "backward kernel; default: all named NAME_bwd...")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  addDeviceOption(*verb, options->device);
  verb->add_flag("--no-gradients", options->noGradients,
                 "leave backward kernels out");
  verb->footer(
      "Examples:\n"
      "  tessera check kernels/tutorials/dilated_window.py\n"
      "  tessera check mine.py -k mine -r plain -i small\n"
      "  tessera check mine.py --device sim:sm_80 --no-gradients\n\n"
      "Shapes come from the names of the arguments and from hints in the file; "
      "docs/authoring.md\nlists them. Exit status 1: something differs.");
  return {verb, [options] {
            options->device = chosenDevice(options->device);
            if (const auto done = checkSelectedPattern(*options))
              return *done;
            if (const auto ended = continueInChild())
              return *ended;
            return run(*options);
          }};
}

} // namespace tessera::tools
