// replay/Case.cpp - reads and writes case.json.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "replay/Case.h"

#include "language/ConstexprValues.h"
#include "language/ValueJson.h"
#include "runtime/launch/KernelState.h"
#include "support/File.h"
#include "support/Json.h"
#include "support/Lists.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tessera::cases {

namespace fs = std::filesystem;

namespace {

// Python writes NaN, Infinity and -Infinity, which JSON does not have. Outside
// of strings they become an object {"float": TEXT}.
constexpr const char *floatKey = "\001float";

std::string withoutBareFloats(std::string_view text) {
  static constexpr std::string_view words[] = {"-Infinity", "Infinity", "NaN"};
  std::string result;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (inString) {
      result += c;
      if (c == '\\' && i + 1 < text.size())
        result += text[++i];
      else if (c == '"')
        inString = false;
      continue;
    }
    const auto word =
        std::find_if(std::begin(words), std::end(words),
                     [&](auto w) { return text.substr(i).starts_with(w); });
    if (word != std::end(words)) {
      result += R"({"\u0001float":")" + std::string(*word) + "\"}";
      i += word->size() - 1;
      continue;
    }
    inString = c == '"';
    result += c;
  }
  return result;
}

std::optional<double> floatOf(const Json &value) {
  if (value.is_number())
    return value.get<double>();
  if (value.is_string()) {
    const std::string text = value.get<std::string>();
    const bool negative = text.starts_with("-");
    const std::string word = text.substr(negative ? 1 : 0);
    if (word == "nan" || word == "NaN")
      return std::nan("");
    if (word == "inf" || word == "Infinity")
      return negative ? -HUGE_VAL : HUGE_VAL;
    return std::nullopt;
  }
  if (!value.is_object() || !value.contains(floatKey))
    return std::nullopt;
  const Json &text = value[floatKey];
  if (text == "NaN")
    return std::nan("");
  return text == "Infinity" ? HUGE_VAL : -HUGE_VAL;
}

std::string shown(const Json &value) {
  const std::string text =
      value.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.size() > 60 ? text.substr(0, 57) + "..." : text;
}

// Rejects only misspelt keys: recorders may add other keys.
void checkNames(const Json &object, const std::vector<std::string> &known,
                const std::string &what) {
  if (!object.is_object())
    throw Error(what + " is not a JSON object", "write {\"key\": value, ...}");
  for (const auto &item : object.items()) {
    if (std::find(known.begin(), known.end(), item.key()) != known.end())
      continue;
    const std::string near = nearestName(item.key(), known);
    if (!near.empty() && !object.contains(near))
      throw Error(what + " has a key `" + item.key() + "`",
                  "did you mean `" + near + "`?");
  }
}

int64_t wholeNumber(const Json &value, const std::string &what) {
  if (value.is_number_integer() &&
      !(value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX))
    return value.get<int64_t>();
  throw Error(what + " is " + shown(value) + ", not a whole number",
              "write a number such as 4");
}

std::vector<int64_t> numbers(const Json &value, const std::string &what) {
  if (!value.is_array())
    throw Error(what + " is " + shown(value) + ", not a list",
                "write [2, 64]; [] for a single element");
  std::vector<int64_t> result;
  for (const Json &number : value)
    result.push_back(wholeNumber(number, what));
  return result;
}

std::optional<int64_t> optionalNumber(const Json &json, const char *key,
                                      const std::string &what) {
  if (!json.contains(key) || json[key].is_null())
    return std::nullopt;
  return wholeNumber(json[key], what + ": `" + key + "`");
}

ConstexprValue readConstexpr(const Json &value, const std::string &what) {
  if (value.is_null())
    return nullptr;
  if (value.is_boolean())
    return value.get<bool>();
  if (value.is_string())
    return value.get<std::string>();
  if (value.is_number_integer())
    return wholeNumber(value, what);
  if (auto number = floatOf(value))
    return *number;
  if (value.is_object())
    return language::fromValue(what, language::valueFromJson(value, what));
  throw Error(what + " is " + shown(value),
              "a constexpr is a number, true, false, null, a string or "
              "{\"tuple\": [...]}");
}

