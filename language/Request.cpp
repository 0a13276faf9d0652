// language/Request.cpp - the request and the result of a compilation, in JSON.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/Request.h"

#include "language/ValueJson.h"
#include "support/Hash.h"
#include "support/Json.h"

#include <cmath>

namespace tessera::language {

static const std::string requestName = "compile request";
static const std::string resultName = "compile result";

static Json argumentToJson(const Argument &argument) {
  Json json = {{"name", argument.name}, {"kind", argKindName(argument.kind)}};
  if (argument.isConstexpr())
    json["value"] = toJson(argument.value);
  else
    json["type"] = argument.type;
  return json;
}

static Argument argumentFromJson(const Json &json) {
  const std::string what = requestName + ": argument";
  checkKeys(json, {"name", "kind", "type", "value"}, what);
  Argument result;
  result.name = member<std::string>(json, "name", what);
  auto kind = member<std::string>(json, "kind", what);
  std::string place = what + " `" + result.name + "`";
  if (kind == argKindName(ArgKind::Constexpr)) {
    if (!json.contains("value") || json.contains("type"))
      throw Error(place + ": a constexpr has a `value` and no `type`",
                  "add `value`, drop `type`");
    result.value = valueFromJson(json["value"], place);
    return result;
  }
  if (json.contains("value"))
    throw Error(place + ": only a constexpr has a `value`", "drop it");
  result.type = member<std::string>(json, "type", place);
  auto argClass = ArgClass::parse(result.type);
  if (!argClass || argClass->str() != result.type)
    throw Error(place + ": `" + result.type + "` is not an argument class",
                "write \"*fp32:16\", \"i32\" and the like");
  result.kind = argClass->pointer                   ? ArgKind::Pointer
                : isFloatElement(argClass->element) ? ArgKind::Float
                                                    : ArgKind::Int;
  if (kind != argKindName(result.kind))
    throw Error(place + ": the kind `" + kind + "` does not fit the type `" +
                    result.type + "`",
                std::string("the kind is `") + argKindName(result.kind) + "`");
  return result;
}

// Returns the value with functions reduced to their names: the text of a
// request contains the functions, so their files do not matter.
static Value withoutFiles(const Value &value) {
  Value result = value;
  if (auto *function = std::get_if<Value::KernelFunction>(&result.data))
    function->file.clear();
  else if (auto *tuple = std::get_if<Value::Tuple>(&result.data))
    for (Value &item : tuple->items)
      item = withoutFiles(item);
  return result;
}

static std::vector<Argument> withoutFiles(std::vector<Argument> args) {
  for (Argument &argument : args)
    argument.value = withoutFiles(argument.value);
  return args;
}

static Json argumentsToJson(const std::vector<Argument> &args) {
  Json result = Json::array();
  for (const Argument &argument : args)
    result.push_back(argumentToJson(argument));
  return result;
}

static Json optionsToJson(const CompileOptions &options) {
  Json json = {{"num_warps", options.numWarps},
               {"num_stages", options.numStages},
               {"f32Default", options.f32Default},
               {"debug", options.debug}};
  // Omitted if false, so that the keys of kernels without the hint stay the
  // same.
  if (options.swapAb)
    json["swap_ab"] = true;
  if (options.constantInputs)
    json["constant_inputs"] = true;
  if (options.wideGrid)
    json["wide_grid"] = true;
  return json;
}

static CompileOptions optionsFromJson(const Json &json) {
  const std::string what = requestName + ": options";
  checkKeys(json,
            {"num_warps", "num_stages", "f32Default", "debug", "swap_ab",
             "constant_inputs", "wide_grid"},
            what);
  CompileOptions result;
  // get<int64_t> would round a float and read true as 1.
  for (const char *key : {"num_warps", "num_stages"})
    if (json.contains(key) && !json[key].is_number_integer())
      throw Error(what + ": `" + key + "` is not a whole number",
                  "write a number such as 4");
  result.numWarps = memberOr<int64_t>(json, "num_warps", 4, what);
  result.numStages = memberOr<int64_t>(json, "num_stages", 2, what);
  result.debug = memberOr<bool>(json, "debug", false, what);
  result.swapAb = memberOr<bool>(json, "swap_ab", false, what);
  result.constantInputs = memberOr<bool>(json, "constant_inputs", false, what);
  result.wideGrid = memberOr<bool>(json, "wide_grid", false, what);
  result.f32Default = memberOr<std::string>(json, "f32Default", "tf32", what);
  if (result.f32Default != "tf32" && result.f32Default != "ieee")
    throw Error(what + ": f32Default is `" + result.f32Default + "`",
                "write tf32 or ieee");
  const auto requireRange = [&](const char *key, int64_t value, int64_t least) {
    if (value < least || value > 64)
      throw Error(what + ": " + key + " is " + std::to_string(value),
                  std::string("give ") + key + " a number from " +
                      std::to_string(least) + " to 64");
  };
  requireRange("num_warps", result.numWarps, 1);
  requireRange("num_stages", result.numStages, 0);
  return result;
}

std::string CompileRequest::toJson() const {
  Json json = {{"file", file},
               {"kernel", kernel},
               {"text", text},
               {"args", argumentsToJson(args)},
               {"options", optionsToJson(options)},
               {"target", target},
               {"emit", emit}};
  json["sources"] = Json::array();
  for (const RequestSource &source : sources)
    json["sources"].push_back({{"path", source.path}, {"text", source.text}});
  if (!assembler.empty())
    json["assembler"] = assembler;
  if (frontEndOnly)
    json["front_end_only"] = true;
  for (const StageOverride &edited : overrides)
    json["overrides"].push_back({{"stage", edited.stage},
                                 {"path", edited.path},
                                 {"text", edited.text}});
  return canonicalJson(json);
}

// Reads an array of the document, each element by `read`.
template <typename Read>
static void readArray(const Json &json, const char *key,
                      const std::string &what, Read read) {
  auto found = json.find(key);
  if (found == json.end())
    return;
  if (!found->is_array())
    throw Error(what + ": `" + key + "` is not an array", "write [...]");
  for (const Json &element : *found)
    read(element);
}

CompileRequest CompileRequest::fromJson(std::string_view text) {
  Json json = parseJson(text, requestName);
  checkKeys(json,
            {"file", "kernel", "text", "sources", "args", "options", "target",
             "emit", "assembler", "overrides", "front_end_only"},
            requestName);
  CompileRequest result;
  result.file = member<std::string>(json, "file", requestName);
  result.kernel = member<std::string>(json, "kernel", requestName);
  result.text = member<std::string>(json, "text", requestName);
  result.target = member<std::string>(json, "target", requestName);
  result.assembler = memberOr<std::string>(json, "assembler", "", requestName);
  result.frontEndOnly = memberOr(json, "front_end_only", false, requestName);
  if (!json.contains("args"))
    throw Error(requestName + ": `args` is missing", "add `args`");
  readArray(json, "args", requestName, [&](const Json &element) {
    result.args.push_back(argumentFromJson(element));
  });
  readArray(json, "sources", requestName, [&](const Json &element) {
    const std::string what = requestName + ": source";
    checkKeys(element, {"path", "text"}, what);
    result.sources.push_back({member<std::string>(element, "path", what),
                              member<std::string>(element, "text", what)});
  });
  readArray(json, "emit", requestName, [&](const Json &element) {
    if (!element.is_string())
      throw Error(requestName + ": `emit` has a member that is not a text",
                  "list names of stages");
    result.emit.push_back(element.get<std::string>());
  });
  readArray(json, "overrides", requestName, [&](const Json &element) {
    const std::string what = requestName + ": override";
    checkKeys(element, {"stage", "path", "text"}, what);
    result.overrides.push_back({member<std::string>(element, "stage", what),
                                member<std::string>(element, "path", what),
                                member<std::string>(element, "text", what)});
  });
  if (json.contains("options"))
    result.options = optionsFromJson(json["options"]);
  return result;
}

std::string CompileRequest::key() const {
  return sha256Hex(
      canonicalJson(Json{{"kernel", kernel},
                         {"text", text},
                         {"args", argumentsToJson(withoutFiles(args))},
                         {"options", optionsToJson(options)},
                         {"target", target}}));
}

std::string CompileRequest::overrideKey() const {
  if (overrides.empty())
    return "";
  Json texts = Json::array();
  for (const StageOverride &edited : overrides)
    texts.push_back({{"stage", edited.stage}, {"text", edited.text}});
  return sha256Hex(canonicalJson(texts));
}

static Json recordToJson(const DiagnosticRecord &record) {
  return {{"id", record.id},
          {"severity", record.severity},
          {"file", record.file},
          {"message", record.message},
          {"hint", record.hint},
          {"line", record.line},
          {"column", record.column},
          {"endLine", record.endLine},
          {"endColumn", record.endColumn}};
}

static DiagnosticRecord recordFromJson(const Json &json) {
  const std::string what = resultName + ": diagnostic";
  checkKeys(json,
            {"id", "severity", "file", "message", "hint", "line", "column",
             "endLine", "endColumn"},
            what);
  DiagnosticRecord record;
  record.id = member<std::string>(json, "id", what);
  record.severity = member<std::string>(json, "severity", what);
  record.file = member<std::string>(json, "file", what);
  record.message = member<std::string>(json, "message", what);
  record.hint = member<std::string>(json, "hint", what);
  record.line = member<uint32_t>(json, "line", what);
  record.column = member<uint32_t>(json, "column", what);
  record.endLine = member<uint32_t>(json, "endLine", what);
  record.endColumn = member<uint32_t>(json, "endColumn", what);
  return record;
}

static Json metaToJson(const ArtifactMeta &meta) {
  Json params = Json::array();
  for (const ArtifactParameter &param : meta.params)
    params.push_back(
        {{"name", param.name}, {"kind", param.kind}, {"type", param.type}});
  Json json = {{"symbol", meta.symbol},
               {"params", params},
               {"scratch_bytes", meta.scratchBytes}};
  if (meta.threads)
    json["threads"] = meta.threads;
  if (meta.sharedBytes)
    json["shared_bytes"] = meta.sharedBytes;
  if (meta.gridLimit)
    json["grid_limit"] = meta.gridLimit;
  if (meta.minBlocks)
    json["min_blocks"] = meta.minBlocks;
  if (!meta.disjoint.empty())
    json["disjoint"] = meta.disjoint;
  if (!meta.edited.empty())
    json["edited"] = meta.edited;
  if (!meta.lines.empty())
    json["lines"] = meta.lines.toJson();
  return json;
}

// Returns a number of the document; 0 if it is missing.
static uint32_t smallNumber(const Json &json, const char *key, uint32_t most,
                            const std::string &what) {
  auto found = json.find(key);
  if (found == json.end())
    return 0;
  if (!found->is_number_unsigned() || found->get<uint64_t>() > most)
    throw Error(what + ": `" + key + "` is not a number from 0 to " +
                    std::to_string(most),
                "write a number");
  return found->get<uint32_t>();
}

static void readDisjoint(const Json &json, ArtifactMeta &meta,
                         const std::string &what) {
  const auto found = json.find("disjoint");
  if (found == json.end())
    return;
  const auto isPointer = [&](const Json &number) {
    return number.is_number_unsigned() &&
           number.get<uint64_t>() < meta.params.size() &&
           meta.params[number.get<uint64_t>()].kind == "pointer";
  };
  bool fits = found->is_array();
  for (size_t i = 0; fits && i < found->size(); ++i) {
    const Json &pair = (*found)[i];
    fits = pair.is_array() && pair.size() == 2 && isPointer(pair[0]) &&
           isPointer(pair[1]);
    if (fits)
      meta.disjoint.emplace_back(pair[0], pair[1]);
  }
  if (!fits)
    throw Error(what + ": `disjoint` is not a list of pairs of numbers of "
                       "pointers in `params`",
                "write [[0, 1]], for example");
}

static ArtifactMeta metaFromJson(const Json &json) {
  const std::string what = resultName + ": meta";
  checkKeys(json,
            {"symbol", "params", "scratch_bytes", "threads", "shared_bytes",
             "grid_limit", "min_blocks", "disjoint", "edited", "lines"},
            what);
  ArtifactMeta meta;
  meta.symbol = member<std::string>(json, "symbol", what);
  if (json.contains("scratch_bytes") &&
      !json["scratch_bytes"].is_number_unsigned())
    throw Error(what + ": `scratch_bytes` is not a size", "write a number");
  meta.scratchBytes = member<uint64_t>(json, "scratch_bytes", what);
  meta.threads = smallNumber(json, "threads", maxBlockThreads, what);
  meta.sharedBytes = smallNumber(json, "shared_bytes", maxSharedBytes, what);
  meta.gridLimit = smallNumber(json, "grid_limit", UINT32_MAX, what);
  meta.minBlocks = smallNumber(json, "min_blocks", maxBlocksPerSm, what);
  meta.edited = memberOr<std::vector<std::string>>(json, "edited", {}, what);
  if (auto lines = json.find("lines"); lines != json.end())
    meta.lines = LineTable::fromJson(*lines, what + ".lines");
  readArray(json, "params", what, [&](const Json &element) {
    checkKeys(element, {"name", "kind", "type"}, what);
    meta.params.push_back({member<std::string>(element, "name", what),
                           member<std::string>(element, "kind", what),
                           member<std::string>(element, "type", what)});
  });
  readDisjoint(json, meta, what);
  return meta;
}

std::string CompileResult::toJson() const {
  Json json = {{"ok", ok},
               {"rendered", rendered},
               {"meta", metaToJson(meta)},
               {"stages", stages},
               {"timings", Json::object()}};
  if (defect)
    json["defect"] = true;
  for (const auto &[name, seconds] : timings)
    json["timings"][name] = std::isfinite(seconds) ? seconds : 0.0;
  json["diagnostics"] = Json::array();
  for (const DiagnosticRecord &record : diagnostics)
    json["diagnostics"].push_back(recordToJson(record));
  return canonicalJson(json);
}

CompileResult CompileResult::fromJson(std::string_view text) {
  Json json = parseJson(text, resultName);
  checkKeys(
      json,
      {"ok", "defect", "rendered", "meta", "stages", "timings", "diagnostics"},
      resultName);
  CompileResult result;
  result.ok = member<bool>(json, "ok", resultName);
  result.defect = memberOr<bool>(json, "defect", false, resultName);
  result.rendered = memberOr<std::string>(json, "rendered", "", resultName);
  using Texts = std::map<std::string, std::string>;
  using Numbers = std::map<std::string, double>;
  result.stages = memberOr<Texts>(json, "stages", {}, resultName);
  result.timings = memberOr<Numbers>(json, "timings", {}, resultName);
  readArray(json, "diagnostics", resultName, [&](const Json &element) {
    result.diagnostics.push_back(recordFromJson(element));
  });
  if (json.contains("meta"))
    result.meta = metaFromJson(json["meta"]);
  return result;
}

void CompileResult::addDiagnostics(const std::vector<Diagnostic> &list) {
  for (const Diagnostic &diagnostic : list) {
    DiagnosticRecord record;
    record.id = diagnosticName(diagnostic.id);
    record.severity = diagnostic.severity == Severity::Error     ? "error"
                      : diagnostic.severity == Severity::Warning ? "warning"
                                                                 : "note";
    record.file = diagnostic.file ? diagnostic.file->path() : "";
    record.message = diagnostic.message;
    record.hint = diagnostic.hint;
    record.line = diagnostic.range.line;
    record.column = diagnostic.range.column;
    record.endLine = diagnostic.range.endLine;
    record.endColumn = diagnostic.range.endColumn;
    diagnostics.push_back(std::move(record));
  }
  rendered += renderDiagnostics(list);
}

} // namespace tessera::language
