// replay/Record.cpp - records launches of this process as cases.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "replay/Record.h"

#include "language/ConstexprValues.h"
#include "language/Expand.h"
#include "language/Program.h"
#include "replay/Buffer.h"
#include "replay/Case.h"
#include "replay/KernelText.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/launch/KernelState.h"
#include "runtime/launch/TensorExtent.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Log.h"
#include "support/Options.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fnmatch.h>
#include <mutex>
#include <set>
#include <sys/stat.h>

namespace tessera::runtime {

namespace fs = std::filesystem;

// Functions by file and name.
using FunctionFiles = std::vector<std::pair<std::string, std::string>>;

// Returns the value with functions replaced by the names of their definitions,
// which the recorded text uses. Appends the functions to `functions`.
static language::Value asRecorded(const language::Program &program,
                                  language::Value value,
                                  FunctionFiles &functions) {
  if (auto *passed =
          std::get_if<language::Value::KernelFunction>(&value.data)) {
    const language::FunctionDef &found = program.function(*passed);
    functions.emplace_back(found.file->path(), found.name);
    *passed = {found.name, ""};
  } else if (auto *tuple = std::get_if<language::Value::Tuple>(&value.data)) {
    for (language::Value &item : tuple->items)
      item = asRecorded(program, std::move(item), functions);
  }
  return value;
}

// Returns the kernel's file without unneeded code, with unchanged line numbers,
// followed by the imported code of other kernel files. If a name has two
// meanings in these, returns the canonical text.
static std::string recordedText(const language::CompileRequest &kernel,
                                const FunctionFiles &functions,
                                const Constexprs &constexprs) {
  if (!kernel.sources.empty()) {
    const std::string own =
        cases::onlyKernel(kernel.sources, kernel.kernel, functions);
    try {
      const auto program = language::Program::load(kernel.file, own);
      if (own.find("import triton") != std::string::npos &&
          language::textWith(*program, kernel.kernel, constexprs) ==
              kernel.text)
        return own;
    } catch (const Error &) { // needed code is in another file
    }
  }
  return importableText(kernel.text);
}

std::string importableText(const std::string &expanded) {
  std::string language = "tl";
  bool imported = false;
  const std::string import = "from triton import language as ";
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < expanded.size();) {
    const size_t end = std::min(expanded.find('\n', begin), expanded.size());
    lines.push_back(expanded.substr(begin, end - begin));
    begin = end + 1;
    if (lines.back().starts_with(import)) {
      language = lines.back().substr(import.size());
      imported = true;
    }
  }
  std::string text = imported ? "" : "import triton.language as tl\n";
  if (expanded.find("(NamedTuple):\n") != std::string::npos)
    text += "from typing import NamedTuple\n";
  for (const std::string &line : lines) {
    const char first = line.empty() ? ' ' : line[0];
    const size_t equals = line.find(" = ");
    // Lines that the kernel's key needs and Python does not.
    if (first == '#')
      continue;
    if (first == '@') {
      text += "\n\n" + line + "\n";
    } else if ((std::isalpha(first) || first == '_') &&
               equals != std::string::npos && !line.starts_with("def ") &&
               line.find('(') > equals) {
      const std::string value = line.substr(equals + 3);
      const bool plain = !value.starts_with(language + ".") &&
                         !value.starts_with("tl.") && !value.starts_with("(") &&
                         !value.starts_with("[");
      text += line.substr(0, equals + 3) +
              (plain ? language + ".constexpr(" + value + ")" : value) + "\n";
    } else {
      text += line + "\n";
    }
  }
  return text;
}