void readScalar(CaseArgument &argument, const Json &json,
                const std::string &what) {
  if (!json.contains("value"))
    throw Error(what + " has no `value`",
                "add the number it was launched with");
  const Json &value = json["value"];
  argument.text = shown(value);
  if (value.is_boolean()) {
    argument.value = value.get<bool>();
    return;
  }
  if (argument.kind == ArgumentKind::Float) {
    const auto number = floatOf(value);
    if (!number)
      throw Error(what + ": the value is " + shown(value) + ", not a number",
                  "write a number such as 0.5");
    argument.value = *number;
    return;
  }
  // 2^63 and more is valid for u64; the runner reports it as unsupported.
  if (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX)
    return;
  argument.value = wholeNumber(value, what + ": the value");
  if (argument.dtype == "i1")
    argument.value = std::get<int64_t>(*argument.value) != 0;
}

void readPointer(CaseArgument &argument, const Json &json,
                 const std::string &what) {
  if (!json.contains("shape"))
    throw Error(what + " has no `shape`", "write \"shape\": [64, 32]");
  argument.layout = contiguousLayout(numbers(json["shape"], what + ": shape"));
  for (int64_t size : argument.layout.shape)
    if (size < 0)
      throw Error(what + ": the shape has " + std::to_string(size),
                  "sizes are 0 or more");
  if (json.contains("strides") && !json["strides"].is_null())
    argument.layout.strides = numbers(json["strides"], what + ": strides");
  if (argument.layout.strides.size() != argument.layout.shape.size())
    throw Error(what + " has " + std::to_string(argument.layout.shape.size()) +
                    " sizes and " +
                    std::to_string(argument.layout.strides.size()) + " strides",
                "give one stride, in elements, for each dimension");
  argument.elements = argument.layout.span(what);
  if (auto given = optionalNumber(json, "elements", what)) {
    if (*given < 0)
      throw Error(what + ": `elements` is " + std::to_string(*given),
                  "it counts the elements that were kept");
    argument.elements = *given;
  }
}

CaseArgument readArgument(const Json &json, const std::string &file) {
  static const std::vector<std::string> keys = {
      "name", "kind", "dtype", "value", "shape", "strides", "elements"};
  checkNames(json, keys, file + ": an argument");
  CaseArgument argument;
  argument.name = member<std::string>(json, "name", file + ": an argument");
  const std::string what = file + ": argument `" + argument.name + "`";
  static const std::vector<std::string> kinds = {"pointer", "int", "float"};
  const auto kind = member<std::string>(json, "kind", what);
  const auto found = std::find(kinds.begin(), kinds.end(), kind);
  if (found == kinds.end())
    throw Error(what + " has the kind `" + kind + "`",
                nearestNameHint(kind, kinds, "kinds"));
  argument.kind = ArgumentKind(found - kinds.begin());
  argument.dtype = memberOr<std::string>(json, "dtype", "", what);
  argument.type = dtypeFromText(argument.dtype);
  if (argument.kind != ArgumentKind::Pointer) {
    readScalar(argument, json, what);
    return argument;
  }
  if (!argument.type && !argument.dtype.starts_with("fp") &&
      !argument.dtype.starts_with("float")) {
    std::vector<std::string> names;
    for (int i = 0; i <= int(DType::FP8E5); ++i)
      names.push_back(dtypeName(DType(i)));
    throw Error(what + " has the dtype `" + argument.dtype + "`",
                nearestNameHint(argument.dtype, names, "dtypes"));
  }
  readPointer(argument, json, what);
  return argument;
}

Grid readGrid(const Json &json, const std::string &file) {
  const std::vector<int64_t> sizes =
      json.is_number()
          ? std::vector<int64_t>{wholeNumber(json, file + ": grid")}
          : numbers(json, file + ": grid");
  Grid grid = {1, 1, 1};
  if (sizes.empty() || sizes.size() > grid.size())
    throw Error(file + ": the grid has " + std::to_string(sizes.size()) +
                    " numbers",
                "it has 1 to 3");
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || sizes[i] > INT32_MAX)
      throw Error(file + ": the grid has " + std::to_string(sizes[i]),
                  "its numbers lie between 0 and 2^31 - 1");
    grid[i] = uint32_t(sizes[i]);
  }
  return grid;
}

