// runtime/device/cuda/CudaCode.cpp - an artifact in the memory of a GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/CudaCode.h"

#include "support/Error.h"

#include <stdexcept>

namespace tessera::runtime::cuda {

constexpr Result invalidImage = 200, noBinaryForGpu = 209, unsupportedPtx = 222;
// CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES; a kernel must opt in to more
// than 48 KiB.
constexpr int attributeDynamicShared = 8;
constexpr uint32_t plainShared = 48 << 10;
constexpr int jitMinBlocks = 31; // CU_JIT_MIN_CTA_PER_SM

CudaCode::CudaCode(const CompiledKernel &compiled, const std::string &kernel,
                   const std::vector<std::string> &parameters, int ordinal)
    : driver(Driver::instance(ordinal)), name(kernel),
      arguments(compiled.meta, kernel, parameters),
      threads(compiled.meta.threads), sharedBytes(compiled.meta.sharedBytes),
      label(driver.keepName("`" + kernel + "`")) {
  if (!threads)
    throw Error("the artifact of `" + kernel +
                    "` does not say how many "
                    "threads a block has",
                "clear the cache: tessera cache clear");
  driver.use();
  load(compiled);
  try {
    driver.check(driver.api().ModuleGetFunction(&function, module,
                                                compiled.meta.symbol.c_str()),
                 "finding `" + compiled.meta.symbol + "` in its code");
    if (sharedBytes > plainShared)
      driver.check(driver.api().FuncSetAttribute(
                       function, attributeDynamicShared, int(sharedBytes)),
                   "asking for " + std::to_string(sharedBytes) +
                       " bytes of shared memory");
  } catch (...) {
    driver.api().ModuleUnload(module);
    throw;
  }
}

CudaCode::~CudaCode() {
  const Api &api = driver.api();
  if (!driver.tryUse() && !api.CtxSynchronize())
    driver.api().ModuleUnload(module);
}

void CudaCode::refuse(Result result) const {
  driver.check(result, "launching " + *label);
  throw std::logic_error("a result that is not an error");
}

void CudaCode::describe(const std::string &configuration,
                        const std::string &file) {
  label = driver.keepName("`" + name + "` (" + configuration +
                          (configuration.empty() ? "" : "; ") + file + ")");
}

// During graph capture nothing runs yet, so this does not wait.
void CudaCode::wait(Stream stream) const {
  int capturing = 0;
  if (!driver.api().StreamIsCapturing(stream, &capturing) && capturing)
    return;
  if (const Result result = driver.api().StreamSynchronize(stream))
    driver.check(result, "running " + *label);
}

void CudaCode::load(const CompiledKernel &compiled) {
  Result result = invalidImage;
  if (!compiled.code.empty())
    result = driver.api().ModuleLoadData(&module, compiled.code.data());
  const auto ptx = compiled.stages.find("ptx");
  if ((result == noBinaryForGpu || result == invalidImage) &&
      ptx != compiled.stages.end() && !ptx->second.empty()) {
    // The same minimum of blocks per SM that ptxas was given.
    int option = jitMinBlocks;
    void *value = reinterpret_cast<void *>(uintptr_t(compiled.meta.minBlocks));
    result = driver.api().ModuleLoadDataEx(&module, ptx->second.c_str(),
                                           compiled.meta.minBlocks ? 1 : 0,
                                           &option, &value);
  }
  if (result == unsupportedPtx)
    throw Error("the driver for CUDA " +
                    std::to_string(driver.version() / 1000) + "." +
                    std::to_string(driver.version() % 1000 / 10) +
                    " is too old for the PTX of `" + name + "`",
                "install a driver for CUDA 12.8 or later");
  driver.check(result, "loading the code of `" + name + "` on " + driver.gpu());
}

} // namespace tessera::runtime::cuda
