// tests/fuzz/PtxFuzz.cpp - any bytes as a PTX module: tree, listing, simulator.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ptx/Listing.h"
#include "ptx/Tree.h"
#include "simulator/Sim.h"
#include "tests/fuzz/Fuzz.h"

using namespace tessera;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string text = fuzz::text(data, size);
  fuzz::expectErrorsOnly([&] {
    const ptx::Module module = ptx::parsePtx(text, "k.ptx");
    for (const ptx::Variable &variable : module.variables)
      fuzz::require(variable.init.size() <= variable.bytes,
                    "an initializer longer than its variable");
  });
  fuzz::expectErrorsOnly([&] {
    const ptx::Listing listing = ptx::readPtx(text);
    for (const ptx::ListedLoop &loop : listing.loops)
      fuzz::require(!loop.body.empty() &&
                        loop.body.size() <= loop.counts.total(),
                    "a loop without its instructions");
  });
  // The instructions too.
  fuzz::expectErrorsOnly([&] {
    const sim::Module module = sim::Module::load(text, "k.ptx");
    for (const std::string &kernel : module.kernels())
      module.parameterBytes(kernel);
  });
  return 0;
}
