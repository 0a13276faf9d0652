// trainer/observe/Nvtx.cpp - converts steps, phases and the ranges of
// at::RecordFunction to NVTX ranges.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/observe/Nvtx.h"

#include "support/Error.h"

#include <fmt/format.h>
#include <string>

#ifdef TESSERA_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

namespace tessera::trainer {
namespace {

#ifdef TESSERA_NVTX

nvtxDomainHandle_t domain() {
  static const nvtxDomainHandle_t made = nvtxDomainCreateA("tessera");
  return made;
}

void push(const char *name) {
  nvtxEventAttributes_t attributes = {};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = name;
  nvtxDomainRangePushEx(domain(), &attributes);
}

void pop() { nvtxDomainRangePop(domain()); }

void requireHeaders() { domain(); }

#else

void push(const char * /*name*/) {}
void pop() {}
[[noreturn]] void requireHeaders() {
  throw Error("runtime.nvtx is true, but this program was built without NVTX's "
              "headers",
              "build it after scripts/setup full, or set runtime.nvtx=false; "
              "train.trace_steps writes a Chrome trace without them");
}

#endif

/// Callbacks for the user ranges of at::RecordFunction: layers, launches,
/// evaluations.
std::unique_ptr<at::ObserverContext> opened(const at::RecordFunction &f) {
  push(f.name());
  return nullptr;
}
void closed(const at::RecordFunction & /*f*/,
            at::ObserverContext * /*context*/) {
  pop();
}

} // namespace

NvtxRanges::NvtxRanges() {
  requireHeaders();
  callback = at::addGlobalCallback(at::RecordFunctionCallback(&opened, &closed)
                                       .scopes({at::RecordScope::USER_SCOPE}));
}

NvtxRanges::~NvtxRanges() {
  endStep();
  if (callback)
    at::removeCallback(callback);
}

void NvtxRanges::beginStep(int64_t number) {
  endStep();
  push(fmt::format("step {}", number).c_str());
  inStep = true;
}

void NvtxRanges::phase(const char *name) {
  endPhase();
  push(name);
  inPhase = true;
}

void NvtxRanges::endPhase() {
  if (inPhase)
    pop();
  inPhase = false;
}

void NvtxRanges::endStep() {
  endPhase();
  if (inStep)
    pop();
  inStep = false;
}

} // namespace tessera::trainer
