// runtime/launch/Routing.h - which configurations launches ran with, and why.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Request.h"
#include "runtime/launch/ConfigurationChooser.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::runtime {

// Of one specialization. Only `launches` changes.
struct Route {
  std::string kernel, device;
  std::string configuration; // "BM=64 BN=32 num_warps=4"
  bool tuned = false;        // it is that of a table
  std::string why;           // "table PATH", "no table", "no entry" ...
  std::atomic<uint64_t> launches{0};

  void count() { launches.fetch_add(1, std::memory_order_relaxed); }
};

// A route that lives as long as the process. The first one makes the process
// print its routing at its end where TESSERA_PRINT_ROUTING is 1.
Route &addRoute(std::string kernel, std::string device,
                std::string configuration, bool tuned, std::string why);

// The route of a specialization that is about to run.
Route &routeOf(const ChosenConfiguration &chosen, const LaunchDevice &device,
               const Kernel::State &kernel,
               const language::CompileRequest &request);

struct RouteCount {
  std::string kernel, device, configuration, why;
  bool tuned = false;
  uint64_t launches = 0;
};
// Equal routes as one, in the order of their names.
std::vector<RouteCount> routes();

struct RoutingTotals {
  uint64_t tuned = 0, defaults = 0; // launches
};
RoutingTotals routingTotals();

// A line for each of routes(), and one with the totals.
std::string printRouting();

} // namespace tessera::runtime
