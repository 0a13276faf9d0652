// language/Functions.cpp - calls functions that decorators and constants use.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/Arithmetic.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

namespace tessera::language {

using Arguments = std::vector<Value>;
using Function = std::function<Value(const Arguments &)>;

static Int intOf(const Value &value) {
  if (auto number = value.asInt())
    return *number;
  throw ValueProblem{"expected an int, got " + value.kindName(),
                     "pass a whole number"};
}

static double floatOf(const Value &value) {
  if (auto number = value.asFloat())
    return *number;
  throw ValueProblem{"expected a number, got " + value.kindName(),
                     "pass a number"};
}

static const Arguments &itemsOf(const Value &value) {
  if (const Arguments *items = value.sequence())
    return *items;
  throw ValueProblem{"expected a list, got " + value.kindName(),
                     "pass a list or a tuple"};
}

static Int toInt(double value) {
  if (!(std::fabs(value) < 1e38))
    throw ValueProblem{"the number does not fit an int", "check its range"};
  return Int(value);
}

static Value extreme(const Arguments &arguments, CompareOp better) {
  const Arguments &items =
      arguments.size() == 1 ? itemsOf(arguments[0]) : arguments;
  if (items.empty())
    throw ValueProblem{"min or max of nothing", "pass at least one value"};
  const Value *best = &items[0];
  for (const Value &item : items)
    if (applyCompare(better, item, *best))
      best = &item;
  return *best;
}

static Value rangeOf(const Arguments &arguments) {
  Int start = arguments.size() > 1 ? intOf(arguments[0]) : 0;
  Int stop = intOf(arguments[arguments.size() > 1 ? 1 : 0]);
  Int step = arguments.size() > 2 ? intOf(arguments[2]) : 1;
  if (step == 0)
    throw ValueProblem{"range with a step of 0", "use another step"};
  Value::List list;
  for (Int i = start; step > 0 ? i < stop : i > stop;) {
    if (list.items.size() >= maxItems)
      throw ValueProblem{"the range is too long", "make it shorter"};
    list.items.push_back(i);
    if (__builtin_add_overflow(i, step, &i))
      break;
  }
  return list;
}

static Value lengthOf(const Value &value) {
  if (const auto *text = value.get<std::string>())
    // Counts characters, not bytes.
    return int64_t(std::count_if(text->begin(), text->end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    }));
  if (const auto *dict = value.get<Value::Dict>())
    return uint64_t(dict->items.size());
  return uint64_t(itemsOf(value).size());
}

static Value floatFrom(const Value &value) {
  const auto *text = value.get<std::string>();
  if (!text)
    return floatOf(value);
  std::string word;
  for (char c : *text)
    word += char(c >= 'A' && c <= 'Z' ? c + 32 : c);
  bool negative = word.starts_with('-');
  if (negative || word.starts_with('+'))
    word.erase(0, 1);
  const double inf = std::numeric_limits<double>::infinity();
  if (word == "inf" || word == "infinity")
    return negative ? -inf : inf;
  if (word == "nan")
    return std::numeric_limits<double>::quiet_NaN();
  throw ValueProblem{"float() of the text '" + *text + "'",
                     "write the number itself, or \"inf\", \"-inf\", \"nan\""};
}

static Value nextPowerOf2(const Value &value) {
  Int number = intOf(value), power = 1;
  if (number <= 0)
    return 0; // as triton.next_power_of_2 returns
  if (number > Int(1) << 62)
    throw ValueProblem{"next_power_of_2 of a number above 2^62",
                       "check the argument"};
  while (power < number)
    power *= 2;
  return power;
}

static Value sumOf(const Arguments &arguments) {
  Value total = arguments.size() > 1 ? arguments[1] : Value(0);
  for (const Value &item : itemsOf(arguments[0]))
    total = applyBinary(BinaryOp::Add, total, item);
  return total;
}

namespace {
struct Entry {
  size_t least, most; // number of arguments
  Function function;
};
} // namespace

