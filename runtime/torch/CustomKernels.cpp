// runtime/torch/CustomKernels.cpp - attention kernels of a user's file, bound
// by the names of their parameters. Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/torch/CustomKernels.h"

#include "runtime/torch/Launch.h"
#include "support/Error.h"
#include "support/Names.h"

#include <algorithm>
#include <charconv>
#include <mutex>

namespace tessera::runtime {
namespace {

const std::vector<std::string> &tensorNames() {
  static const std::vector<std::string> names = {
      "Q", "K", "V", "O", "LSE", "CU", "DO", "DELTA", "DQ", "DK", "DV"};
  return names;
}

bool contains(const std::vector<std::string> &list, const std::string &name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// Sizes that a kernel may take as constexprs.
Constexprs sizesOf(const Attention &a) {
  return {{"G", a.group},
          {"D", a.keyDim},
          {"DP", nextPowerOfTwo(a.keyDim)},
          {"E", a.valueDim},
          {"EP", nextPowerOfTwo(a.valueDim)}};
}

bool isKnownParameter(const std::string &name) {
  if (contains(tensorNames(), name) || name == "scale" || name == "T")
    return true;
  const auto stride = strideName(name);
  return stride && contains(tensorNames(), stride->tensor);
}

void checkParameters(const NamedKernel &kernel) {
  for (const auto &parameter : kernel.description->info.signature.parameters) {
    if (parameter.isConstexpr || isKnownParameter(parameter.name))
      continue;
    std::vector<std::string> known = tensorNames();
    known.insert(known.end(), {"scale", "T"});
    throw Error("attention kernel `" + kernel.name() + "` of " +
                    kernel.description->file + " has a parameter `" +
                    parameter.name + "` that nothing is passed for",
                nearestNameHint(parameter.name, known, "names") +
                    "; strides are sqt, sqh and so on, numbers of your own "
                    "are tl.constexpr (docs/training.md)");
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

NamedKernel named(const std::string &file, const std::string &name) {
  NamedKernel result{Kernel::fromFile(file, name), describeKernel(file, name)};
  checkParameters(result);
  if (!result.description->info.hints.grid)
    gridOf(*result.description, {}); // says how to write the hint
  return result;
}

std::vector<std::string> backwardNames(const std::string &file,
                                       const std::string &wanted) {
  if (wanted.empty())
    return {};
  const auto all = kernelNames(file);
  if (contains(all, wanted))
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
    int64_t value = 0;
    const char *last = item.data() + item.size();
    const char *first =
        equals == std::string::npos ? last : item.data() + equals + 1;
    const auto [stop, code] = std::from_chars(first, last, value);
    if (equals == 0 || first == last || code != std::errc() || stop != last)
      throw Error("constexprs has `" + item + "`",
                  "write NAME=integer, separated by commas: W=16, STEP=4");
    result[item.substr(0, equals)] = value;
  }
  return result;
}

// Every constant is a constexpr of some kernel, and none of those we set.
void checkConstants(const CustomKernels &kernels) {
  std::vector<std::string> known;
  const auto add = [&](const NamedKernel &kernel) {
    for (const auto &parameter : kernel.description->info.signature.parameters)
      if (parameter.isConstexpr && !contains(known, parameter.name))
        known.push_back(parameter.name);
  };
  add(kernels.forward);
  for (const NamedKernel &kernel : kernels.backward)
    add(kernel);
  static const std::vector<std::string> ours = {"G", "D", "DP", "E", "EP"};
  for (const auto &[name, value] : kernels.constants) {
    if (contains(ours, name))
      throw Error("constexprs sets `" + name + "`",
                  "it follows from the model: leave it away");
    if (!contains(known, name))
      throw Error("constexprs sets `" + name + "`, which is no constexpr of `" +
                      kernels.forward.name() + "` or its backward",
                  nearestNameHint(name, known, "constexprs"));
  }
}

void checkRoles(const CustomKernels &kernels) {
  for (const char *name : {"Q", "K", "V", "O", "CU"})
    require(kernels.forward, name,
            "a forward takes Q, K, V, writes O, and finds sequences in CU");
  if (kernels.backward.empty())
    return;
  for (const char *name : {"DQ", "DK", "DV"}) {
    int writers = 0;
    for (const NamedKernel &kernel : kernels.backward)
      writers += kernel.has(name);
    if (writers != 1)
      throw Error(std::to_string(writers) + " backward kernels of `" +
                      kernels.forward.name() + "` write " + name,
                  "exactly one of them has a parameter " + std::string(name));
  }
  if (kernels.backwardHas("LSE"))
    require(kernels.forward, "LSE",
            "its backward reads LSE, so the forward writes it");
}

} // namespace

bool CustomKernels::backwardHas(const char *parameter) const {
  return std::any_of(backward.begin(), backward.end(),
                     [&](const auto &kernel) { return kernel.has(parameter); });
}

std::shared_ptr<const CustomKernels>
CustomKernels::find(const std::string &file, const std::string &forward,
                    const std::string &backward, const std::string &constants) {
  static std::mutex mutex;
  static auto *const known =
      new std::map<std::string, std::shared_ptr<const CustomKernels>>;
  const std::string key =
      file + '\n' + forward + '\n' + backward + '\n' + constants;
  std::lock_guard<std::mutex> lock(mutex);
  auto &entry = (*known)[key];
  if (!entry) {
    auto made = std::make_shared<CustomKernels>(
        CustomKernels{named(file, forward), {}, parseConstants(constants)});
    for (const std::string &name : backwardNames(file, backward))
      made->backward.push_back(named(file, name));
    checkRoles(*made);
    checkConstants(*made);
    entry = std::move(made);
  }
  return entry;
}

void CustomKernels::run(const NamedKernel &kernel, const Attention &a,
                        const NamedTensors &tensors) const {
  std::vector<Arg> args;
  Constexprs given;
  const Constexprs sizes = sizesOf(a);
  for (const auto &parameter : kernel.description->info.signature.parameters) {
    const std::string &name = parameter.name;
    if (parameter.isConstexpr) {
      for (const Constexprs *from : {&sizes, &constants})
        if (auto found = from->find(name); found != from->end())
          given[name] = found->second;
    } else if (auto found = tensors.find(name); found != tensors.end()) {
      args.push_back(pointerTo(found->second));
    } else if (name == "scale") {
      args.push_back(a.scale);
    } else if (name == "T") {
      args.push_back(a.tokens);
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
  Sizes seen = {{"T", a.tokens},   {"S", a.maxSeqlen}, {"B", a.sequences},
                {"H", a.keyHeads}, {"G", a.group},     {"D", a.keyDim},
                {"E", a.valueDim}};
  given = kernel.kernel.configuration(args, given);
  for (const auto &[name, value] : given)
    if (const int64_t *number = std::get_if<int64_t>(&value))
      seen[name] = *number;
  const Grid grid = gridOf(*kernel.description, seen);
  if (grid[0] && grid[1] && grid[2])
    kernel.kernel.launch(grid, args, given);
}

} // namespace tessera::runtime
