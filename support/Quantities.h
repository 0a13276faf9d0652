// support/Quantities.h - sizes and time spans as text.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

// Parses a number of bytes: "4G", "500M", "12k", "1.5G", "800" (units of 1024).
// Throws Error for other text; `what` names the option.
uint64_t parseBytes(std::string_view text, const std::string &what);

// Parses a time span: "30d", "12h", "45m", "90s", "2w". Throws Error likewise.
std::chrono::seconds parseTimeSpan(std::string_view text,
                                   const std::string &what);

// Returns a size as text: "3.2 MiB", "17 B".
std::string bytesText(uint64_t bytes);
// Returns a time span as text, rounded down to the largest unit: "5 minutes",
// "3 days".
std::string timeSpanText(std::chrono::seconds span);

} // namespace tessera
