// tests/unit/simulator/machine/Fixture.h - PTX files and texts, run on host
// vectors.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulator/Sim.h"
#include "support/Error.h"
#include "support/File.h"

#include <gtest/gtest.h>

#include <string>

namespace tessera::sim {

inline Module loadFile(const std::string &name) {
  return Module::load(readFile(std::string(TESSERA_SIM_PTX) + "/" + name),
                      name);
}

// A kernel `k` around `body`; `params` as in PTX.
inline std::string kernelText(const std::string &params,
                              const std::string &body,
                              const std::string &before = "",
                              const std::string &target = "sm_80") {
  return ".version 8.7\n.target " + target + "\n.address_size 64\n" + before +
         ".visible .entry k(" + params + ")\n{\n" + body + "\n}\n";
}

} // namespace tessera::sim
