// ops/attention/CustomKernels.cpp - attention kernels of a user's file;
// arguments are bound by the names of the parameters.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/CustomKernels.h"

#include "ops/launch/Launch.h"
#include "ops/launch/LaunchSpan.h"
#include "ops/launch/PythonInterrupt.h"
#include "runtime/launch/PatternFile.h"
#include "runtime/launch/TensorExtent.h"
#include "support/ArgumentError.h"
#include "support/Lists.h"
#include "support/Names.h"
#include "support/Text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <mutex>

namespace tessera::runtime {
namespace {

const std::vector<std::string> &tensorNames() {
  static const std::vector<std::string> names = {
      "Q", "K", "V", "O", "LSE", "CU", "DO", "DELTA", "DQ", "DK", "DV"};
  return names;
}

// Returns the sizes that a kernel may take as constexprs. In a kernel without
// DT, DP alone covers D.
Constexprs sizesOf(const NamedKernel &kernel, const Attention &a) {
  const HeadSlices key = kernel.has("DT")
                             ? headSlices(a.keyDim)
                             : HeadSlices{nextPowerOfTwo(a.keyDim), 0};
  return {{"G", a.group},    {"D", a.keyDim},
          {"DP", key.first}, {"DT", key.tail},
          {"E", a.valueDim}, {"EP", nextPowerOfTwo(a.valueDim)}};
}

void checkParameters(const NamedKernel &kernel,
                     const std::vector<std::string> &learned,
                     const std::vector<std::string> &perSequence) {
  std::vector<std::string> tensors = tensorNames();
  for (const std::string &name : learned)
    tensors.insert(tensors.end(), {name, "D" + name});
  tensors.insert(tensors.end(), perSequence.begin(), perSequence.end());
  for (const auto &parameter : kernel.description->info.signature.parameters) {
    const auto stride = strideName(parameter.name);
    if (parameter.isConstexpr || isListed(tensors, parameter.name) ||
        parameter.name == "scale" || parameter.name == "T" ||
        parameter.name == "nseq" || parameter.name == "shares" ||
        (stride && isListed(tensors, stride->tensor)))
      continue;
    std::vector<std::string> known = tensors;
    known.insert(known.end(), {"scale", "T", "nseq", "shares"});
    throw Error("attention kernel `" + kernel.name() + "` of " +
                    kernel.description->file + " has a parameter `" +
                    parameter.name + "` that nothing is passed for",
                nearestNameHint(parameter.name, known, "names") +
                    "; strides are sqt, sqh and so on, numbers of your own "
                    "are tl.constexpr, tensors of your own are named in "
                    "attention.learned (docs/training.md)");
  }
}

void require(const NamedKernel &kernel, const char *parameter,
             const std::string &why) {
  if (!kernel.has(parameter))
    throw Error("attention kernel `" + kernel.name() + "` of " +
                    kernel.description->file + " has no parameter `" +
                    parameter + "`",
                why);
}

NamedKernel named(const std::string &file, const std::string &name,
                  const std::vector<std::string> &learned,
                  const std::vector<std::string> &perSequence) {
  NamedKernel result{Kernel::fromFile(file, name), describeKernel(file, name)};
  checkParameters(result, learned, perSequence);
  if (!result.description->info.hints.grid)
    gridOf(*result.description, {}); // throws an error that explains the hint
  return result;
}

// True if the kernel computes all gradients in one pass, as partial sums.
bool takesShares(const std::string &file, const std::string &name) {
  return describeKernel(file, name)->has("shares");
}

// Returns the kernels of the backward pass, except one that takes shares.
std::vector<std::string> backwardNames(const std::string &file,
                                       const std::string &wanted) {
  if (wanted.empty())
    return {};
  const auto all = kernelNames(file);
  if (isListed(all, wanted) && !takesShares(file, wanted))
    return {wanted};
  std::vector<std::string> found;
  for (const std::string &name : all)
    if (name.starts_with(wanted + "_"))
      found.push_back(name);
  if (found.empty())
    throw Error(file + " has no kernel `" + wanted + "`, nor kernels `" +
                    wanted + "_...`",
                nearestNameHint(wanted, all, "kernels"));
  return found;
}

// Reads an integer, a finite float, a bool or a word. Returns nullopt for any
// other text.
std::optional<ConstexprValue> valueOf(const std::string &text) {
  if (text == "True" || text == "true")
    return true;
  if (text == "False" || text == "false")
    return false;
  const char *first = text.data(), *last = first + text.size();
  int64_t integer = 0;
  if (const auto [stop, code] = std::from_chars(first, last, integer);
      code == std::errc() && stop == last)
    return integer;
  double real = 0;
  if (const auto [stop, code] = std::from_chars(first, last, real);
      code == std::errc() && stop == last && std::isfinite(real))
    return real;
  const bool word = !text.empty() && !std::isdigit(text[0]) &&
                    std::all_of(text.begin(), text.end(), [](unsigned char c) {
                      return std::isalnum(c) || c == '_';
                    });
  return word ? std::optional<ConstexprValue>(text) : std::nullopt;
}

Constexprs parseConstants(const std::string &text) {
  Constexprs result;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    std::string item;
    for (char c : text.substr(at, end - at))
      if (c != ' ')
        item += c;
    at = end + 1;
    if (item.empty())
      continue;
    const size_t equals = item.find('=');
    const auto value = equals == std::string::npos || equals == 0
                           ? std::nullopt
                           : valueOf(item.substr(equals + 1));
    if (!value)
      throw ArgumentError(
          "constexprs has `" + item + "`",
          "write NAME=number, separated by commas: W=16, CAP=30.0");
    const std::string name = item.substr(0, equals);
    if (!result.emplace(name, *value).second)
      throw ArgumentError("constexprs sets `" + name + "` twice",
                          "leave one of the two away");
  }
  return result;
}

// Checks that no name appears twice and that no name has a meaning already.
// `argument` is the op's argument; `taken` holds the earlier names and receives
// these.
void checkNames(const std::string &argument,
                const std::vector<std::string> &names,
                std::vector<std::string> &taken) {
  for (const std::string &name : names) {
    const bool spelt =
        std::all_of(name.begin(), name.end(), [](unsigned char c) {
          return std::isupper(c) || std::isdigit(c) || c == '_';
        });
    if (!spelt || std::isdigit(static_cast<unsigned char>(name[0])))
      throw ArgumentError(argument + " has `" + name + "`",
                          "tensors have names in capitals: GATE");
    if (isListed(taken, name) || isListed(taken, "D" + name))
      throw ArgumentError(argument + " has `" + name +
                              "`, which is passed already",
                          "choose another name");
    taken.insert(taken.end(), {name, "D" + name});
  }
}

// Checks that every constant is a constexpr of some kernel, and that it is not
// one of those that we set.
void checkConstants(const CustomKernels &kernels) {
  std::vector<std::string> known;
  const auto add = [&](const NamedKernel &kernel) {
    for (const auto &parameter : kernel.description->info.signature.parameters)
      if (parameter.isConstexpr && !isListed(known, parameter.name))
        known.push_back(parameter.name);
  };
  add(kernels.forward);
  for (const NamedKernel &kernel : kernels.backward)
    add(kernel);
  if (kernels.onePass)
    add(*kernels.onePass);
  static const std::vector<std::string> ours = {"G",  "D", "DP",
                                                "DT", "E", "EP"};
  for (const auto &[name, value] : kernels.constants) {
    if (isListed(ours, name))
      throw ArgumentError("constexprs sets `" + name + "`",
                          "it follows from the model: leave it away");
    if (!isListed(known, name))
      throw ArgumentError("constexprs sets `" + name +
                              "`, which is no constexpr of `" +
                              kernels.forward.name() + "` or its backward",
                          nearestNameHint(name, known, "constexprs"));
  }
}

// Returns the default of a constexpr, nullptr if the constexpr does not have a
// default.
const language::Value *defaultOf(const CustomKernels &kernels,
                                 const std::string &name) {
  const auto in = [&](const NamedKernel &kernel) -> const language::Value * {
    const auto &signature = kernel.description->info.signature;
    const int index = signature.find(name);
    return index >= 0 && signature.parameters[size_t(index)].hasDefault
               ? &signature.parameters[size_t(index)].defaultValue
               : nullptr;
  };
  if (const language::Value *value = in(kernels.forward))
    return value;
  for (const NamedKernel &kernel : kernels.backward)
    if (const language::Value *value = in(kernel))
      return value;
  return nullptr;
}

// Converts constants to the types of their defaults: 30 becomes 30.0. A kernel
// derived for integers may be wrong for a float.
void fitToDefaults(CustomKernels &kernels) {
  for (auto &[name, value] : kernels.constants) {
    const language::Value *wanted = defaultOf(kernels, name);
    if (const auto *number = std::get_if<int64_t>(&value);
        number && wanted && wanted->is<double>())
      value = double(*number);
    const auto *word = std::get_if<std::string>(&value);
    if (word && !(wanted && wanted->is<std::string>()))
      throw ArgumentError(
          "constexprs has `" + name + "=" + *word + "`",
          "write NAME=number, separated by commas: W=16, CAP=30.0");
    const bool fits =
        !wanted || word ||
        (wanted->is<bool>() && std::holds_alternative<bool>(value)) ||
        (wanted->is<double>() && std::holds_alternative<double>(value)) ||
        (wanted->is<language::Int>() && std::holds_alternative<int64_t>(value));
    if (!fits)
      throw ArgumentError(
          "constexprs sets `" + name +
              "` to a value of another type than its default " + wanted->repr(),
          "write an integer for an integer, True or False for a bool");
  }
}

void checkRoles(const CustomKernels &kernels) {
  for (const char *name : {"Q", "K", "V", "O", "CU"})
    require(kernels.forward, name,
            "a forward takes Q, K, V, writes O, and finds sequences in CU");
  for (const std::string &name : kernels.learned)
    require(kernels.forward, name.c_str(),
            "learned names it; a forward takes such a tensor [T, H*G]");
  for (const std::string &name : kernels.perSequence)
    require(kernels.forward, name.c_str(),
            "per_sequence names it; a forward takes such a tensor [B]");
  if (kernels.backward.empty())
    return;
  std::vector<std::string> gradients = {"DQ", "DK", "DV"};
  for (const std::string &name : kernels.learned)
    gradients.push_back("D" + name);
  for (const std::string &name : gradients) {
    int writers = 0;
    for (const NamedKernel &kernel : kernels.backward)
      writers += kernel.has(name.c_str());
    if (kernels.onePass)
      require(*kernels.onePass, name.c_str(),
              "a backward that takes `shares` writes all gradients");
    if (writers != 1)
      throw Error(std::to_string(writers) + " backward kernels of `" +
                      kernels.forward.name() + "` write " + name,
                  "exactly one of them has a parameter " + name);
  }
  if (kernels.backwardHas("LSE"))
    require(kernels.forward, "LSE",
            "its backward reads LSE, so the forward writes it");
}

} // namespace

