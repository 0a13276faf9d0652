// dialect/layout/Parse.cpp - "mma(m16n8, warps=2x2)" to bases.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "dialect/layout/Parse.h"

#include "dialect/layout/RegisterLayouts.h"
#include "dialect/layout/ShapeOps.h"
#include "dialect/layout/SharedLayouts.h"

#include <algorithm>
#include <cctype>

namespace tessera::layout {

const std::vector<Constructor> &constructors() {
  static const std::vector<Constructor> list = {
      {"blocked(per_thread=1x4, lanes=2x16, warps=4x1, order=1x0)",
       "rows for loads and stores; order: axes, fastest first"},
      {"mma(m16n8, warps=2x2)", "tensor-core accumulator; m8n8 for f64"},
      {"dot_a(m16n8, warps=2x2, k_width=2)", "first operand of mma"},
      {"dot_b(m16n8, warps=2x2, k_width=2)", "second operand of mma"},
      {"wgmma(n=64, warps=4x1)", "accumulator of wgmma.m64n64"},
      {"slice(mma(warps=4x1), axis=1, size=64)",
       "what a reduction over an axis of this size leaves"},
      {"linear(register=[(0,1),(8,0)], lane=[(0,2),(0,4),(1,0),(2,0),(4,0)], "
       "warp=[])",
       "bases, one for each bit of a place"},
      {"row_major(order=1x0)", "shared memory, rows one after the other"},
      {"swizzled(vec=8, per_phase=1, max_phase=8, order=1x0)",
       "shared memory, columns XORed with rows; by itself for ldmatrix"},
      {"cores(bytes=128)", "shared memory as TMA and wgmma want it"},
  };
  return list;
}

std::vector<int64_t> parseSizes(const std::string &text,
                                const std::string &what) {
  std::vector<int64_t> sizes;
  size_t begin = 0;
  for (;;) {
    const size_t end = std::min(text.find('x', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    if (part.empty() || part.size() > 9 ||
        !std::all_of(part.begin(), part.end(),
                     [](unsigned char c) { return std::isdigit(c); }))
      throw LayoutError("`" + text + "` for " + what,
                        "numbers with x between them, as 64x128");
    sizes.push_back(std::stoll(part));
    if (end == text.size())
      return sizes;
    begin = end + 1;
  }
}

namespace {

// The tokens of name(word, key=value, ...), before their meaning is checked.
struct Call {
  std::string name;
  std::vector<std::string> words;
  std::vector<std::pair<std::string, std::string>> options;

  // Removes an option and returns its value. Options that remain at the end are
  // unknown.
  std::optional<std::string> take(const std::string &key) {
    for (size_t i = 0; i < options.size(); ++i)
      if (options[i].first == key) {
        std::string value = options[i].second;
        options.erase(options.begin() + i);
        return value;
      }
    return std::nullopt;
  }
  std::vector<int64_t> sizes(const std::string &key) {
    auto value = take(key);
    if (!value)
      throw LayoutError("`" + name + "` without " + key, help());
    return parseSizes(*value, key);
  }
  int64_t number(const std::string &key, std::optional<int64_t> standard) {
    auto value = take(key);
    if (!value && standard)
      return *standard;
    if (!value)
      throw LayoutError("`" + name + "` without " + key, help());
    const auto list = parseSizes(*value, key);
    if (list.size() != 1)
      throw LayoutError("`" + *value + "` for " + key, "one number");
    return list[0];
  }
  std::vector<int> order() {
    std::vector<int> axes;
    if (auto value = take("order"))
      for (int64_t axis : parseSizes(*value, "order"))
        axes.push_back(static_cast<int>(axis));
    return axes;
  }
  std::string help() const {
    for (const Constructor &constructor : constructors())
      if (std::string(constructor.example).rfind(name + "(", 0) == 0)
        return std::string("as in ") + constructor.example;
    return {};
  }
  void finish() const {
    if (!options.empty())
      throw LayoutError("`" + name + "` has no option " + options[0].first,
                        help());
    if (!words.empty())
      throw LayoutError("`" + words[0] + "` in `" + name + "`", help());
  }
};

} // namespace

static std::string trimmed(const std::string &text) {
  const size_t begin = text.find_first_not_of(" \t\n");
  if (begin == std::string::npos)
    return {};
  return text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1);
}

// The hint for a text that is not a call.
static const char *const callForm =
    "write NAME(OPTION=VALUE, ...), as in mma(warps=4x1)";

// Splits `text` at commas outside parentheses and brackets.
static std::vector<std::string> splitArguments(const std::string &text) {
  std::vector<std::string> parts;
  std::string part;
  int depth = 0;
  for (char c : text) {
    depth += c == '(' || c == '[';
    depth -= c == ')' || c == ']';
    if (depth < 0)
      throw LayoutError("`" + text + "` closes a bracket that it did not open",
                        callForm);
    if (c == ',' && depth == 0) {
      parts.push_back(trimmed(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (depth)
    throw LayoutError("`" + text + "` does not close a bracket", callForm);
  if (!trimmed(part).empty() || !parts.empty())
    parts.push_back(trimmed(part));
  return parts;
}

static Call parseCall(const std::string &input) {
  const std::string text = trimmed(input);
  Call call;
  const size_t open = text.find('(');
  call.name = trimmed(text.substr(0, open));
  if (open == std::string::npos)
    return call;
  if (text.back() != ')')
    throw LayoutError("`" + text + "` does not end with )", callForm);
  for (const std::string &part :
       splitArguments(text.substr(open + 1, text.size() - open - 2))) {
    // An equals sign inside a nested constructor belongs to that constructor.
    const size_t equals = part.find('=');
    if (equals == std::string::npos || part.find('(') < equals)
      call.words.push_back(part);
    else
      call.options.emplace_back(trimmed(part.substr(0, equals)),
                                trimmed(part.substr(equals + 1)));
  }
  return call;
}

// Parses "[(0,1),(8,0)]".
static std::vector<std::vector<int64_t>> parseBases(const std::string &text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']')
    throw LayoutError("`" + text + "` for bases", "as in [(0,1),(8,0)]");
  std::vector<std::vector<int64_t>> bases;
  for (const std::string &basis :
       splitArguments(text.substr(1, text.size() - 2))) {
    if (basis.size() < 2 || basis.front() != '(' || basis.back() != ')')
      throw LayoutError("`" + basis + "` for a basis", "as in (8,0)");
    bases.emplace_back();
    for (const std::string &coordinate :
         splitArguments(basis.substr(1, basis.size() - 2))) {
      const auto value = parseSizes(coordinate, "a coordinate");
      if (value.size() != 1)
        throw LayoutError("`" + coordinate + "` for a coordinate",
                          "one number");
      bases.back().push_back(value[0]);
    }
  }
  return bases;
}

static LinearLayout parseLinear(Call &call, const std::vector<int64_t> &shape) {
  LinearLayout::Bases bases;
  LinearLayout::Sizes outs;
  for (size_t axis = 0; axis < shape.size(); ++axis)
    outs.emplace_back(tileDim(static_cast<int>(axis)), shape[axis]);
  for (Dim dim : {Dim::Register, Dim::Lane, Dim::Warp, Dim::Block, Dim::Offset})
    if (auto value = call.take(dimName(dim)))
      bases.emplace_back(dim, parseBases(*value));
  call.finish();
  return {bases, outs};
}

static MmaTile parseTile(Call &call) {
  MmaTile tile;
  for (const char *name : {"m16n8", "m8n8"}) {
    auto found = std::find(call.words.begin(), call.words.end(), name);
    if (found == call.words.end())
      continue;
    tile.m = name[1] == '8' ? 8 : 16;
    call.words.erase(found);
  }
  tile.warps = call.sizes("warps");
  return tile;
}

LinearLayout parseLayout(const std::string &text,
                         const std::vector<int64_t> &shape, int elementBits) {
  tileExtents(shape);
  Call call = parseCall(text);
  const std::string &name = call.name;
  if (name == "blocked") {
    const Blocked how{call.sizes("per_thread"), call.sizes("lanes"),
                      call.sizes("warps"), call.order()};
    call.finish();
    return blocked(shape, how);
  }
  if (name == "mma") {
    const MmaTile tile = parseTile(call);
    call.finish();
    return mmaAccumulator(shape, tile);
  }
  if (name == "dot_a" || name == "dot_b") {
    const MmaTile tile = parseTile(call);
    const int64_t width = call.number("k_width", naturalKWidth(elementBits));
    call.finish();
    return name == "dot_a" ? mmaOperandA(shape, tile, width)
                           : mmaOperandB(shape, tile, width);
  }
  if (name == "wgmma") {
    const auto warps = call.sizes("warps");
    const int64_t n = call.number("n", std::nullopt);
    call.finish();
    return wgmmaAccumulator(shape, warps, n);
  }
  if (name == "slice") {
    if (call.words.size() != 1)
      throw LayoutError("`slice` of what?", call.help());
    const int64_t axis = call.number("axis", std::nullopt);
    const int64_t size = call.number("size", std::nullopt);
    const std::string parent = call.words[0];
    call.words.clear();
    call.finish();
    if (axis < 0 || axis > static_cast<int64_t>(shape.size()))
      throw LayoutError("axis " + std::to_string(axis) + " of `slice`",
                        "the axis that the reduction took away");
    std::vector<int64_t> larger = shape;
    larger.insert(larger.begin() + axis, size);
    return slice(parseLayout(parent, larger, elementBits),
                 static_cast<int>(axis));
  }
  if (name == "linear")
    return parseLinear(call, shape);
  if (name == "row_major") {
    const auto order = call.order();
    call.finish();
    return rowMajorShared(shape, order);
  }
  if (name == "swizzled") {
    const auto order = call.order();
    const size_t fastest = order.empty() ? shape.size() - 1 : order[0];
    if (shape.empty() || fastest >= shape.size())
      throw LayoutError("`swizzled` needs an axis", call.help());
    Swizzle swizzle = operandSwizzle(shape[fastest], elementBits);
    swizzle.vec = call.number("vec", swizzle.vec);
    swizzle.perPhase = call.number("per_phase", swizzle.perPhase);
    swizzle.maxPhase = call.number("max_phase", swizzle.maxPhase);
    call.finish();
    return swizzledShared(shape, swizzle, order);
  }
  if (name == "cores") {
    const int64_t bytes = call.number("bytes", std::nullopt);
    call.finish();
    return coreShared(shape, static_cast<int>(bytes), elementBits);
  }
  std::string known;
  for (const Constructor &constructor : constructors()) {
    const std::string example = constructor.example;
    known += (known.empty() ? "" : ", ") + example.substr(0, example.find('('));
  }
  throw LayoutError("no layout is called `" + name + "`", "known: " + known);
}

} // namespace tessera::layout
