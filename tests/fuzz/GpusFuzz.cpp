// tests/fuzz/GpusFuzz.cpp - the data of GPUs.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/Devices.h"
#include "tests/fuzz/Fuzz.h"

using namespace tessera;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string text = fuzz::text(data, size);
  fuzz::expectErrorsOnly([&] {
    for (const tune::GpuData &gpu : tune::parseGpus(text, "gpus.yaml"))
      fuzz::require(gpu.rates.sms > 0 && gpu.rates.clockMhz > 0 &&
                        gpu.l2Bytes > 0,
                    "a GPU without a figure");
  });
  return 0;
}
