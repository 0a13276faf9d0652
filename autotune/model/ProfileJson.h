// autotune/model/ProfileJson.h - launch profiles as JSON.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/model/Profile.h"
#include "support/Json.h"

namespace tessera::tune {

Json toJson(const LaunchProfile &profile);
// Parses a profile. Throws Json's exceptions for members that are missing or of
// another type.
LaunchProfile profileFromJson(const Json &json);

} // namespace tessera::tune
