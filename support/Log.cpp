// support/Log.cpp - the logger behind support/Log.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Log.h"

#include "support/Options.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <mutex>
#include <set>

namespace tessera {

static spdlog::logger &logger() {
  // Never destroyed: threads may log while the process ends.
  static spdlog::logger *const instance = [] {
    auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
    auto *made = new spdlog::logger("tessera", sink);
    made->set_pattern("tessera: %^%l%$: %v");
    const std::string wanted = optionText(Option::LogLevel);
    spdlog::level::level_enum level = spdlog::level::from_str(wanted);
    if (level == spdlog::level::off && wanted != "off") {
      level = spdlog::level::info;
      made->warn("TESSERA_LOG={} is not a level; use debug, info, warning, "
                 "error or off",
                 wanted);
    }
    made->set_level(level);
    return made;
  }();
  return *instance;
}

// As an argument, never as the format: the text may hold braces.
void logDebug(std::string_view text) { logger().debug("{}", text); }
void logInfo(std::string_view text) { logger().info("{}", text); }
void logWarning(std::string_view text) { logger().warn("{}", text); }
void logError(std::string_view text) { logger().error("{}", text); }

void warnOnce(const std::string &key, std::string_view text) {
  static std::mutex mutex;
  static std::set<std::string> *const seen = new std::set<std::string>;
  {
    std::lock_guard<std::mutex> guard(mutex);
    if (!seen->insert(key).second)
      return;
  }
  logWarning(text);
}

} // namespace tessera