static Function real(double (*function)(double), const char *domain = nullptr,
                     double lowest = 0, bool open = false) {
  return [=](const Arguments &a) -> Value {
    double x = floatOf(a[0]);
    if (domain && (open ? x <= lowest : x < lowest))
      throw ValueProblem{std::string(domain) +
                             " of a number outside its domain",
                         "check the argument"};
    return function(x);
  };
}

static Value roundToward(double (*function)(double), const Value &value) {
  if (auto number = value.asInt())
    return *number;
  return toInt(function(floatOf(value)));
}

static const std::map<std::string, Entry> &table() {
  constexpr size_t many = maxItems;
  static const std::map<std::string, Entry> entries = {
      {"min", {1, many, [](auto &a) { return extreme(a, CompareOp::Lt); }}},
      {"max", {1, many, [](auto &a) { return extreme(a, CompareOp::Gt); }}},
      {"len", {1, 1, [](auto &a) { return lengthOf(a[0]); }}},
      {"range", {1, 3, rangeOf}},
      {"sum", {1, 2, sumOf}},
      {"abs",
       {1, 1,
        [](auto &a) {
          return applyCompare(CompareOp::Lt, a[0], Value(0))
                     ? applyUnary(UnaryOp::Neg, a[0])
                     : applyUnary(UnaryOp::Pos, a[0]);
        }}},
      {"int", {1, 1, [](auto &a) { return roundToward(std::trunc, a[0]); }}},
      {"float", {1, 1, [](auto &a) { return floatFrom(a[0]); }}},
      {"bool", {1, 1, [](auto &a) -> Value { return a[0].truth(); }}},
      {"tuple",
       {1, 1, [](auto &a) -> Value { return Value::Tuple{itemsOf(a[0])}; }}},
      {"list",
       {1, 1, [](auto &a) -> Value { return Value::List{itemsOf(a[0])}; }}},
      {"any",
       {1, 1,
        [](auto &a) -> Value {
          const Arguments &items = itemsOf(a[0]);
          return std::any_of(items.begin(), items.end(),
                             [](const Value &v) { return v.truth(); });
        }}},
      {"all",
       {1, 1,
        [](auto &a) -> Value {
          const Arguments &items = itemsOf(a[0]);
          return std::all_of(items.begin(), items.end(),
                             [](const Value &v) { return v.truth(); });
        }}},
      {"math.sqrt", {1, 1, real(std::sqrt, "sqrt")}},
      {"math.exp", {1, 1, real(std::exp)}},
      {"math.log", {1, 1, real(std::log, "log", 0, true)}},
      {"math.log2", {1, 1, real(std::log2, "log2", 0, true)}},
      {"math.log10", {1, 1, real(std::log10, "log10", 0, true)}},
      {"math.sin", {1, 1, real(std::sin)}},
      {"math.cos", {1, 1, real(std::cos)}},
      {"math.ceil",
       {1, 1, [](auto &a) { return roundToward(std::ceil, a[0]); }}},
      {"math.floor",
       {1, 1, [](auto &a) { return roundToward(std::floor, a[0]); }}},
      {"math.pow",
       {2, 2,
        [](auto &a) {
          return applyBinary(BinaryOp::Pow, Value(floatOf(a[0])),
                             Value(floatOf(a[1])));
        }}},
      {"triton.cdiv",
       {2, 2,
        [](auto &a) {
          Value up = applyBinary(BinaryOp::Add, Value(intOf(a[0])),
                                 Value(intOf(a[1]) - 1));
          return applyBinary(BinaryOp::FloorDiv, up, a[1]);
        }}},
      {"triton.next_power_of_2",
       {1, 1, [](auto &a) { return nextPowerOf2(a[0]); }}},
      {"triton.language.constexpr",
       {1, 1, [](auto &a) -> Value { return a[0]; }}},
  };
  return entries;
}

static const char kFinfo[] = "torch.finfo.", kIinfo[] = "torch.iinfo.";

