// tools/compile/Header.cpp - writes a compiled GPU kernel as a header for C and
// C++ programs.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/Header.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>

namespace tessera::tools {
namespace {

std::string cType(const language::ArtifactParameter &parameter) {
  if (parameter.kind == "pointer")
    return "CUdeviceptr";
  static const std::map<std::string, std::string> types = {
      {"i1", "uint8_t"},    {"i8", "int8_t"},     {"i16", "int16_t"},
      {"i32", "int32_t"},   {"i64", "int64_t"},   {"u8", "uint8_t"},
      {"u16", "uint16_t"},  {"u32", "uint32_t"},  {"u64", "uint64_t"},
      {"fp16", "uint16_t"}, {"bf16", "uint16_t"}, {"fp32", "float"},
      {"fp64", "double"}};
  const std::string element =
      parameter.type.substr(0, parameter.type.find_first_of(":="));
  const auto found = types.find(element);
  return found == types.end() ? "int32_t" : found->second;
}

// Returns the parameter's name, changed if C, C++ or the surrounding function
// reserves it. A tuple's value q.ptr becomes q_ptr.
std::string variable(std::string name) {
  std::replace(name.begin(), name.end(), '.', '_');
  static const std::set<std::string> taken = {
      "alignas", "alignof",   "and",      "asm",      "auto",    "bool",
      "case",    "catch",     "char",     "class",    "compl",   "concept",
      "const",   "constexpr", "decltype", "default",  "delete",  "do",
      "double",  "enum",      "explicit", "export",   "extern",  "false",
      "float",   "friend",    "function", "goto",     "gx",      "gy",
      "gz",      "inline",    "int",      "long",     "mutable", "namespace",
      "new",     "noexcept",  "nullptr",  "operator", "private", "protected",
      "public",  "register",  "requires", "restrict", "short",   "signed",
      "sizeof",  "static",    "stream",   "struct",   "switch",  "template",
      "this",    "throw",     "true",     "typedef",  "typeid",  "typename",
      "typeof",  "union",     "unsigned", "using",    "values",  "virtual",
      "void",    "volatile",  "xor"};
  return taken.count(name) ? name + "_" : name;
}

// Returns the prefix of the header's names: letters, digits and underscores.
std::string identifier(const std::string &name) {
  std::string result;
  for (char c : name)
    result += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return result.empty() || std::isdigit(static_cast<unsigned char>(result[0]))
             ? "k" + result
             : result;
}

// Returns the bytes and at least one zero as words. Words align the image, and
// the zero ends PTX.
std::string imageText(const std::string &image) {
  std::string text;
  char word[32];
  for (size_t at = 0; at <= image.size(); at += 8) {
    uint64_t bits = 0;
    std::memcpy(&bits, image.data() + at,
                std::min<size_t>(8, image.size() - at));
    std::snprintf(word, sizeof word, "0x%llxu,",
                  static_cast<unsigned long long>(bits));
    text += (at % 48 ? "" : "\n    ") + std::string(word);
  }
  text.pop_back();
  return text;
}

} // namespace

std::string cHeader(const std::string &name,
                    const language::CompileRequest &request,
                    const language::ArtifactMeta &meta,
                    const std::string &image) {
  const std::string id = identifier(name);
  std::string constants, parameters, values;
  for (const language::Argument &argument : request.args)
    if (argument.isConstexpr())
      constants += (constants.empty() ? "" : " ") + argument.name + "=" +
                   argument.value.repr();
  for (const language::ArtifactParameter &parameter : meta.params) {
    parameters += ", " + cType(parameter) + " " + variable(parameter.name);
    values += (values.empty() ? "&" : ", &") + variable(parameter.name);
  }
  std::string text = "// " + name + ".h - how to launch `" + request.kernel +
                     "` for " + request.target + ".\n" +
                     "// Made by tessera compile from request " +
                     request.key().substr(0, 16) + ".\n";
  if (!constants.empty())
    text += "// Constants: " + constants + "\n";
  text += "//\n//   " + id + "_load(&module);\n//   " + id +
          "_function(module, &function);\n//   " + id +
          "_launch(function, gx, gy, gz, stream, ...);\n#pragma once\n\n"
          "#include <stdint.h>\n\n";
  const auto define = [&](const char *what, const std::string &value) {
    text += "#define " + id + "_" + what + " " + value + "\n";
  };
  define("SYMBOL", "\"" + meta.symbol + "\"");
  define("TARGET", "\"" + request.target + "\"");
  define("THREADS", std::to_string(meta.threads));
  define("SHARED_BYTES", std::to_string(meta.sharedBytes));
  if (meta.gridLimit)
    define("GRID_LIMIT", std::to_string(meta.gridLimit)); // of gx
  define("PARAMETERS", std::to_string(meta.params.size()));
  define("IMAGE_BYTES", std::to_string(image.size()));
  text += std::string("\n// ") +
          (image.starts_with("\x7f"
                             "ELF")
               ? "The cubin"
               : "The PTX: there was no ptxas") +
          ", as cuModuleLoadData takes it, and zeros after it.\n" +
          "static const uint64_t " + id + "_IMAGE[] = {" + imageText(image) +
          "};\n";
  text += "\n#ifdef CUDA_VERSION // of cuda.h\n";
  for (const language::ArtifactParameter &parameter : meta.params)
    text += "// " + parameter.name + ": " + parameter.type + "\n";
  text += "static inline CUresult " + id +
          "_load(CUmodule *module) {\n  return cuModuleLoadData(module, " + id +
          "_IMAGE);\n}\n\n";
  text += "static inline CUresult " + id +
          "_function(CUmodule module, CUfunction *function) {\n"
          "  CUresult done = cuModuleGetFunction(function, module, " +
          id +
          "_SYMBOL);\n"
          "  if (done != CUDA_SUCCESS || " +
          id +
          "_SHARED_BYTES <= 49152)\n    return done;\n"
          "  return cuFuncSetAttribute(\n      *function, "
          "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,\n      " +
          id + "_SHARED_BYTES);\n}\n\n";
  text += "static inline CUresult " + id +
          "_launch(CUfunction function, unsigned gx, unsigned gy,\n"
          "    unsigned gz, CUstream stream" +
          parameters + ") {\n  void *values[] = {" +
          (values.empty() ? "0" : values) + "};\n" +
          (meta.gridLimit ? "  if (gx > " + id +
                                "_GRID_LIMIT)\n    return "
                                "CUDA_ERROR_INVALID_VALUE;\n"
                          : "") +
          "  return cuLaunchKernel(function, gx, gy, gz, " + id +
          "_THREADS, 1, 1,\n                        " + id +
          "_SHARED_BYTES, stream, values, 0);\n}\n#endif\n";
  return text;
}

} // namespace tessera::tools