bool CustomKernels::backwardHas(const char *parameter) const {
  return std::any_of(
             backward.begin(), backward.end(),
             [&](const auto &kernel) { return kernel.has(parameter); }) ||
         (onePass && onePass->has(parameter));
}

std::shared_ptr<const CustomKernels>
CustomKernels::find(const std::string &file, const std::string &forward,
                    const std::string &backward, const std::string &constants,
                    const std::string &learned,
                    const std::string &perSequence) {
  static std::mutex mutex;
  static auto *const known =
      new std::map<std::string, std::shared_ptr<const CustomKernels>>;
  const std::string key = file + '\n' + forward + '\n' + backward + '\n' +
                          constants + '\n' + learned + '\n' + perSequence;
  std::lock_guard<std::mutex> lock(mutex);
  auto &entry = (*known)[key];
  if (!entry) {
    const auto names = namesOfList(learned), values = namesOfList(perSequence);
    std::vector<std::string> taken = tensorNames();
    checkNames("learned", names, taken);
    checkNames("per_sequence", values, taken);
    auto made = std::make_shared<CustomKernels>(
        CustomKernels{named(file, forward, names, values),
                      {},
                      std::nullopt,
                      parseConstants(constants),
                      names,
                      values});
    for (const std::string &name : backwardNames(file, backward))
      made->backward.push_back(named(file, name, names, values));
    if (isListed(kernelNames(file), backward) && takesShares(file, backward))
      made->onePass = named(file, backward, names, values);
    made->derived = isPatternFile(file);
    checkRoles(*made);
    checkConstants(*made);
    fitToDefaults(*made);
    entry = std::move(made);
  }
  return entry;
}

