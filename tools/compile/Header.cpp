// tools/compile/Header.cpp - a compiled GPU kernel for programs in C and C++.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/Header.h"

#include <cctype>
#include <map>

namespace tessera::tools {
namespace {

std::string cType(const syntax::ArtifactParameter &parameter) {
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

// Letters, digits and underscores; the prefix of the header's names.
std::string identifier(const std::string &name) {
  std::string result;
  for (char c : name)
    result += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return result.empty() || std::isdigit(static_cast<unsigned char>(result[0]))
             ? "k" + result
             : result;
}

} // namespace

std::string cHeader(const std::string &name,
                    const syntax::CompileRequest &request,
                    const syntax::ArtifactMeta &meta) {
  const std::string id = identifier(name);
  std::string constants, parameters, values;
  for (const syntax::Argument &argument : request.args)
    if (argument.isConstexpr())
      constants += (constants.empty() ? "" : " ") + argument.name + "=" +
                   argument.value.repr();
  for (const syntax::ArtifactParameter &parameter : meta.params) {
    parameters += ", " + cType(parameter) + " " + parameter.name;
    values += (values.empty() ? "&" : ", &") + parameter.name;
  }
  std::string text = "// " + name + ".h - how to launch `" + request.kernel +
                     "` for " + request.target + ".\n" +
                     "// Made by tessera compile from request " +
                     request.key().substr(0, 16) + ".\n";
  if (!constants.empty())
    text += "// Constants: " + constants + "\n";
  text += "//\n//   cuModuleLoad(&module, \"" + name +
          ".cubin\");   // or the text of " + name + ".ptx\n//   " + id +
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
  define("PARAMETERS", std::to_string(meta.params.size()));
  text += "\n#ifdef CUDA_VERSION // of cuda.h\n";
  for (const syntax::ArtifactParameter &parameter : meta.params)
    text += "// " + parameter.name + ": " + parameter.type + "\n";
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
          (values.empty() ? "0" : values) +
          "};\n  return cuLaunchKernel(function, gx, gy, gz, " + id +
          "_THREADS, 1, 1,\n                        " + id +
          "_SHARED_BYTES, stream, values, 0);\n}\n#endif\n";
  return text;
}

} // namespace tessera::tools
