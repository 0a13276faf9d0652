// tools/check/OnePass.cpp - compares a one-pass backward kernel with the
// kernels that compute the same gradients in two passes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/check/OnePass.h"

namespace tessera::tools {

bool isOnePass(const Description &kernel) { return kernel.has("shares"); }

std::map<std::string, Difference> compareOnePass(const GradientCheck &check,
                                                 const DescriptionPtr &onePass,
                                                 const Problem &problem,
                                                 double limit) {
  const Constexprs given = problem.constexprs(*check.backward.front());
  if (const auto tail = given.find("DT"); tail != given.end())
    if (const auto *columns = std::get_if<int64_t>(&tail->second);
        columns && *columns > 0)
      return {};
  GradientCheck other = check;
  other.backward = {onePass};
  const Tensors want = runBackward(check, problem).tensors,
                got = runBackward(other, problem, {"DK", "DV"}).tensors;
  std::map<std::string, Difference> differences;
  for (const std::string &name : gradientNames(other))
    differences[name] = compare(got.at(name), want.at(name), limit);
  return differences;
}

} // namespace tessera::tools