void CustomKernels::run(const NamedKernel &kernel, const Attention &a,
                        const NamedTensors &tensors, int64_t shares) const {
  std::vector<Arg> args;
  std::vector<TensorExtent> extents;
  TensorDevice device;
  Constexprs given;
  const Constexprs sizes = sizesOf(kernel, a);
  for (const auto &parameter : kernel.description->info.signature.parameters) {
    const std::string &name = parameter.name;
    if (parameter.isConstexpr) {
      for (const Constexprs *from : {&sizes, &constants})
        if (auto found = from->find(name); found != from->end())
          given[name] = found->second;
    } else if (auto found = tensors.find(name); found != tensors.end()) {
      device.take(found->second, kernel.name());
      args.push_back(pointerTo(found->second));
      if (recording()) [[unlikely]]
        extents.push_back({found->second.data_ptr(),
                           found->second.sizes().vec(),
                           found->second.strides().vec()});
    } else if (name == "scale") {
      args.push_back(a.scale);
    } else if (name == "T") {
      args.push_back(a.tokens);
    } else if (name == "nseq") {
      args.push_back(a.sequences);
    } else if (name == "shares") {
      args.push_back(shares);
    } else {
      const auto stride = strideName(name);
      const auto tensor = stride ? tensors.find(stride->tensor) : tensors.end();
      if (tensor == tensors.end())
        throw Error("`" + kernel.name() + "` has a parameter `" + name +
                        "`, which is not there in this direction",
                    "a forward kernel sees no gradients");
      args.push_back(tensor->second.stride(stride->dimension));
    }
  }
  LaunchOptions options;
  // Tiles of the first configuration need more shared memory than there is.
  if (derived && isHeavy(a)) {
    const bool backward = kernel.has("DO");
    const Constants tiles = backward ? wideTiles(a, kernel.has("DK"))
                                     : Constants{{"BM", 64}, {"BN", 64}};
    for (const auto &[name, value] : tiles)
      given.try_emplace(name, int64_t(value));
    if (backward)
      options.numStages = 1;
  }
  Sizes seen = {{"T", a.tokens},   {"S", a.maxSeqlen}, {"B", a.sequences},
                {"H", a.keyHeads}, {"G", a.group},     {"D", a.keyDim},
                {"E", a.valueDim}, {"shares", shares}};
  options.device = device.handle();
  options.sequence = a.maxSeqlen;
  for (const auto &[name, value] :
       kernel.kernel.configuration(args, given, options))
    if (const int64_t *number = std::get_if<int64_t>(&value))
      seen[name] = *number;
  // A row tile of a pattern's kernel must contain all heads of a token.
  if (const auto rows = seen.find("BM");
      derived && rows != seen.end() && rows->second < a.group)
    given["BM"] = rows->second = nextPowerOfTwo(a.group);
  const Grid grid = gridOf(*kernel.description, seen);
  if (!grid[0] || !grid[1] || !grid[2])
    return;
  const LaunchSpan span(kernel.name());
  device.run(kernel.name(), [&](void *stream) {
    options.stream = stream;
    if (recording()) [[unlikely]]
      describeTensors(std::move(extents));
    runForPython([&] { kernel.kernel.launch(grid, args, given, options); });
  });
}

} // namespace tessera::runtime
