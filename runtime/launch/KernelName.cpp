// runtime/launch/KernelName.cpp - names of kernels in tables and routing.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/KernelName.h"

#include "runtime/launch/FindFile.h"
#include "support/Hash.h"

#include <filesystem>

namespace tessera::runtime {

std::string kernelName(const std::string &file, const std::string &function) {
  const std::string ours = nameAmongOurs(file);
  return (ours.empty() ? std::filesystem::path(file).filename().string()
                       : ours) +
         ":" + function;
}

std::string textHash(const std::string &text) {
  return sha256Hex(text).substr(0, 32);
}

} // namespace tessera::runtime
