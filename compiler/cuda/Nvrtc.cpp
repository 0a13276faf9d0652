// compiler/cuda/Nvrtc.cpp - loads NVRTC, NVIDIA's run-time compiler of CUDA
// C++.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/cuda/Nvrtc.h"

#include "support/CudaTools.h"
#include "support/Error.h"
#include "support/Options.h"
#include "support/Trust.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>

namespace tessera::compiler {

namespace fs = std::filesystem;

namespace {
using Program = struct OpaqueProgram *;
constexpr int oldestMajor = 11, oldestMinor = 2;
const std::string sourceFolder = "/dev/null/";
} // namespace

// The functions that this file calls, by NVIDIA's C declarations (NVRTC,
// chapter 3).
struct Nvrtc::Api {
  const char *(*errorText)(int);
  int (*version)(int *, int *);
  int (*create)(Program *, const char *, const char *, int, const char *const *,
                const char *const *);
  int (*destroy)(Program *);
  int (*compile)(Program, int, const char *const *);
  int (*addName)(Program, const char *);
  int (*loweredName)(Program, const char *, const char **);
  int (*ptxSize)(Program, size_t *), (*ptx)(Program, char *);
  int (*cubinSize)(Program, size_t *), (*cubin)(Program, char *);
  int (*logSize)(Program, size_t *), (*log)(Program, char *);
};

// Appends the NVRTC libraries of a folder, in descending order of their names.
static void addLibraries(std::vector<std::string> &candidates,
                         const fs::path &folder) {
  std::error_code ignored;
  std::vector<std::string> found;
  for (const auto &entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("libnvrtc.so", 0) == 0)
      found.push_back(entry.path().string());
  }
  std::sort(found.rbegin(), found.rend());
  candidates.insert(candidates.end(), found.begin(), found.end());
}

static std::vector<std::string> candidateLibraries() {
  if (std::string set = optionText(Option::Nvrtc); !set.empty())
    return {set};
  std::vector<std::string> candidates;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *home = std::getenv(variable); home && *home)
      for (const char *part : {"lib64", "lib", "targets/x86_64-linux/lib"})
        addLibraries(candidates, fs::path(home) / part);
  std::error_code ignored;
  for (const auto &python :
       fs::directory_iterator(wheelFolder() / "venv" / "lib", ignored))
    for (const auto &package : fs::directory_iterator(
             python.path() / "site-packages" / "nvidia", ignored))
      addLibraries(candidates, package.path() / "lib");
  for (const char *name :
       {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"})
    candidates.push_back(name);
  return candidates;
}

// Loads libnvrtc-builtins from NVRTC's folder. NVRTC opens it by name on its
// first compilation, but the folder (of a Python wheel, say) may not be in the
// linker's search path. dlopen then finds the loaded library.
static void loadBuiltinsBeside(const fs::path &library) {
  std::error_code ignored;
  for (const auto &entry :
       fs::directory_iterator(library.parent_path(), ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("libnvrtc-builtins.so", 0) == 0 &&
        !findDistrust(entry.path()))
      dlopen(entry.path().c_str(), RTLD_NOW | RTLD_LOCAL);
  }
}

template <typename F>
static bool find(void *library, const char *name, F &to) {
  to = reinterpret_cast<F>(dlsym(library, name));
  return to != nullptr;
}

Nvrtc::Nvrtc() {
  const std::string hint =
      "install the wheel nvidia-cuda-nvrtc (scripts/setup full does) or a CUDA "
      "toolkit and set CUDA_HOME, or set TESSERA_NVRTC to libnvrtc.so";
  void *library = nullptr;
  std::string failure;
  for (const std::string &candidate : candidateLibraries()) {
    const bool isPath = candidate.find('/') != std::string::npos;
    if (const auto distrust = isPath ? findDistrust(candidate) : std::nullopt) {
      if (failure.empty())
        failure = distrust->reason + "; " + distrust->hint;
      continue;
    }
    library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library) {
      file = candidate;
      if (isPath)
        loadBuiltinsBeside(candidate);
      break;
    }
    if (const char *why = dlerror(); failure.empty() && why)
      failure = why;
  }
  if (!library)
    throw Error("CUDA C++ needs NVRTC, and libnvrtc.so cannot be loaded: " +
                    failure,
                hint);
  static Api found;
  const bool complete =
      find(library, "nvrtcGetErrorString", found.errorText) &&
      find(library, "nvrtcVersion", found.version) &&
      find(library, "nvrtcCreateProgram", found.create) &&
      find(library, "nvrtcDestroyProgram", found.destroy) &&
      find(library, "nvrtcCompileProgram", found.compile) &&
      find(library, "nvrtcAddNameExpression", found.addName) &&
      find(library, "nvrtcGetLoweredName", found.loweredName) &&
      find(library, "nvrtcGetPTXSize", found.ptxSize) &&
      find(library, "nvrtcGetPTX", found.ptx) &&
      find(library, "nvrtcGetProgramLogSize", found.logSize) &&
      find(library, "nvrtcGetProgramLog", found.log);
  const bool cubin = find(library, "nvrtcGetCUBINSize", found.cubinSize) &&
                     find(library, "nvrtcGetCUBIN", found.cubin);
  if (!complete || found.version(&major, &minor) != 0 || !cubin ||
      std::pair(major, minor) < std::pair(oldestMajor, oldestMinor))
    throw Error(file + " is " +
                    (major ? "NVRTC " + std::to_string(major) + "." +
                                 std::to_string(minor)
                           : "no NVRTC that can be used") +
                    "; 11.2 is the oldest that serves",
                hint);
  api = &found;
}

