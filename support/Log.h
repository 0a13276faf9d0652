// support/Log.h - log lines on stderr; TESSERA_LOG sets the level.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace tessera {

void logDebug(std::string_view text);
void logInfo(std::string_view text);
void logWarning(std::string_view text);
void logError(std::string_view text);

// Logs a warning once per process for each distinct key.
void warnOnce(const std::string &key, std::string_view text);

} // namespace tessera
