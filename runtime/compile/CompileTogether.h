// runtime/compile/CompileTogether.h - compiles what several launches need, in
// parallel, before they are prepared one by one.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/compile/CompileService.h"

#include <exception>
#include <vector>

namespace tessera::runtime {

// Compiles requestOf(item) of every item. Does not throw: a later
// CompileService::get() of a failed request reports its error.
template <typename Items, typename RequestOf>
void compileTogether(const Items &items, RequestOf requestOf) {
  std::vector<language::CompileRequest> requests;
  for (const auto &item : items)
    try {
      requests.push_back(requestOf(item));
    } catch (const std::exception &) {
    }
  try {
    CompileService::instance().getAll(requests);
  } catch (const std::exception &) {
  }
}

} // namespace tessera::runtime
