// tools/check/Problem.cpp - makes arguments for a kernel from its hints and the
// names of its parameters.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/check/Problem.h"

#include "language/ConstexprValues.h"
#include "language/Lexer.h"
#include "language/Program.h"
#include "runtime/launch/KernelState.h"
#include "support/Error.h"
#include "support/Lists.h"
#include "support/Names.h"
#include "tools/check/Child.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numeric>

namespace tessera::tools {

using language::ArgClass;
using language::Argument;
using language::Value;

namespace {

const Argument *findArgument(const language::Instance &instance,
                             const std::string &name) {
  for (const Argument &argument : instance.arguments)
    if (argument.name == name)
      return &argument;
  return nullptr;
}

bool isPointer(const language::Instance &instance, const std::string &name) {
  const Argument *argument = findArgument(instance, name);
  return argument && argument->kind == language::ArgKind::Pointer;
}

std::optional<int64_t> integerOf(const Value &value) {
  if (const auto number = value.asInt();
      number && *number >= INT64_MIN && *number <= INT64_MAX)
    return int64_t(*number);
  return std::nullopt;
}

std::vector<int64_t> integersOf(const Value &value, const std::string &what) {
  std::vector<int64_t> result;
  const auto *items = value.sequence();
  if (!items)
    throw Error(what + " is " + value.repr() + ", no list",
                "write a list of whole numbers, such as [T, 64]");
  for (const Value &item : *items) {
    const auto number = integerOf(item);
    if (!number || *number < 0)
      throw Error(what + " has the size " + item.repr(),
                  "sizes are whole numbers of 0 or more");
    result.push_back(*number);
  }
  return result;
}

// Returns the instance's integer constexprs.
Sizes constantsOf(const language::Instance &instance) {
  Sizes sizes;
  for (const Argument &argument : instance.arguments)
    if (argument.isConstexpr())
      if (const auto number = integerOf(argument.value))
        sizes[argument.name] = *number;
  return sizes;
}

std::string checkName(const std::string &name) {
  return "check(" + name + "=...)";
}

uint64_t seedOf(const std::string &name, const Shape &shape) {
  uint64_t hash = 14695981039346656037u; // FNV-1a
  for (char c : name + "|" + shape.text)
    hash = (hash ^ uint8_t(c)) * 1099511628211u;
  return hash;
}

// Default limit of tokens for the longest sequence whose gradients are
// compared, because the plain reference is slow.
constexpr int64_t maxTokens = 384;
// The same limit if few launches are compared.
constexpr int64_t longestTokens = 1024;

// True for names of tensor sizes. DP and DT are the padded slices of D.
bool isWidth(const std::string &name) {
  for (const char *known : {"D", "DP", "DT", "E", "EP", "G", "H"})
    if (name == known)
      return true;
  return false;
}

// True for names of tile sizes by convention: BM, BN, BLOCK.
bool isTile(const std::string &name) { return name[0] == 'B'; }

// Returns the largest distance to which a row attends, as far as the constexprs
// determine it: a window W, or W * STEP for every STEP-th key. Any value that
// is neither a width nor a tile counts as such a distance.
int64_t reachOf(const Sizes &constants) {
  int64_t reach = 1;
  for (const auto &[name, value] : constants)
    if (!isWidth(name) && !isTile(name) && value > 1)
      reach = std::min(reach * std::min(value, maxTokens), maxTokens);
  return reach;
}

int64_t largestTile(const Sizes &constants) {
  int64_t tile = 16;
  for (const auto &[name, value] : constants)
    if (isTile(name))
      tile = std::max(tile, std::min(value, maxTokens));
  return tile;
}

// Larger constants of a kernel are not distances between tokens but bit masks,
// hash factors, or numbers that represent infinity.
constexpr int64_t largestDistance = 256;

// Returns the largest integer from 3 to largestDistance in the text of the
// kernel and its callees, or 0. A pattern may depend on a distance that is not
// a constexpr.
int64_t largestConstant(const Description &kernel) {
  std::vector<const language::FunctionDef *> work = {
      &kernel.program->kernel(kernel.info.signature.kernel)};
  int64_t largest = 0;
  const auto look = [&](const Value &value) {
    if (const auto number = integerOf(value);
        number && *number >= 3 && *number <= largestDistance)
      largest = std::max(largest, *number);
  };
  for (size_t next = 0; next < work.size(); ++next) {
    const language::FunctionDef &function = *work[next];
    std::string text;
    for (const language::StmtPtr &statement : function.body)
      text += language::dump(*statement);
    const auto file = std::make_shared<const SourceFile>("kernel", text);
    const language::TokenList list = language::lex(file);
    for (const language::Token &token : list.tokens) {
      if (token.kind == language::TokenKind::Number)
        look(list.values[token.value]);
      if (token.kind != language::TokenKind::Name)
        continue;
      const auto symbol = kernel.program->lookup(function, token.text);
      if (!symbol)
        continue;
      look(symbol->value);
      if (symbol->function &&
          std::find(work.begin(), work.end(), symbol->function) == work.end())
        work.push_back(symbol->function);
    }
  }
  return largest;
}

// A length at which every class of tile occurs.
struct Farthest {
  int64_t tokens = 0;
  std::string reason;
  bool enough = true;
};

// Chooses two periods of a possible pattern, then the window, then three
// complete tiles and a partial one. In both directions there are several tiles
// that are fully visible, partly visible and masked. One of each is not enough,
// because different rules may skip two tiles of one class.
Farthest farthest(const Description &kernel, const Sizes &constants) {
  const int64_t period = largestConstant(kernel), reach = reachOf(constants),
                tile = largestTile(constants);
  const int64_t wanted = 2 * period + reach + 3 * tile + 11;
  Farthest far;
  far.tokens = std::min(wanted, longestTokens);
  far.enough = wanted <= longestTokens && reach < maxTokens;
  if (period)
    far.reason = "2 * " + std::to_string(period) +
                 " (the largest constant in its text) + ";
  far.reason += std::to_string(reach) + " (what its constexprs see) + 3 * " +
                std::to_string(tile) + " (its largest tile) + 11";
  return far;
}

std::vector<std::vector<int64_t>> defaultLengths(const Farthest &far) {
  return {{1}, {37}, {64, 0, 47}, {5, 130, 16, 1}, {9, far.tokens}};
}

// Returns a sequence length at which the last rows do not attend to the first
// tile of keys.
int64_t beyondReach(const Sizes &constants) {
  return reachOf(constants) + largestTile(constants) + 11;
}

} // namespace

Shape packedShape(std::vector<int64_t> lengths, int64_t heads) {
  Shape shape;
  shape.sizes["T"] =
      std::accumulate(lengths.begin(), lengths.end(), int64_t(0));
  shape.sizes["S"] =
      lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  shape.sizes["B"] = shape.sizes["nseq"] = int64_t(lengths.size());
  shape.sizes["H"] = heads;
  shape.text = joined(lengths, "+") + " H=" + std::to_string(heads);
  shape.lengths = std::move(lengths);
  return shape;
}

std::vector<Shape> shapesOf(const Description &kernel,
                            const language::Instance &instance) {
  const Sizes constants = constantsOf(instance);
  std::vector<std::vector<int64_t>> lengths;
  std::vector<int64_t> heads = {2, 1};
  std::vector<std::pair<std::string, std::vector<int64_t>>> axes;
  for (const language::Hints::Check &entry : kernel.info.hints.check) {
    if (isPointer(instance, entry.name))
      continue;
    const bool isList = entry.value->kind == language::ExprKind::List;
    if (!isList && entry.name != "H")
      continue;
    const Value value = runtime::evaluateHint(kernel, *entry.value, constants,
                                              checkName(entry.name));
    if (entry.name == "lengths")
      for (const Value &item : *value.sequence())
        lengths.push_back(integersOf(item, "lengths"));
    else if (entry.name == "H")
      heads = isList ? integersOf(value, "H")
                     : std::vector<int64_t>{integerOf(value).value_or(1)};
    else
      axes.emplace_back(entry.name, integersOf(value, checkName(entry.name)));
  }
  std::vector<Shape> shapes;
  if (kernel.has("CU")) {
    const Farthest far = farthest(kernel, constants);
    const bool own = lengths.empty();
    if (own)
      lengths = defaultLengths(far);
    for (const auto &list : lengths)
      shapes.push_back(packedShape(list, heads[shapes.size() % heads.size()]));
    if (own)
      shapes.back().reason = far.reason;
  }
  size_t rows = shapes.size();
  for (const auto &[name, values] : axes)
    rows = std::max(rows, values.size());
  if (!rows && kernel.info.hints.check.empty())
    throw Error("kernel `" + kernel.info.signature.kernel + "` of " +
                    kernel.file + " has no shapes to try",
                "write above it, for example: # tessera: check(N=[1, 31, 257], "
                "X=[N])");
  shapes.resize(std::max<size_t>(rows, 1),
                shapes.empty() ? Shape() : shapes.back());
  for (size_t i = 0; i < shapes.size(); ++i)
    for (const auto &[name, values] : axes) {
      if (values.empty())
        throw Error(checkName(name) + " is empty", "list at least one size");
      const int64_t value = values[i % values.size()];
      shapes[i].sizes[name] = value;
      shapes[i].text += (shapes[i].text.empty() ? "" : " ") + name + "=" +
                        std::to_string(value);
    }
  return shapes;
}

std::vector<Shape> gradientShapesOf(const Description &kernel,
                                    const language::Instance &instance) {
  std::vector<Shape> shapes = shapesOf(kernel, instance);
  const Shape second = shapes[std::min<size_t>(1, shapes.size() - 1)];
  if (second.lengths.empty())
    return {second};
  const auto &hints = kernel.info.hints.check;
  if (std::none_of(hints.begin(), hints.end(),
                   [](const auto &entry) { return entry.name == "lengths"; })) {
    const Sizes constants = constantsOf(instance);
    const int64_t wanted = beyondReach(constants);
    const Farthest far = farthest(kernel, constants);
    Shape near =
        packedShape({19, 0, std::min(wanted, maxTokens)}, second.sizes.at("H"));
    Shape tiles = packedShape({far.tokens}, second.sizes.at("H"));
    tiles.directionsOnly = true;
    if (!far.enough)
      tiles.remark = "the constexprs may see further than " +
                     std::to_string(far.tokens) +
                     " tokens: name longer sequences, # tessera: "
                     "check(lengths=[[...]])";
    for (Shape *shape : {&near, &tiles})
      for (const auto &[name, value] : second.sizes)
        if (shape->sizes.emplace(name, value).second)
          shape->text += " " + name + "=" + std::to_string(value);
    return {near, tiles};
  }
  // A row that attends to one key has zero gradients, whose relative error is
  // meaningless.
  std::vector<Shape> longer;
  for (const Shape &shape : shapes)
    if (shape.sizes.at("S") > 1)
      longer.push_back(shape);
  return longer.empty() ? shapes : longer;
}

Problem::Problem(std::shared_ptr<const Description> described,
                 const language::Instance &instance, const Shape &shape)
    : kernel(std::move(described)), instance(instance), given(shape),
      sizes(constantsOf(instance)) {
  sizes.insert(given.sizes.begin(), given.sizes.end());
  readCheck();
  makeTensors();
}

void Problem::readCheck() {
  for (const language::Hints::Check &entry : kernel->info.hints.check) {
    const std::string &name = entry.name;
    if (isPointer(instance, name)) {
      tensorSpecs[name] = entry.value.get();
      continue;
    }
    if (name == "lengths" || sizes.count(name))
      continue;
    const Value value =
        runtime::evaluateHint(*kernel, *entry.value, sizes, checkName(name));
    if (const auto number = integerOf(value)) {
      sizes[name] = *number;
      scalars[name] = *number;
    } else if (const auto real = value.asFloat()) {
      scalars[name] = *real;
    } else {
      throw Error(checkName(name) + " is " + value.repr(),
                  "a tensor's name takes its shape, [T, 64]; other names a "
                  "number, or a list of sizes to try");
    }
  }
}

int64_t Problem::size(const std::string &name,
                      const std::string &wantedBy) const {
  if (auto found = sizes.find(name); found != sizes.end())
    return found->second;
  throw Error("the shape of `" + wantedBy + "` needs a size `" + name +
                  "`, which kernel `" + kernel->info.signature.kernel +
                  "` does not have",
              "write above it: # tessera: check(" + wantedBy + "=[...])");
}

std::string tensorName(std::string name) {
  if (!name.ends_with(".ptr"))
    return name;
  name.resize(name.size() - 4);
  for (char &c : name)
    c = char(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

std::optional<std::vector<int64_t>>
Problem::conventionalShape(const std::string &parameter) const {
  const std::string name = tensorName(parameter);
  auto of = [&](const char *size_) { return size(size_, name); };
  // Values are as wide as keys if the kernel has only one width.
  const auto value = [&] { return of(sizes.count("E") ? "E" : "D"); };
  if (name == "Q")
    return std::vector<int64_t>{of("T"), of("H") * of("G"), of("D")};
  if (name == "K")
    return std::vector<int64_t>{of("T"), of("H"), of("D")};
  if (name == "V")
    return std::vector<int64_t>{of("T"), of("H"), value()};
  if (name == "O")
    return std::vector<int64_t>{of("T"), of("H") * of("G"), value()};
  if (name == "LSE" || name == "DELTA")
    return std::vector<int64_t>{of("H") * of("G"), of("T")};
  return std::nullopt;
}

Tensor Problem::strided(const std::string &name, DType type,
                        std::vector<int64_t> shape) const {
  std::string lower;
  for (char c : name)
    lower += char(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  const std::string tuple = name.substr(0, name.rfind('.'));
  const bool takesStrides =
      (kernel->has("s" + lower + "t") && kernel->has("s" + lower + "h")) ||
      (kernel->has(tuple + ".token") && kernel->has(tuple + ".head"));
  // A kernel that takes strides must also work with strides that are not
  // packed.
  if (shape.size() != 3 || !takesStrides)
    return Tensor(type, std::move(shape));
  const int64_t head = (shape[2] + 15) / 16 * 16 + 16;
  std::vector<int64_t> strides = {shape[1] * head + 32, head, 1};
  return Tensor(type, std::move(shape), std::move(strides));
}

std::optional<Tensor> Problem::conventional(const std::string &name,
                                            DType type) const {
  if (auto shape = conventionalShape(name))
    return strided(name, type, *shape);
  return std::nullopt;
}

Tensor Problem::tensorFor(const Argument &argument, DType type) {
  const std::string &name = argument.name;
  if (name == "CU" && !given.lengths.empty()) {
    Tensor starts(type, {int64_t(given.lengths.size()) + 1});
    int64_t total = 0;
    for (size_t i = 0; i < given.lengths.size(); ++i)
      starts.set(int64_t(i) + 1, double(total += given.lengths[i]));
    return starts;
  }
  const uint64_t seed = seedOf(name, given);
  if (auto said = given.tensors.find(name); said != given.tensors.end()) {
    Tensor tensor(type, said->second);
    tensor.fillRandom(seed);
    return tensor;
  }
  auto spec = tensorSpecs.find(name);
  if (spec == tensorSpecs.end()) {
    auto tensor = conventional(name, type);
    if (!tensor)
      throw Error("the shape of `" + name + "` is not known",
                  "write above the kernel, for example: # tessera: check(" +
                      name + "=[T, 64])");
    tensor->fillRandom(seed);
    return *tensor;
  }
  const Value value = shapeOf(name, *spec->second);
  // (low, high, [shape]): uniform random numbers, for indices.
  if (value.is<Value::Tuple>()) {
    const auto &items = *value.sequence();
    const auto low = items.size() == 3 ? items[0].asFloat() : std::nullopt;
    const auto high = items.size() == 3 ? items[1].asFloat() : std::nullopt;
    if (!low || !high)
      throw Error(checkName(name) + " is " + value.repr(),
                  "write a shape, [T, 64], or bounds and a shape, (0, 8, [T])");
    Tensor tensor = strided(name, type, integersOf(items[2], checkName(name)));
    tensor.fillUniform(seed, *low, *high);
    return tensor;
  }
  Tensor tensor = strided(name, type, integersOf(value, checkName(name)));
  tensor.fillRandom(seed);
  return tensor;
}

Value Problem::shapeOf(const std::string &name,
                       const language::Expr &spec) const {
  try {
    return runtime::evaluateHint(*kernel, spec, sizes, checkName(name));
  } catch (const Error &error) {
    if (!given.sizes.empty())
      throw;
    throw Error(error.message + "; the kernel has no shapes to try",
                "give the names in shapes a size, or several to try, for "
                "example: # tessera: check(N=[1, 31, 257], X=[N])");
  }
}

void Problem::makeTensors() {
  for (const Argument &argument : instance.arguments) {
    if (argument.kind != language::ArgKind::Pointer)
      continue;
    const auto argClass = ArgClass::parse(argument.type);
    const bool isNew =
        made.emplace(tensorName(argument.name),
                     tensorFor(argument, *dtypeFromText(argClass->element)))
            .second;
    if (!isNew)
      throw Error("two tensors of kernel `" + kernel->info.signature.kernel +
                      "` are called `" + tensorName(argument.name) + "`",
                  "rename one of the two parameters");
  }
}

Arg Problem::scalar(const Description &other, const std::string &name,
                    const Tensors &tensors) const {
  if (auto found = scalars.find(name); found != scalars.end())
    return found->second;
  if (auto found = sizes.find(name); found != sizes.end())
    return found->second;
  if (const auto stride = runtime::strideName(name)) {
    const auto tensor = tensors.find(tensorName(stride->tensor));
    if (tensor != tensors.end() &&
        size_t(stride->dimension) < tensor->second.strides().size())
      return tensor->second.strides()[size_t(stride->dimension)];
  }
  if (name == "scale")
    return 1 / std::sqrt(double(size("D", name)));
  if (const Argument *argument = findArgument(instance, name);
      argument && argument->isConstexpr()) {
    if (const auto number = integerOf(argument->value))
      return *number;
    if (const auto number = argument->value.asFloat())
      return *number;
  }
  throw Error("nothing says what to pass for `" + name + "` of kernel `" +
                  other.info.signature.kernel + "` in " + other.file,
              "write above `" + kernel->info.signature.kernel +
                  "`, for example: # tessera: check(" + name + "=1)");
}

void Problem::setTiles(const Value::Config &config) {
  for (const auto &[name, value] : config.constexprs)
    tiles[name] = language::fromValue(name, value);
  tileWarps = config.numWarps;
  tileStages = config.numStages;
}

void Problem::setDevice(const std::string &name,
                        std::vector<const Description *> others) {
  device = name;
  onDevice = std::move(others);
}

std::vector<Arg> Problem::arguments(const Description &other,
                                    const Tensors &tensors) const {
  std::vector<Arg> result;
  for (const language::KernelParameter &parameter :
       other.info.signature.parameters) {
    if (parameter.isConstexpr)
      continue;
    if (auto tensor = tensors.find(tensorName(parameter.name));
        tensor != tensors.end())
      result.push_back(tensor->second.pointer());
    else
      result.push_back(scalar(other, parameter.name, tensors));
  }
  return result;
}

Constexprs Problem::constexprs(const Description &other) const {
  Constexprs result;
  for (const Argument &argument : instance.arguments) {
    const int index = other.info.signature.find(argument.name);
    if (argument.isConstexpr() && index >= 0 &&
        other.info.signature.parameters[size_t(index)].isConstexpr)
      result[argument.name] =
          language::fromValue(argument.name, argument.value);
  }
  for (const auto &[name, value] : tiles)
    if (result.count(name))
      result[name] = value;
  return result;
}

LaunchRequest Problem::request(const Description &other,
                               const Tensors &tensors) const {
  LaunchRequest request{
      Kernel::fromFile(other.file, other.info.signature.kernel),
      arguments(other, tensors),
      constexprs(other),
      {}};
  const bool here =
      &other == kernel.get() ||
      std::find(onDevice.begin(), onDevice.end(), &other) != onDevice.end();
  request.options.device = findDevice(here ? hostMemoryDevice(device) : "cpu");
  if (&other == kernel.get()) {
    request.options.numWarps = tileWarps ? tileWarps : instance.numWarps;
    request.options.numStages = tileStages ? tileStages : instance.numStages;
  }
  return request;
}

void Problem::run(const Description &other, const Tensors &tensors,
                  const std::optional<Grid> &over) const {
  const LaunchRequest launch = request(other, tensors);
  // The configuration sets the tiles that the instance does not set.
  Sizes all = sizes;
  for (const auto &[name, value] : launch.kernel.configuration(
           launch.args, launch.constexprs, launch.options))
    if (const int64_t *number = std::get_if<int64_t>(&value))
      all[name] = *number;
  const Grid grid = over ? *over : runtime::gridOf(other, all);
  nowRunning("kernel `" + other.info.signature.kernel + "`" +
             (given.text.empty() ? "" : " (" + given.text + ")"));
  if (grid[0] && grid[1] && grid[2])
    launch.kernel.launch(grid, launch.args, launch.constexprs, launch.options);
  for (const auto &[name, tensor] : tensors)
    if (const std::string damage = tensor.damage(); !damage.empty())
      throw Error("kernel `" + other.info.signature.kernel +
                      "` writes outside `" + name + "`, " + damage + " (" +
                      given.text + ")",
                  "mask the store: a tile may reach past the last row or "
                  "column");
}

} // namespace tessera::tools
