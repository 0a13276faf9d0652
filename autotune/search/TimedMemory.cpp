// autotune/search/TimedMemory.cpp - memory for timing recorded launches.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/TimedMemory.h"

#include <cstring>

namespace tessera::tune {

TimedMemory::TimedMemory(const cases::LoadedCase &loaded)
    : held(cases::fillMemory(loaded)) {
  for (const cases::ArgumentMemory &one : held.arguments)
    initial.push_back(one.written ? std::string(one.begin, one.bytes) : "");
}

void TimedMemory::restore() {
  for (size_t i = 0; i < initial.size(); ++i)
    std::memcpy(held.arguments[i].begin, initial[i].data(), initial[i].size());
}

} // namespace tessera::tune