const CaseArgument &pointerNamed(const Case &recorded, const std::string &name,
                                 const std::string &what) {
  const CaseArgument *argument = recorded.find(name);
  if (!argument)
    throw Error(
        what + " names `" + name + "`, which is not an argument",
        nearestNameHint(name, namesOf(recorded.arguments, &CaseArgument::name),
                        "arguments"));
  if (argument->kind != ArgumentKind::Pointer)
    throw Error(what + " names `" + name + "`, which is not a pointer",
                "name an argument whose kind is pointer");
  return *argument;
}

// In the order of CompareMode::Kind.
const std::vector<std::string> &modeNames() {
  static const std::vector<std::string> names = {"exact", "rms", "unordered",
                                                 "ties", "scratch"};
  return names;
}

CompareMode readMode(const Case &recorded, const Json &json,
                     const std::string &what) {
  const std::vector<std::string> &modes = modeNames();
  std::string name;
  CompareMode mode;
  if (json.is_object()) {
    checkNames(json, {"mode", "scores"}, what);
    name = member<std::string>(json, "mode", what);
    mode.scores = memberOr<std::string>(json, "scores", "", what);
  } else if (json.is_string()) {
    name = json.get<std::string>();
  }
  const auto found = std::find(modes.begin(), modes.end(), name);
  if (found == modes.end())
    throw Error(what + " is " + shown(json) + ", which is not a way to compare",
                nearestNameHint(name, modes, "modes"));
  mode.kind = CompareMode::Kind(found - modes.begin());
  if (mode.kind == CompareMode::Kind::Ties) {
    if (mode.scores.empty())
      throw Error(what + ": ties need the scores that decide them",
                  "write {\"mode\": \"ties\", \"scores\": \"ARGUMENT\"}");
    pointerNamed(recorded, mode.scores, what);
  }
  return mode;
}

} // namespace

const char *compareModeName(CompareMode::Kind kind) {
  return modeNames()[size_t(kind)].c_str();
}

const CaseArgument *Case::find(std::string_view wanted) const {
  for (const CaseArgument &argument : arguments)
    if (argument.name == wanted)
      return &argument;
  return nullptr;
}

bool Case::isWritten(std::string_view wanted) const {
  return std::find(written.begin(), written.end(), wanted) != written.end();
}

CompareMode Case::modeOf(const CaseArgument &argument) const {
  if (auto found = compare.find(argument.name); found != compare.end())
    return found->second;
  CompareMode mode;
  mode.kind = argument.type && isFloat(*argument.type)
                  ? CompareMode::Kind::Rms
                  : CompareMode::Kind::Exact;
  return mode;
}

static CaseWork readWork(const Json &json, const std::string &what) {
  checkKeys(json, {"bytes", "dot_flop", "nondeterministic"}, what);
  CaseWork work;
  work.bytes = memberOr<double>(json, "bytes", 0, what);
  work.dotFlop =
      memberOr<std::map<std::string, double>>(json, "dot_flop", {}, what);
  work.nondeterministic = memberOr<bool>(json, "nondeterministic", false, what);
  return work;
}

static Constexprs readConstexprs(const Json &json, const std::string &what) {
  if (!json.is_object())
    throw Error(what + " is not an object", "write {\"BLOCK\": 64}");
  Constexprs result;
  for (const auto &item : json.items())
    result[item.key()] =
        readConstexpr(item.value(), what + ": `" + item.key() + "`");
  return result;
}

static CaseSource readSource(const Json &json, const std::string &what) {
  checkNames(json, {"file", "given", "sequence", "threads"}, what);
  CaseSource source;
  source.file = member<std::string>(json, "file", what);
  if (json.contains("given"))
    source.given = readConstexprs(json["given"], what + ": given");
  source.sequence = optionalNumber(json, "sequence", what).value_or(0);
  if (source.sequence < 0)
    throw Error(what + ": the sequence length is " +
                    std::to_string(source.sequence),
                "write the longest sequence of the launch, 0 if not known");
  source.threads = optionalNumber(json, "threads", what).value_or(0);
  if (source.threads < 0)
    throw Error(what + ": the number of threads is " +
                    std::to_string(source.threads),
                "write the threads of the launch, 0 if not known");
  return source;
}

