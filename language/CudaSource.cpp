// language/CudaSource.cpp - the kernels of a CUDA C++ file, by their heads.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/CudaSource.h"

#include "support/Error.h"
#include "support/File.h"
#include "support/Names.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace tessera::language {
namespace {

bool isWordPart(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// Returns the text with comments and the contents of strings replaced by
// blanks; line numbers stay.
std::string withoutComments(std::string_view text) {
  std::string result(text);
  enum { Code, Line, Block, String } state = Code;
  for (size_t i = 0; i < result.size(); ++i) {
    const char c = result[i], next = i + 1 < result.size() ? result[i + 1] : 0;
    if (state == Code && c == '/' && next == '/')
      state = Line;
    else if (state == Code && c == '/' && next == '*')
      state = Block;
    else if (state == Code && c == '"')
      state = String;
    else if (state == Line && c == '\n')
      state = Code;
    else if (state == String && (c == '"' || c == '\n'))
      state = Code;
    else if (state == Block && c == '*' && next == '/') {
      result[i] = result[i + 1] = ' ';
      ++i;
      state = Code;
      continue;
    }
    if (state != Code && c != '\n')
      result[i] = ' ';
  }
  return result;
}

// Splits the text into words and single punctuation characters.
std::vector<std::string> wordsOf(std::string_view text) {
  std::vector<std::string> words;
  for (size_t i = 0; i < text.size();) {
    if (std::isspace(static_cast<unsigned char>(text[i]))) {
      ++i;
      continue;
    }
    size_t end = i + 1;
    if (isWordPart(text[i]))
      while (end < text.size() && isWordPart(text[end]))
        ++end;
    words.emplace_back(text.substr(i, end - i));
    i = end;
  }
  return words;
}

std::string classOf(const std::string &type, bool pointer) {
  static const std::map<std::string, std::string> names = {
      {"float", "fp32"},
      {"double", "fp64"},
      {"__half", "fp16"},
      {"__nv_bfloat16", "bf16"},
      {"bool", "i1"},
      {"char", "i8"},
      {"signed char", "i8"},
      {"int8_t", "i8"},
      {"unsigned char", "u8"},
      {"uint8_t", "u8"},
      {"short", "i16"},
      {"int16_t", "i16"},
      {"unsigned short", "u16"},
      {"uint16_t", "u16"},
      {"int", "i32"},
      {"int32_t", "i32"},
      {"unsigned", "u32"},
      {"unsigned int", "u32"},
      {"uint32_t", "u32"},
      {"long", "i64"},
      {"long long", "i64"},
      {"int64_t", "i64"},
      {"unsigned long", "u64"},
      {"unsigned long long", "u64"},
      {"size_t", "u64"},
      {"uint64_t", "u64"}};
  auto found = names.find(type);
  if (found == names.end())
    return pointer ? "*i8" : "";
  return (pointer ? "*" : "") + found->second;
}

CudaParameter parameterOf(std::string_view text) {
  CudaParameter parameter;
  std::vector<std::string> words = wordsOf(text);
  bool pointer = false;
  std::string type;
  if (words.size() > 1 && isWordPart(words.back()[0])) {
    parameter.name = words.back();
    words.pop_back();
  }
  for (const std::string &word : words) {
    if (word == "*")
      pointer = true;
    else if (word == "std" || word == ":" || word == "const" ||
             word == "volatile" || word.find("restrict") != std::string::npos)
      continue;
    else
      type += (type.empty() ? "" : " ") + word;
  }
  parameter.type = classOf(type, pointer);
  return parameter;
}

// Returns the position after the bracket that closes the one at `open`.
size_t closing(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0)
      return i + 1;
  }
  return text.size();
}

} // namespace

std::vector<CudaKernel> findCudaKernels(std::string_view source) {
  const std::string text = withoutComments(source);
  std::vector<CudaKernel> kernels;
  const std::string mark = "__global__";
  for (size_t at = text.find(mark); at != std::string::npos;
       at = text.find(mark, at + 1)) {
    // The name is the last word before a bracket. Attributes such as
    // __launch_bounds__(128) have brackets, too.
    size_t open = text.find('(', at);
    std::string name;
    while (open != std::string::npos) {
      size_t end = open;
      while (end > at &&
             std::isspace(static_cast<unsigned char>(text[end - 1])))
        --end;
      size_t begin = end;
      while (begin > at && isWordPart(text[begin - 1]))
        --begin;
      name = text.substr(begin, end - begin);
      if (name.rfind("__", 0) != 0)
        break;
      open = text.find('(', closing(text, open));
    }
    if (open == std::string::npos || name.empty())
      continue;
    CudaKernel kernel;
    kernel.name = name;
    kernel.line = static_cast<uint32_t>(
        std::count(text.begin(), text.begin() + static_cast<long>(at), '\n') +
        1);
    const size_t end = closing(text, open) - 1;
    for (size_t begin = open + 1; begin < end;) {
      size_t comma = std::min(text.find(',', begin), end);
      std::string_view part(text.data() + begin, comma - begin);
      if (!wordsOf(part).empty())
        kernel.parameters.push_back(parameterOf(part));
      begin = comma + 1;
    }
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

bool isCudaSource(std::string_view path) { return path.ends_with(".cu"); }

CompileRequest
makeCudaRequest(const std::string &path, const std::string &kernel,
                const std::vector<std::pair<std::string, std::string>> &defines,
                const std::string &target) {
  return makeCudaRequest(path, readFile(path), kernel, defines, target);
}

CompileRequest
makeCudaRequest(const std::string &path, const std::string &text,
                const std::string &kernel,
                const std::vector<std::pair<std::string, std::string>> &defines,
                const std::string &target) {
  if (target.rfind("sm_", 0) != 0 || target.size() < 5 || target.size() > 7 ||
      !std::isdigit(static_cast<unsigned char>(target[3])))
    throw Error("`" + target + "` is not a target of CUDA C++",
                "write for example --target sm_80");
  CompileRequest request;
  request.file = path;
  request.kernel = kernel;
  request.text = text;
  request.target = target;
  std::vector<std::string> known;
  const CudaKernel *found = nullptr;
  const std::vector<CudaKernel> kernels = findCudaKernels(request.text);
  for (const CudaKernel &candidate : kernels) {
    known.push_back(candidate.name);
    if (candidate.name == kernel)
      found = &candidate;
  }
  if (!found)
    throw Error(path + " has no __global__ function `" + kernel + "`",
                nearestNameHint(kernel, known, "kernels"));
  for (const CudaParameter &parameter : found->parameters) {
    auto argClass = ArgClass::parse(parameter.type);
    if (!argClass)
      throw Error("parameter `" + parameter.name + "` of `" + kernel +
                      "` has a type that a launch cannot pass",
                  "pass pointers and numbers of the language");
    Argument argument;
    argument.name = parameter.name;
    argument.type = argClass->str();
    argument.kind = argClass->pointer                   ? ArgKind::Pointer
                    : isFloatElement(argClass->element) ? ArgKind::Float
                                                        : ArgKind::Int;
    request.args.push_back(std::move(argument));
  }
  for (const auto &[name, value] : defines) {
    Argument argument;
    argument.name = name;
    argument.value = Value(value);
    request.args.push_back(std::move(argument));
  }
  return request;
}

} // namespace tessera::language
