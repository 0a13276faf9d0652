// tools/tune/Request.cpp - the arguments of tessera tune.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/tune/Request.h"

namespace tessera::tools {

std::string commandLine(const TuneSearch &search) {
  std::string text = "tessera tune";
  if (!search.config.empty())
    text += " --config " + search.config;
  for (const std::string &word : search.rest)
    text += " " + word;
  if (!search.kernels.empty())
    text += " --kernels " + search.kernels;
  text += search.gpu.empty() ? " --device " + search.device
                             : " --gpu " + search.gpu;
  return text + " --budget " + search.budget + " --out " + search.out;
}

} // namespace tessera::tools
