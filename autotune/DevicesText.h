// autotune/DevicesText.h - the file autotune/devices.yaml, compiled in.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tessera::tune {

extern const char *const devicesText;

} // namespace tessera::tune