namespace {

// Kernels that are not recorded any more in this process.
std::mutex finishedMutex;
std::set<std::string> finished;

// True if such a launch was recorded before and one of each kind suffices.
bool seenAlready(const Kernel::State &kernel, const LaunchDevice &device,
                 const Grid &grid, std::span<const Arg> args,
                 const Constexprs &constexprs, const LaunchOptions &options) {
  if (optionNumber(Option::RecordDistinct) == 0)
    return false;
  static std::set<std::pair<const void *, std::vector<uint64_t>>> seen;
  LaunchKey key;
  for (int64_t number :
       {int64_t(grid[0]), int64_t(grid[1]), int64_t(grid[2]), options.sequence})
    key.add(uint64_t(number));
  kernel.beginKey(key, device, args, options, false);
  addConstexprs(key, constexprs);
  std::lock_guard<std::mutex> guard(finishedMutex);
  return !seen.insert({&kernel, key.copy()}).second;
}

fs::path folderOf(const std::string &name, int64_t number) {
  return fs::path(optionText(Option::Record)) /
         (number == 1 ? name : name + "." + std::to_string(number));
}

// Creates the next free folder of the kernel; returns an empty path at the
// limit. Concurrent processes never get the same folder.
fs::path claimFolder(const std::string &name) {
  const int64_t limit = optionNumber(Option::RecordLimit);
  for (int64_t number = 1; number <= limit; ++number) {
    const fs::path folder = folderOf(name, number);
    if (::mkdir(folder.c_str(), 0777) == 0)
      return folder;
    if (errno != EEXIST)
      throw Error("cannot make the folder " + folder.string() + ": " +
                      errnoText(errno),
                  "set TESSERA_RECORD to a folder that can be written");
  }
  return {};
}

bool fullAlready(const std::string &name) {
  {
    std::lock_guard<std::mutex> guard(finishedMutex);
    if (finished.count(name))
      return true;
  }
  std::error_code error;
  fs::create_directories(optionText(Option::Record), error);
  const int64_t limit = optionNumber(Option::RecordLimit);
  for (int64_t number = 1; number <= limit; ++number)
    if (!fs::exists(folderOf(name, number), error))
      return false;
  std::lock_guard<std::mutex> guard(finishedMutex);
  finished.insert(name);
  return true;
}

struct Recording : LaunchHook::Watched {
  cases::Case recorded;
  std::string text;
  std::vector<const char *> memory; // lowest address of each pointer argument
  cases::Tensors before;

  // Returns the current storage of the pointer arguments.
  cases::Tensors copy() const {
    cases::Tensors tensors;
    size_t next = 0;
    for (const cases::CaseArgument &argument : recorded.arguments) {
      if (argument.kind != cases::ArgumentKind::Pointer)
        continue;
      cases::StoredTensor &tensor = tensors[argument.name];
      tensor.dtype = cases::storedName(*argument.type);
      const bool whole = argument.layout.contiguous();
      tensor.shape = whole ? argument.layout.shape
                           : std::vector<int64_t>{argument.elements};
      const char *data = memory[next++];
      if (argument.elements)
        tensor.bytes.assign(data, size_t(argument.elements) *
                                      cases::elementBytes(*argument.type));
    }
    return tensors;
  }

  void finished() override {
    try {
      write();
    } catch (const std::exception &error) {
      warnOnce("record", std::string("TESSERA_RECORD: ") + error.what());
    }
  }

  void write() {
    cases::Tensors after = copy();
    for (const auto &[name, tensor] : before)
      if (after[name].bytes == tensor.bytes)
        after.erase(name);
    for (const auto &[name, tensor] : after)
      recorded.written.push_back(name);
    const fs::path folder = claimFolder(recorded.kernel);
    if (folder.empty())
      return;
    recorded.name = folder.filename().string();
    writeFile(folder / "kernel.py", text);
    writeFile(folder / "before.safetensors", cases::writeSafetensors(before));
    writeFile(folder / "after.safetensors", cases::writeSafetensors(after));
    // Written last: a folder without case.json is not a case.
    writeFile(folder / "case.json", cases::writeCase(recorded));
    logInfo("recorded a launch of " + recorded.kernel + " in " +
            folder.string());
  }

  // Returns false if an extent is unknown.
  bool addPointer(const std::string &name, const Pointer &pointer,
                  const std::vector<TensorExtent> &extents) {
    auto found = std::find_if(extents.begin(), extents.end(),
                              [&](const TensorExtent &extent) {
                                return extent.address == pointer.address;
                              });
    if (found == extents.end() && pointer.address)
      return false;
    cases::CaseArgument argument;
    argument.name = name;
    argument.kind = cases::ArgumentKind::Pointer;
    argument.type = pointer.type;
    argument.dtype = dtypeName(pointer.type);
    argument.layout = found == extents.end()
                          ? cases::contiguousLayout({0})
                          : cases::Layout{found->shape, found->strides};
    argument.elements = argument.layout.span(name);
    if (found != extents.end() && found->scratch)
      recorded.compare[name].kind = cases::CompareMode::Kind::Scratch;
    memory.push_back(static_cast<const char *>(pointer.address) -
                     argument.layout.origin() *
                         int64_t(cases::elementBytes(pointer.type)));
    recorded.arguments.push_back(std::move(argument));
    return true;
  }

