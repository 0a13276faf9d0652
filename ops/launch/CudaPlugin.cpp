// ops/launch/CudaPlugin.cpp - loads the plug-in that links libtorch_cuda.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/launch/CudaPlugin.h"

#include "runtime/device/cuda/Driver.h"
#include "support/Error.h"
#include "support/Process.h"
#include "support/Trust.h"

#include <dlfcn.h>

namespace tessera::runtime {

namespace {

constexpr const char *lost =
    "; without it there are no statistics of torch's GPU memory, no CUDA graph "
    "of a whole step and no NCCL";

CudaPluginState missing(const std::string &why) {
  return {nullptr, why + lost};
}

CudaPluginState find() {
  try {
    cuda::Driver::instance();
  } catch (const Error &error) {
    return missing("torch's CUDA part is not loaded: " + error.message);
  }
  constexpr const char *name = "libtessera_torch_cuda.so";
  const std::filesystem::path folder =
      libraryPath(reinterpret_cast<const void *>(&loadCudaPlugin))
          .parent_path();
  std::error_code error;
  return loadCudaPlugin(std::filesystem::exists(folder / name, error)
                            ? folder / name
                            : folder.parent_path() / "lib" / name);
}

} // namespace

CudaPluginState loadCudaPlugin(const std::filesystem::path &file) {
  // The dynamic linker resolves a bare name, so its directory is not checked.
  if (file.has_parent_path())
    if (const auto distrust = findDistrust(
            file, TrustedContext::of(libraryPath(
                      reinterpret_cast<const void *>(&loadCudaPlugin)))))
      return missing("torch's CUDA part is not loaded: " + distrust->reason +
                     "; " + distrust->hint);
  // Torch's CUDA library registers itself when it is loaded. It must stay
  // loaded, and its symbols must be visible to libraries that are loaded later.
  void *library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library)
    return missing("torch's CUDA part cannot be loaded: " +
                   std::string(::dlerror()));
  const auto open = reinterpret_cast<decltype(&tessera_torch_cuda_plugin)>(
      ::dlsym(library, "tessera_torch_cuda_plugin"));
  if (!open)
    return missing(file.string() +
                   " is not a CUDA part of tessera's torch ops");
  const CudaPlugin *plugin = open(CudaPlugin::version);
  if (!plugin)
    return missing(file.string() + " is of another version of tessera");
  return {plugin, ""};
}

const CudaPluginState &cudaPlugin() {
  static const CudaPluginState state = find();
  return state;
}

const CudaPlugin &requireCudaPlugin(std::string_view purpose) {
  const CudaPluginState &state = cudaPlugin();
  if (!state.plugin)
    throw Error(std::string(purpose) + ": " + state.why,
                "install a torch with CUDA and its NVIDIA wheels "
                "(scripts/setup full), and look at the GPU with tessera "
                "doctor");
  return *state.plugin;
}

} // namespace tessera::runtime