// Evaluates torch.finfo(torch.float16) to the name "torch.finfo.fp16", whose
// members are numbers.
static Value typeLimits(const std::string &path, const Arguments &arguments,
                        const KeywordValues &keywords) {
  const Value *type = arguments.size() == 1 ? &arguments[0]
                      : keywords.size() == 1 && keywords[0].first == "type"
                          ? &keywords[0].second
                          : nullptr;
  const auto *dtype = type ? type->get<Value::DType>() : nullptr;
  if (!dtype)
    throw ValueProblem{"`" + path + "` takes a type",
                       "write " + path + "(torch.float32)"};
  return Value::Named{path + "." + dtype->name};
}

// Returns a member of torch.finfo; nullopt for another name.
static std::optional<Value> memberOfFinfo(const std::string &type,
                                          const std::string &member) {
  struct Limits {
    const char *type;
    int fraction; // fraction bits of the significand
    int lowest;   // exponent of the smallest normal number
    double largest;
    int bits;
  };
  static const Limits table[] = {
      {"fp64", 52, -1022, std::numeric_limits<double>::max(), 64},
      {"fp32", 23, -126, double(std::numeric_limits<float>::max()), 32},
      {"bf16", 7, -126, 0x1.fep127, 16},
      {"fp16", 10, -14, 65504, 16},
      {"fp8e4nv", 3, -6, 448, 8},
      {"fp8e5", 2, -14, 57344, 8}};
  for (const Limits &limits : table) {
    if (type != limits.type)
      continue;
    if (member == "max")
      return Value(limits.largest);
    if (member == "min")
      return Value(-limits.largest);
    if (member == "eps" || member == "resolution")
      return member == "eps"
                 ? std::optional<Value>(std::ldexp(1.0, -limits.fraction))
                 : std::nullopt;
    if (member == "tiny" || member == "smallest_normal")
      return Value(std::ldexp(1.0, limits.lowest));
    if (member == "bits")
      return Value(limits.bits);
  }
  return std::nullopt;
}

// Returns a member of torch.iinfo; nullopt for another name.
static std::optional<Value> memberOfIinfo(const std::string &type,
                                          const std::string &member) {
  const bool isUnsigned = type.starts_with("u");
  const size_t digits = type.find_first_of("0123456789");
  if (digits == std::string::npos || type.find("fp") != std::string::npos)
    return std::nullopt;
  const int bits = std::atoi(type.c_str() + digits);
  if (bits < 8 || bits > 64)
    return std::nullopt;
  const Int top = Int(1) << (isUnsigned ? bits : bits - 1);
  if (member == "max")
    return Value(Int(top - 1));
  if (member == "min")
    return Value(isUnsigned ? Int(0) : Int(-top));
  if (member == "bits")
    return Value(bits);
  return std::nullopt;
}

bool isCallable(const std::string &path) {
  return path == "torch.finfo" || path == "torch.iinfo" ||
         path == "triton.Config" || table().contains(path);
}

static std::optional<int64_t> launchNumber(const Value &value,
                                           const std::string &name) {
  auto number = value.asInt();
  if (!number || *number < 0 || *number > 64)
    throw ValueProblem{"triton.Config: `" + name + "` must be 0 to 64",
                       "num_warps=4, num_stages=2 are common"};
  return int64_t(*number);
}

static Value makeConfig(const Arguments &arguments,
                        const KeywordValues &keywords) {
  Value::Config config;
  Arguments positional = arguments;
  for (const auto &[name, value] : keywords)
    if (name == "kwargs")
      positional.insert(positional.begin(), value);
  if (positional.empty() || !positional[0].is<Value::Dict>() ||
      positional.size() > 3)
    throw ValueProblem{
        "triton.Config takes a dict of constexprs, num_warps and num_stages",
        "write triton.Config({\"BM\": 64}, num_warps=4, num_stages=2)"};
  for (const auto &[key, value] : positional[0].get<Value::Dict>()->items) {
    const auto *name = key.get<std::string>();
    if (!name)
      throw ValueProblem{"triton.Config: a name that is not a string",
                         "write {\"BM\": 64}"};
    config.constexprs.emplace_back(*name, value);
  }
  if (positional.size() > 1)
    config.numWarps = launchNumber(positional[1], "num_warps");
  if (positional.size() > 2)
    config.numStages = launchNumber(positional[2], "num_stages");
  for (const auto &[name, value] : keywords) {
    if (name == "num_warps")
      config.numWarps = launchNumber(value, name);
    else if (name == "num_stages")
      config.numStages = launchNumber(value, name);
    else if (name != "kwargs" && name != "num_ctas" && name != "maxnreg" &&
             name != "pre_hook")
      throw ValueProblem{"triton.Config has no keyword `" + name + "`",
                         "known: num_warps, num_stages"};
  }
  return config;
}

