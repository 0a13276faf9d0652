// tests/train/NvtxRecorder.cpp - a library that NVTX loads instead of a
// profiler's: writes every range to a file.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <unistd.h>

namespace {

std::FILE *recording() {
  static std::FILE *const file = std::fopen(std::getenv("NVTX_RECORD"), "w");
  return file;
}

std::mutex mutex;

void line(const char *what, const char *name) {
  const std::lock_guard lock(mutex);
  std::fprintf(recording(), "%d %s %s\n", int(gettid()), what, name);
  std::fflush(recording());
}

nvtxDomainHandle_t NVTX_API createDomain(const char *name) {
  line("domain", name);
  return reinterpret_cast<nvtxDomainHandle_t>(recording());
}

int NVTX_API pushRange(nvtxDomainHandle_t domain,
                       const nvtxEventAttributes_t *attributes) {
  const bool ours = domain == reinterpret_cast<nvtxDomainHandle_t>(recording());
  line(ours ? "push" : "other", attributes->message.ascii);
  return 0;
}

int NVTX_API popRange(nvtxDomainHandle_t /*domain*/) {
  line("pop", "");
  return 0;
}

template <typename F>
void put(NvtxFunctionTable table, unsigned place, F function) {
  *table[place] = reinterpret_cast<NvtxFunctionPointer>(function);
}

} // namespace

extern "C" __attribute__((visibility("default"))) int
InitializeInjectionNvtx2(NvtxGetExportTableFunc_t tables) {
  const auto *callbacks = static_cast<const NvtxExportTableCallbacks *>(
      tables(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (!callbacks ||
      !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size))
    return 0;
  put(table, NVTX_CBID_CORE2_DomainCreateA, &createDomain);
  put(table, NVTX_CBID_CORE2_DomainRangePushEx, &pushRange);
  put(table, NVTX_CBID_CORE2_DomainRangePop, &popRange);
  return 1;
}
