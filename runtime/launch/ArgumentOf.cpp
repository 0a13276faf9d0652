// runtime/launch/ArgumentOf.cpp - maps parameters of an artifact to arguments
// of a launch by name. Separate, for programs without a compile client.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/LoadedKernel.h"

#include "support/Error.h"

#include <algorithm>

namespace tessera::runtime {

size_t argumentOf(const std::string &parameter, const std::string &kernel,
                  const std::vector<std::string> &parameters) {
  const auto found = std::find(parameters.begin(), parameters.end(), parameter);
  if (found == parameters.end())
    throw Error("the artifact of `" + kernel + "` wants an argument `" +
                    parameter + "` that the kernel does not have",
                "clear the cache: tessera cache clear");
  return size_t(found - parameters.begin());
}

} // namespace tessera::runtime