Value callNamed(const std::string &path, const std::vector<Value> &arguments,
                const KeywordValues &keywords) {
  if (path == "torch.finfo" || path == "torch.iinfo")
    return typeLimits(path, arguments, keywords);
  if (path == "triton.Config")
    return makeConfig(arguments, keywords);
  auto found = table().find(path);
  if (found == table().end())
    throw ValueProblem{"`" + path + "` cannot be called at compile time",
                       "known: min, max, len, range, math.*, triton.cdiv, "
                       "triton.next_power_of_2, triton.Config"};
  if (!keywords.empty())
    throw ValueProblem{"`" + path + "` takes no keyword `" + keywords[0].first +
                           "`",
                       "pass it by position"};
  const Entry &entry = found->second;
  if (arguments.size() < entry.least || arguments.size() > entry.most)
    throw ValueProblem{"`" + path + "` does not take " +
                           std::to_string(arguments.size()) + " arguments",
                       "it takes " + std::to_string(entry.least) +
                           (entry.most > 3 ? " or more"
                            : entry.most > entry.least
                                ? " to " + std::to_string(entry.most)
                                : "")};
  return entry.function(arguments);
}

std::optional<Value> pythonName(std::string_view name) {
  std::string path(name);
  if (path.find('.') == std::string::npos && table().contains(path))
    return Value(Value::Named{path});
  return std::nullopt;
}

Value namedValue(const std::string &written) {
  // tl.core.x and tl.standard.x name the same function as tl.x.
  std::string path = written;
  for (std::string_view part :
       {"triton.language.core.", "triton.language.standard."})
    if (path.starts_with(part))
      path = "triton.language." + path.substr(part.size());
  for (const char *kind : {kFinfo, kIinfo})
    if (path.starts_with(kind)) {
      const std::string rest = path.substr(std::string(kind).size());
      const size_t dot = rest.find('.');
      if (dot == std::string::npos)
        continue;
      const auto member = kind == kFinfo ? memberOfFinfo : memberOfIinfo;
      if (auto value = member(rest.substr(0, dot), rest.substr(dot + 1)))
        return *value;
    }
  if (path == "math.tau")
    return 6.283185307179586;
  if (path == "math.pi")
    return 3.141592653589793;
  if (path == "math.e")
    return 2.718281828459045;
  if (path == "math.inf")
    return std::numeric_limits<double>::infinity();
  if (path == "math.nan")
    return std::numeric_limits<double>::quiet_NaN();
  static constexpr std::pair<std::string_view, std::string_view> kTorch[] = {
      {"torch.float8_e4m3fn", "fp8e4nv"},
      {"torch.float8_e5m2", "fp8e5"},
      {"torch.half", "fp16"},
      {"torch.float", "fp32"},
      {"torch.double", "fp64"},
      {"torch.long", "i64"},
      {"torch.int", "i32"},
      {"torch.short", "i16"}};
  for (const auto &[name, type] : kTorch)
    if (path == name)
      return Value::DType{std::string(type)};
  for (std::string prefix : {"triton.language.", "torch."})
    if (path.starts_with(prefix))
      if (auto dtype = dtypeFromName(path.substr(prefix.size())))
        return Value::DType{*dtype};
  if (path == "triton.language.cdiv" ||
      path == "triton.language.next_power_of_2")
    return Value::Named{"triton." + path.substr(16)};
  return Value::Named{path};
}

} // namespace tessera::language
