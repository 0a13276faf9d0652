// runtime/launch/Routing.cpp - which configurations launches ran with.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/Routing.h"

#include "runtime/launch/KernelState.h"
#include "support/Options.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <tuple>

namespace tessera::runtime {

namespace {

// Never destroyed: other threads may launch while the process ends.
struct Registry {
  std::mutex mutex;
  std::deque<Route> routes;
};
Registry &registry() {
  static auto *const made = new Registry;
  return *made;
}

void printAtEnd() { std::fputs(printRouting().c_str(), stderr); }

} // namespace

Route &addRoute(RouteFacts facts) {
  static const bool asked = [] {
    const bool on = optionNumber(Option::PrintRouting) != 0;
    if (on)
      std::atexit(printAtEnd);
    return on;
  }();
  (void)asked;
  Registry &all = registry();
  std::lock_guard<std::mutex> guard(all.mutex);
  Route &route = all.routes.emplace_back();
  static_cast<RouteFacts &>(route) = std::move(facts);
  return route;
}

Route &routeOf(const ChosenConfiguration &chosen, const LaunchDevice &device,
               const Kernel::State &kernel,
               const language::CompileRequest &request) {
  std::string text;
  const auto add = [&](const std::string &name, const std::string &value) {
    text += (text.empty() ? "" : " ") + name + "=" + value;
  };
  const auto usual = kernel.defaults(device, chosen);
  for (const language::Argument &argument : request.args)
    if (usual.constexprs.count(argument.name))
      add(argument.name, argument.value.repr());
  if (!device.isCpu()) {
    add("num_warps", std::to_string(request.options.numWarps));
    add("num_stages", std::to_string(request.options.numStages));
  }
  RouteFacts facts;
  facts.kernel = kernel.nameAndHash().first;
  facts.device = device.name;
  facts.configuration = text;
  facts.tuned = chosen.tuned.has_value();
  facts.why = chosen.why;
  facts.launch = chosen.launch.empty() ? facts.kernel : chosen.launch;
  facts.roundedLength = chosen.roundedLength;
  return addRoute(std::move(facts));
}

std::vector<LaunchConfiguration> launchConfigurations() {
  Registry &all = registry();
  std::set<LaunchConfiguration> found;
  std::lock_guard<std::mutex> guard(all.mutex);
  for (const Route &route : all.routes)
    found.insert({route.launch, route.configuration,
                  !route.tuned          ? "default"
                  : route.roundedLength ? "rounded"
                                        : "tuned"});
  return {found.begin(), found.end()};
}

std::vector<RouteCount> routes() {
  std::map<std::tuple<std::string, std::string, std::string, std::string>,
           RouteCount>
      found;
  Registry &all = registry();
  std::lock_guard<std::mutex> guard(all.mutex);
  for (const Route &route : all.routes) {
    RouteCount &count =
        found[{route.kernel, route.device, route.configuration, route.why}];
    count.kernel = route.kernel;
    count.device = route.device;
    count.configuration = route.configuration;
    count.why = route.why;
    count.tuned = route.tuned;
    count.launches += route.launches.load(std::memory_order_relaxed);
  }
  std::vector<RouteCount> list;
  for (auto &[key, count] : found)
    list.push_back(std::move(count));
  return list;
}

RoutingTotals routingTotals() {
  RoutingTotals totals;
  for (const RouteCount &route : routes())
    (route.tuned ? totals.tuned : totals.defaults) += route.launches;
  return totals;
}

std::string printRouting() {
  const std::vector<RouteCount> list = routes();
  size_t kernel = 0, configuration = 0;
  for (const RouteCount &route : list) {
    kernel = std::max(kernel, route.kernel.size());
    configuration = std::max(configuration, route.configuration.size());
  }
  const auto padded = [](std::string text, size_t width) {
    text.resize(std::max(text.size(), width), ' ');
    return text;
  };
  std::string text;
  for (const RouteCount &route : list)
    text += "routing: " + padded(route.kernel, kernel) + "  " + route.device +
            "  " + padded(route.configuration, configuration) + "  " +
            std::to_string(route.launches) + " launches, " + route.why + "\n";
  const RoutingTotals totals = routingTotals();
  return text + "routing: " + std::to_string(totals.tuned) +
         " launches with a tuned configuration, " +
         std::to_string(totals.defaults) + " with a kernel's own\n";
}

} // namespace tessera::runtime
