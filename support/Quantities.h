// support/Quantities.h - sizes and time spans as people write them.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

// "4G", "500M", "12k", "1.5G", "800": bytes, units of 1024. `what` names the
// option in the Error that anything else is.
uint64_t parseBytes(std::string_view text, const std::string &what);

// "30d", "12h", "45m", "90s", "2w". Throws Error likewise.
std::chrono::seconds parseTimeSpan(std::string_view text,
                                   const std::string &what);

// "3.2 MiB", "17 B".
std::string bytesText(uint64_t bytes);
// "5 minutes", "3 days": rounded down to the largest unit.
std::string timeSpanText(std::chrono::seconds span);

} // namespace tessera