  void addScalar(const std::string &name, const Arg &arg) {
    cases::CaseArgument argument;
    argument.name = name;
    argument.value = arg;
    if (const auto *number = std::get_if<int64_t>(&arg)) {
      argument.dtype =
          *number >= INT32_MIN && *number <= INT32_MAX ? "i32" : "i64";
    } else if (std::holds_alternative<uint64_t>(arg)) {
      argument.dtype = "u64";
    } else if (std::holds_alternative<bool>(arg)) {
      argument.dtype = "i1";
    } else {
      argument.kind = cases::ArgumentKind::Float;
      argument.dtype = "fp32";
    }
    recorded.arguments.push_back(std::move(argument));
  }
};

// Returns null if the launch is not selected or its memory is unknown.
std::unique_ptr<Recording> recordingOf(const Kernel::State &kernel,
                                       const Grid &grid,
                                       std::span<const Arg> args,
                                       const Constexprs &constexprs,
                                       const LaunchOptions &options) {
  const std::vector<TensorExtent> extents = takeDescribedTensors();
  if (!matchesKernel(kernel.name, optionText(Option::RecordKernels)) ||
      fullAlready(kernel.name))
    return nullptr;
  const LaunchDevice &device = launchDevice(options);
  if (!device.hostMemory()) {
    warnOnce("record " + device.name, "TESSERA_RECORD: launches on " +
                                          device.name +
                                          " are not recorded: record on " +
                                          hostMemoryDevice(device.name));
    return nullptr;
  }
  if (kernel.isCuda()) {
    warnOnce("record " + kernel.name, "TESSERA_RECORD: launches of " +
                                          kernel.name +
                                          " are not recorded: it is CUDA C++");
    return nullptr;
  }
  if (seenAlready(kernel, device, grid, args, constexprs, options))
    return nullptr;
  auto made = std::make_unique<Recording>();
  cases::Case &recorded = made->recorded;
  recorded.name = recorded.kernel = kernel.name;
  recorded.kernelFile = "kernel.py";
  recorded.grid = grid;
  recorded.source = {kernel.base.file, constexprs, options.sequence,
                     device.isCpu() ? runtime::hostThreads() : 0};
  const Kernel::State::Defaults usual =
      kernel.defaultsFor(device, args, constexprs, options);
  recorded.numWarps = options.numWarps.value_or(usual.numWarps);
  recorded.numStages = options.numStages.value_or(usual.numStages);
  FunctionFiles functions;
  Constexprs configured;
  for (const auto &[name, value] : kernel.configure(usual, args, constexprs)) {
    configured[name] = language::fromValue(name, value);
    recorded.constexprs[name] = language::fromValue(
        name, asRecorded(*kernel.program, value, functions));
  }
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string &name = kernel.parameters[i];
    if (const auto *pointer = std::get_if<Pointer>(&args[i])) {
      if (!made->addPointer(name, *pointer, extents)) {
        warnOnce("record " + kernel.name,
                 "TESSERA_RECORD: launches of " + kernel.name +
                     " are not recorded: the size of `" + name +
                     "` is not known; launch it through the torch ops, or "
                     "call describeTensors()");
        return nullptr;
      }
    } else if (std::holds_alternative<std::nullptr_t>(args[i])) {
      recorded.constexprs[name] = nullptr;
    } else {
      made->addScalar(name, args[i]);
    }
  }
  language::CompileRequest request = kernel.base;
  if (!functions.empty()) {
    request = kernel.request(args, constexprs, options);
    request.text = language::textWith(*kernel.program, kernel.name, configured);
  }
  made->text = recordedText(request, functions, recorded.constexprs);
  made->before = made->copy();
  return made;
}

class Recorder : public LaunchHook {
public:
  std::unique_ptr<Watched> before(const Kernel::State &kernel, const Grid &grid,
                                  std::span<const Arg> args,
                                  const Constexprs &constexprs,
                                  const LaunchOptions &options) override {
    try {
      return recordingOf(kernel, grid, args, constexprs, options);
    } catch (const std::exception &error) {
      warnOnce("record", std::string("TESSERA_RECORD: ") + error.what());
      return nullptr;
    }
  }
};

} // namespace

bool matchesKernel(const std::string &name, const std::string &patterns) {
  for (size_t begin = 0; begin <= patterns.size();) {
    const size_t end = std::min(patterns.find(',', begin), patterns.size());
    const std::string pattern = patterns.substr(begin, end - begin);
    if (!pattern.empty() && ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0)
      return true;
    begin = end + 1;
  }
  return patterns.empty();
}

LaunchHook &launchRecorder() {
  static Recorder recorder;
  return recorder;
}

} // namespace tessera::runtime
