// ops/launch/Launch.cpp - launches a kernel on tensors.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/launch/Launch.h"

#include "ops/Check.h"
#include "ops/launch/ConstexprText.h"
#include "ops/launch/LaunchSpan.h"
#include "ops/launch/PythonInterrupt.h"
#include "runtime/launch/LaunchTable.h"
#include "support/ArgumentError.h"
#include "support/Names.h"

#include <limits>

namespace tessera::runtime {
namespace {

DType dtypeOf(at::ScalarType type) {
  switch (type) {
  case at::kFloat:
    return DType::FP32;
  case at::kHalf:
    return DType::FP16;
  case at::kBFloat16:
    return DType::BF16;
  case at::kDouble:
    return DType::FP64;
  case at::kInt:
    return DType::I32;
  case at::kLong:
    return DType::I64;
  case at::kShort:
    return DType::I16;
  case at::kChar:
    return DType::I8;
  case at::kByte:
    return DType::U8;
  case at::kUInt16:
    return DType::U16;
  case at::kUInt32:
    return DType::U32;
  case at::kUInt64:
    return DType::U64;
  case at::kFloat8_e4m3fn:
    return DType::FP8E4NV;
  case at::kFloat8_e5m2:
    return DType::FP8E5;
  case at::kBool:
    return DType::I1;
  default:
    throw ArgumentError(
        std::string("kernels take no tensor of type ") + c10::toString(type),
        "convert it with .to(), for example to float32 or int32");
  }
}

// Returns the prepared launch of a kernel, created on first use. The table is
// never destroyed, because other threads may launch while the process ends.
const PreparedLaunch &preparedLaunch(std::string_view file,
                                     std::string_view name,
                                     std::string_view constexprs,
                                     const TensorDevice &device) {
  static auto *const known = new LaunchTable<PreparedLaunch>;
  LaunchKey key;
  key.addText(file);
  key.addText(name);
  key.addText(constexprs);
  key.add(device.number());
  if (const PreparedLaunch *found = known->find(key.view())) [[likely]]
    return *found;
  const Kernel kernel = Kernel::fromFile(std::string(file), std::string(name));
  Constexprs given = parseConstexprs("launch", constexprs);
  LaunchOptions options = takeOptions("launch", given);
  options.device = device.handle();
  return known->insert(
      key.view(), std::make_unique<PreparedLaunch>(kernel, given, options));
}

} // namespace

Pointer pointerTo(const at::Tensor &tensor) {
  Pointer pointer{tensor.data_ptr(), dtypeOf(tensor.scalar_type()), 0};
  if (tensor.numel() == 0)
    return pointer;
  int64_t last = 0; // strides are never negative
  for (int64_t i = 0; i < tensor.dim(); ++i)
    last += (tensor.size(i) - 1) * tensor.stride(i);
  pointer.bytes = static_cast<size_t>(last + 1) * tensor.element_size();
  return pointer;
}

// Requires a tensor argument, which determines the device, and all arguments if
// they are given by name.
const PreparedLaunch &Launch::prepared() {
  if (!kernel)
    kernel = source ? &source->on(device)
                    : &preparedLaunch(file, name, constexprs, device);
  if (!names.empty() && !bound)
    bindNames();
  return *kernel;
}

bool Launch::ArgumentName::is(std::string_view name) const {
  if (field.empty())
    return name == parameter;
  return name.size() == parameter.size() + 1 + field.size() &&
         name.starts_with(parameter) && name[parameter.size()] == '.' &&
         name.ends_with(field);
}

std::string Launch::ArgumentName::text() const {
  return std::string(parameter) + (field.empty() ? "" : ".") +
         std::string(field);
}

// Puts the arguments in the order of the kernel's parameters.
void Launch::bindNames() {
  const std::vector<std::string> &parameters = kernel->kernel().parameters();
  bound = names.size() == args.size() && names.size() == parameters.size();
  for (size_t to = 0; bound && to < names.size(); ++to) {
    size_t from = to; // most are in order already
    while (from < names.size() && !names[from].is(parameters[to]))
      ++from;
    bound = from < names.size();
    if (bound && from != to)
      moveArgument(from, to);
  }
  if (!bound) [[unlikely]]
    reportNames(parameters);
}

void Launch::moveArgument(size_t from, size_t to) {
  std::rotate(args.data() + to, args.data() + from, args.data() + from + 1);
  std::rotate(names.data() + to, names.data() + from, names.data() + from + 1);
  if (scratchPlace == from)
    scratchPlace = to;
  else if (scratchPlace >= to && scratchPlace < from)
    ++scratchPlace;
}

void Launch::reportNames(const std::vector<std::string> &parameters) const {
  const std::string of = "kernel `" + std::string(name) + "` ";
  if (names.size() != args.size())
    throw ArgumentError(of + "is given " + std::to_string(args.size()) +
                            " arguments, " + std::to_string(names.size()) +
                            " of them by name",
                        "give all arguments by name or none");
  const std::span<const ArgumentName> all = names;
  std::string missing;
  for (const std::string &parameter : parameters) {
    const auto given =
        std::count_if(all.begin(), all.end(), [&](const ArgumentName &known) {
          return known.is(parameter);
        });
    if (given == 0)
      missing += (missing.empty() ? "`" : ", `") + parameter + "`";
    if (given > 1)
      throw ArgumentError(of + "is given `" + parameter + "` twice",
                          "give each argument once");
  }
  for (const ArgumentName &given : all)
    if (std::none_of(parameters.begin(), parameters.end(),
                     [&](const std::string &known) { return given.is(known); }))
      throw ArgumentError(
          of + "has no argument `" + given.text() + "`",
          nearestNameHint(given.text(), parameters, "arguments"));
  throw ArgumentError(of + "needs " + missing, "give each of them by name");
}

Launch &Launch::named(std::string_view parameter, std::string_view field) {
  names.push_back({parameter, field});
  return *this;
}

Launch &Launch::tensor(std::string_view parameter, const at::Tensor &value) {
  return named(parameter).tensor(value);
}

Launch &Launch::integer(std::string_view parameter, int64_t value) {
  return named(parameter).integer(value);
}

Launch &Launch::real(std::string_view parameter, double value) {
  return named(parameter).real(value);
}

Launch &Launch::scratch(std::string_view parameter, at::ScalarType type) {
  return named(parameter).scratch(type);
}

Launch &Launch::rows(std::string_view parameter, const at::Tensor &value) {
  return named(parameter, "ptr")
      .tensor(value)
      .named(parameter, "token")
      .integer(value.stride(0))
      .named(parameter, "head")
      .integer(value.stride(1));
}

Launch &Launch::tensor(const at::Tensor &tensor) {
  device.take(tensor, name);
  args.push_back(pointerTo(tensor));
  if (recording()) [[unlikely]]
    extents.push_back(
        {tensor.data_ptr(), tensor.sizes().vec(), tensor.strides().vec()});
  return *this;
}

Launch &Launch::tensor(at::Tensor &&tensor) {
  kept.push_back(std::move(tensor));
  return this->tensor(static_cast<const at::Tensor &>(kept.back()));
}

Launch &Launch::integer(int64_t value) {
  args.push_back(value);
  return *this;
}

Launch &Launch::real(double value) {
  args.push_back(value);
  return *this;
}

Launch &Launch::number(const c10::Scalar &value) {
  TESSERA_CHECK(!value.isComplex(), "launch",
                "a scalar is complex; pass real numbers");
  if (value.isFloatingPoint())
    return real(value.toDouble());
  if (value.type() == at::kUInt64) {
    const uint64_t number = value.toUInt64();
    if (number <= uint64_t(std::numeric_limits<int64_t>::max()))
      return integer(int64_t(number));
    args.push_back(number);
    return *this;
  }
  if (!value.isBoolean())
    return integer(value.toLong());
  args.push_back(value.toBool());
  return *this;
}

Launch &Launch::none() {
  args.push_back(nullptr);
  return *this;
}

Launch &Launch::strides(const at::Tensor &tensor) {
  return integer(tensor.stride(0)).integer(tensor.stride(1));
}

Launch &Launch::scratch(at::ScalarType type) {
  scratchPlace = args.size();
  args.push_back(Pointer{nullptr, dtypeOf(type)});
  return *this;
}

Launch &Launch::bindScratch(const at::Tensor &tensor, bool read) {
  Pointer &place = std::get<Pointer>(args[scratchPlace]);
  place.address = tensor.data_ptr();
  place.bytes = tensor.nbytes();
  if (recording()) [[unlikely]]
    extents.push_back({tensor.data_ptr(), tensor.sizes().vec(),
                       tensor.strides().vec(), !read});
  return *this;
}

Launch &Launch::constant(std::string_view name, int64_t value) {
  dimensions.push_back({name, value});
  return *this;
}

Launch &Launch::padded(std::string_view name, std::string_view paddedName,
                       int64_t value) {
  return constant(name, value).constant(paddedName, nextPowerOfTwo(value));
}

Launch &Launch::keyHead(int64_t size) {
  const auto [first, tail] = headSlices(size);
  return constant("D", size).constant("DP", first).constant("DT", tail);
}

Launch &Launch::sequence(int64_t tokens) {
  longest = tokens;
  return *this;
}

int64_t Launch::tile(std::string_view name) {
  return prepared().constexprOf(name, args, dimensions, longest);
}

void Launch::prepare() {
  device.run(name, [&](void *) { prepared().prepare(args); });
}

language::CompileRequest Launch::compileRequest() {
  return prepared().compileRequest(args);
}

void Launch::run(int64_t x, int64_t y, int64_t z) {
  Grid grid;
  size_t at = 0;
  for (int64_t size : {x, y, z}) {
    if (size < 0 || size > std::numeric_limits<int32_t>::max())
      throw ArgumentError("kernel " + std::string(name) + ": grid dimension " +
                              std::to_string(at) + " is " +
                              std::to_string(size),
                          "it must lie between 0 and 2^31 - 1");
    grid[at++] = static_cast<uint32_t>(size);
  }
  if (x == 0 || y == 0 || z == 0)
    return;
  const LaunchSpan span(name);
  device.run(name, [&](void *stream) {
    if (recording()) [[unlikely]]
      describeTensors(std::move(extents));
    runForPython(
        [&] { prepared().launchOn(stream, grid, args, dimensions, longest); });
  });
}

} // namespace tessera::runtime
