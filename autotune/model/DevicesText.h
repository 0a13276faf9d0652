// autotune/model/DevicesText.h - the file autotune/model/devices.yaml, compiled
// in.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tessera::tune {

extern const char *const devicesText;

} // namespace tessera::tune
