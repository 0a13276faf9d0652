// runtime/launch/Target.cpp - the target that kernels are compiled for here.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Kernel.h"
#include "support/CpuTarget.h"
#include "support/Error.h"
#include "support/Options.h"

namespace tessera {

static std::string findTarget() {
  const auto host = CpuTarget::host();
  if (!host)
    throw Error("this processor lacks AVX2, FMA or F16C",
                "tessera needs an x86-64 processor of 2015 or later; under a "
                "virtual machine, let it pass the host's features through");
  const std::string wanted = optionText(Option::Target);
  if (wanted.empty())
    return host->name();
  const auto target = CpuTarget::parse(wanted);
  if (!target)
    throw Error("TESSERA_TARGET=" + wanted + " is not a target",
                "write for example " + host->name());
  if ((target->mcpu == "x86-64-v4" && host->mcpu != "x86-64-v4") ||
      (target->features & ~host->features))
    throw Error("TESSERA_TARGET=" + wanted + " needs more than this " +
                    "processor has: " + host->name(),
                "choose features that are among " + host->llvmFeatures());
  return target->name();
}

const std::string &hostTarget() {
  static const std::string target = findTarget();
  return target;
}

} // namespace tessera
