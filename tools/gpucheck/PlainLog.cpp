// tools/gpucheck/PlainLog.cpp - implements support/Log.h without the logging
// library, which the machine with the GPU does not have.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Log.h"

#include <cstdio>

namespace tessera {

static void print(const char *level, std::string_view text) {
  std::fprintf(stderr, "tessera: %s: %.*s\n", level, int(text.size()),
               text.data());
}

void logDebug(std::string_view) {}
void logInfo(std::string_view text) { print("info", text); }
void logWarning(std::string_view text) { print("warning", text); }
void logError(std::string_view text) { print("error", text); }
void warnOnce(const std::string &, std::string_view text) { logWarning(text); }

} // namespace tessera