Case readCase(std::string_view text, const std::string &name) {
  static const std::vector<std::string> keys = {
      "name",      "kernel",     "kernel_file", "grid",    "constexprs",
      "num_warps", "num_stages", "args",        "written", "compare",
      "checks",    "work",       "source"};
  const Json json = parseJson(withoutBareFloats(text), name);
  checkNames(json, keys, name);
  Case recorded;
  recorded.name = memberOr<std::string>(json, "name", "", name);
  recorded.kernel = member<std::string>(json, "kernel", name);
  recorded.kernelFile =
      memberOr<std::string>(json, "kernel_file", "kernel.py", name);
  if (fs::path(recorded.kernelFile).is_absolute() ||
      recorded.kernelFile.find("..") != std::string::npos ||
      recorded.kernelFile.empty())
    throw Error(name + ": kernel_file is `" + recorded.kernelFile + "`",
                "name a file in the case's folder: kernel.py");
  if (!json.contains("grid"))
    throw Error(name + ": `grid` is missing", "add \"grid\": [1]");
  recorded.grid = readGrid(json["grid"], name);
  recorded.numWarps = optionalNumber(json, "num_warps", name);
  recorded.numStages = optionalNumber(json, "num_stages", name);
  if (recorded.numWarps && (*recorded.numWarps < 1 || *recorded.numWarps > 64 ||
                            !std::has_single_bit(uint64_t(*recorded.numWarps))))
    throw Error(name + ": num_warps is " + std::to_string(*recorded.numWarps),
                "num_warps is a power of two, 1 to 64");
  if (recorded.numStages &&
      (*recorded.numStages < 0 || *recorded.numStages > 64))
    throw Error(name + ": num_stages is " + std::to_string(*recorded.numStages),
                "num_stages is 0 to 64");
  if (json.contains("constexprs") && !json["constexprs"].is_null())
    recorded.constexprs =
        readConstexprs(json["constexprs"], name + ": constexprs");
  if (!json.contains("args") || !json["args"].is_array())
    throw Error(name + ": `args` is missing or no list",
                "list the arguments in signature order");
  for (const Json &entry : json["args"]) {
    CaseArgument argument = readArgument(entry, name);
    if (recorded.find(argument.name))
      throw Error(name + ": two arguments are called `" + argument.name + "`",
                  "each parameter of the kernel has one");
    recorded.arguments.push_back(std::move(argument));
  }
  if (json.contains("written")) {
    if (!json["written"].is_array())
      throw Error(name + ": `written` is not a list", "write [\"OUT\"]");
    for (const Json &entry : json["written"]) {
      if (!entry.is_string())
        throw Error(name + ": `written` holds " + shown(entry),
                    "list names of arguments");
      recorded.written.push_back(entry.get<std::string>());
      pointerNamed(recorded, recorded.written.back(), name + ": written");
    }
  }
  if (json.contains("compare") && !json["compare"].is_null()) {
    if (!json["compare"].is_object())
      throw Error(name + ": `compare` is not an object",
                  "write {\"OUT\": \"unordered\"}");
    for (const auto &item : json["compare"].items()) {
      pointerNamed(recorded, item.key(), name + ": compare");
      recorded.compare[item.key()] = readMode(
          recorded, item.value(), name + ": compare `" + item.key() + "`");
    }
  }
  if (json.contains("work") && !json["work"].is_null())
    recorded.work = readWork(json["work"], name + ": work");
  if (json.contains("source") && !json["source"].is_null())
    recorded.source = readSource(json["source"], name + ": source");
  return recorded;
}

static Json constexprJson(const ConstexprValue &value) {
  return std::visit(
      [](const auto &held) -> Json {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, DType>)
          return dtypeName(held);
        else if constexpr (std::is_same_v<T, EncodedConstexpr>)
          return parseJson(held.json, "a constexpr");
        else
          return held;
      },
      value);
}

static Json constexprsJson(const Constexprs &constexprs) {
  Json json = Json::object();
  for (const auto &[name, value] : constexprs)
    json[name] = constexprJson(value);
  return json;
}

static Json argumentJson(const CaseArgument &argument) {
  static const char *const kinds[] = {"pointer", "int", "float"};
  Json json = {{"name", argument.name},
               {"kind", kinds[int(argument.kind)]},
               {"dtype", argument.dtype}};
  if (argument.kind == ArgumentKind::Pointer) {
    json["shape"] = argument.layout.shape;
    json["strides"] = argument.layout.strides;
    json["elements"] = argument.elements;
  } else if (argument.value) {
    std::visit(
        [&](const auto &held) {
          using T = std::decay_t<decltype(held)>;
          if constexpr (!std::is_same_v<T, Pointer>)
            json["value"] = held;
        },
        *argument.value);
  }
  return json;
}