const Nvrtc &Nvrtc::instance() {
  static const Nvrtc loaded; // retried after the constructor throws
  return loaded;
}

std::string Nvrtc::version() const {
  return std::to_string(major) + "." + std::to_string(minor);
}

NvrtcOutput Nvrtc::compile(const std::string &name, const std::string &text,
                           const std::string &kernel,
                           const std::vector<std::string> &options) const {
  NvrtcOutput output;
  auto check = [&](int status, const char *what) {
    if (status != 0)
      throw Error(std::string("NVRTC fails to ") + what + ": " +
                      api->errorText(status),
                  "this is a defect of tessera or of " + file);
  };
  auto text_of = [&](int (*size)(Program, size_t *),
                     int (*read)(Program, char *), Program program,
                     const char *what) {
    size_t bytes = 0;
    check(size(program, &bytes), what);
    std::string result(bytes, '\0');
    if (bytes)
      check(read(program, result.data()), what);
    return result;
  };
  auto withoutNul = [](std::string value) {
    while (!value.empty() && value.back() == '\0')
      value.pop_back();
    return value;
  };
  // The PTX and the cubin contain an absolute path of the source. This one does
  // not exist, so they do not depend on the working directory. NVRTC would
  // write the size and time of an existing file into the cubin and search its
  // folder for headers; /dev/null has no files below it.
  const std::string path = sourceFolder + name;
  Program program = nullptr;
  check(api->create(&program, text.c_str(), path.c_str(), 0, nullptr, nullptr),
        "start");
  struct Guard {
    const Api *api;
    Program *program;
    ~Guard() { api->destroy(program); }
  } guard{api, &program};
  const std::string expression = "&" + kernel;
  check(api->addName(program, expression.c_str()), "take a kernel's name");
  std::vector<const char *> arguments;
  for (const std::string &option : options)
    arguments.push_back(option.c_str());
  output.ok = api->compile(program, static_cast<int>(arguments.size()),
                           arguments.data()) == 0;
  output.log =
      withoutNul(text_of(api->logSize, api->log, program, "give its log"));
  if (!output.ok)
    return output;
  const char *lowered = nullptr;
  check(api->loweredName(program, expression.c_str(), &lowered),
        "name the kernel");
  output.symbol = lowered;
  output.ptx = withoutNul(text_of(api->ptxSize, api->ptx, program, "give PTX"));
  output.cubin = text_of(api->cubinSize, api->cubin, program, "give a cubin");
  // Replaces the path in the PTX by the one that the user knows.
  for (size_t at = output.ptx.find("\"" + path + "\""); at != std::string::npos;
       at = output.ptx.find("\"" + path + "\"", at))
    output.ptx.erase(at + 1, path.size() - name.size());
  return output;
}

} // namespace tessera::compiler
