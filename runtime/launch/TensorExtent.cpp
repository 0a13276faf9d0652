// runtime/launch/TensorExtent.cpp - descriptions of the next launch's tensors.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/TensorExtent.h"

#include "support/Options.h"

#include <utility>

namespace tessera::runtime {

static thread_local std::vector<TensorExtent> described;

bool recording() {
  static const bool on = !optionText(Option::Record).empty();
  return on;
}

void describeTensors(std::vector<TensorExtent> extents) {
  described = std::move(extents);
}

std::vector<TensorExtent> takeDescribedTensors() {
  return std::exchange(described, {});
}

} // namespace tessera::runtime