// nlohmann writes a non-finite float as null, which would be read as None.
static void rejectNonFinite(const Json &json, const std::string &name) {
  if (json.is_number_float() && !std::isfinite(json.get<double>()))
    throw Error("case `" + name + "`: a scalar is not finite",
                "JSON has no word for it; record a launch without");
  if (json.is_structured())
    for (const Json &part : json)
      rejectNonFinite(part, name);
}

std::string writeCase(const Case &recorded) {
  Json json = {{"name", recorded.name},
               {"kernel", recorded.kernel},
               {"kernel_file", recorded.kernelFile},
               {"grid", recorded.grid},
               {"constexprs", constexprsJson(recorded.constexprs)},
               {"args", Json::array()},
               {"written", recorded.written}};
  for (const CaseArgument &argument : recorded.arguments)
    json["args"].push_back(argumentJson(argument));
  if (recorded.numWarps)
    json["num_warps"] = *recorded.numWarps;
  if (recorded.numStages)
    json["num_stages"] = *recorded.numStages;
  for (const auto &[name, mode] : recorded.compare)
    json["compare"][name] =
        mode.kind == CompareMode::Kind::Ties
            ? Json{{"mode", "ties"}, {"scores", mode.scores}}
            : Json(compareModeName(mode.kind));
  if (recorded.work)
    json["work"] = {{"bytes", recorded.work->bytes},
                    {"dot_flop", recorded.work->dotFlop},
                    {"nondeterministic", recorded.work->nondeterministic}};
  if (recorded.source)
    json["source"] = {{"file", recorded.source->file},
                      {"given", constexprsJson(recorded.source->given)},
                      {"sequence", recorded.source->sequence},
                      {"threads", recorded.source->threads}};
  rejectNonFinite(json, recorded.name);
  try {
    return json.dump(1) + "\n";
  } catch (const Json::exception &) {
    throw Error("case `" + recorded.name + "` holds text that is not UTF-8",
                "rename what is called so");
  }
}

std::string LoadedCase::folderName() const {
  const fs::path normal = folder.lexically_normal();
  return (normal.has_filename() ? normal : normal.parent_path())
      .filename()
      .string();
}

LoadedCase loadCaseText(const fs::path &folder) {
  LoadedCase loaded;
  std::error_code error;
  loaded.folder = fs::absolute(folder, error).lexically_normal();
  if (!loaded.folder.has_filename()) // the path ended with a slash
    loaded.folder = loaded.folder.parent_path();
  auto read = [&](const std::string &name) { return readFile(folder / name); };
  loaded.recorded =
      readCase(read("case.json"), (folder / "case.json").string());
  if (loaded.recorded.name.empty())
    loaded.recorded.name = loaded.folderName();
  loaded.kernelText = read(loaded.recorded.kernelFile);
  return loaded;
}

LoadedCase loadCase(const fs::path &folder) {
  LoadedCase loaded = loadCaseText(folder);
  std::error_code error;
  auto read = [&](const std::string &name) { return readFile(folder / name); };
  auto tensors = [&](const std::string &name) {
    return readSafetensors(read(name), (folder / name).string());
  };
  loaded.before = tensors("before.safetensors");
  // The file may be missing if the launch writes nothing.
  if (!loaded.recorded.written.empty() ||
      fs::exists(folder / "after.safetensors", error))
    loaded.after = tensors("after.safetensors");
  return loaded;
}

std::vector<fs::path> findCases(const fs::path &path) {
  std::error_code error;
  if (fs::is_regular_file(path / "case.json", error))
    return {path};
  if (path.filename() == "case.json" && fs::is_regular_file(path, error))
    return {path.parent_path().empty() ? fs::path(".") : path.parent_path()};
  std::vector<fs::path> found;
  if (fs::is_directory(path, error))
    for (const auto &entry : fs::directory_iterator(path, error))
      if (fs::is_regular_file(entry.path() / "case.json", error))
        found.push_back(entry.path());
  if (found.empty())
    throw Error("no case in " + path.string(),
                "name a folder that holds case.json, or a folder of such "
                "folders");
  std::sort(found.begin(), found.end());
  return found;
}

} // namespace tessera::cases
