// runtime/launch/Routing.h - records which configurations launches used, and
// why.
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

struct RouteFacts {
  std::string kernel, device;
  std::string configuration; // "BM=64 BN=32 num_warps=4"
  bool tuned = false;        // from a tuning table
  std::string why;           // "table PATH", "no table", "no entry" ...
  // ChosenConfiguration::launch and ::roundedLength.
  std::string launch;
  bool roundedLength = false;
};

// The route of one specialization. Only `launches` changes.
struct Route : RouteFacts {
  std::atomic<uint64_t> launches{0};

  void count() { launches.fetch_add(1, std::memory_order_relaxed); }
};

// Adds a route that lives as long as the process. With TESSERA_PRINT_ROUTING=1,
// the first call also makes the process print all routes at exit.
Route &addRoute(RouteFacts facts);

// Returns the route of a specialization, before its first run.
Route &routeOf(const ChosenConfiguration &chosen, const LaunchDevice &device,
               const Kernel::State &kernel,
               const language::CompileRequest &request);

struct RouteCount {
  std::string kernel, device, configuration, why;
  bool tuned = false;
  uint64_t launches = 0;
};
// Returns all routes sorted by name; equal routes are merged.
std::vector<RouteCount> routes();

// The configuration of a launch, and where it comes from.
struct LaunchConfiguration {
  std::string launch;        // RouteFacts::launch
  std::string configuration; // "BM=64 BN=32 num_warps=4"
  // "tuned": an entry of the launch's length; "rounded": an entry of the length
  // rounded up to a power of two; "default": the kernel's configuration.
  std::string source;

  auto operator<=>(const LaunchConfiguration &) const = default;
};
// Returns the distinct configurations of all launches that are prepared or have
// run, sorted.
std::vector<LaunchConfiguration> launchConfigurations();

struct RoutingTotals {
  uint64_t tuned = 0, defaults = 0; // launches
};
RoutingTotals routingTotals();

// Returns a line per route, and a line with the totals.
std::string printRouting();

} // namespace tessera::runtime
