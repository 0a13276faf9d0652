// autotune/model/ProfileJson.h - counted launches in files.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/model/Profile.h"
#include "support/Json.h"

namespace tessera::tune {

Json toJson(const LaunchProfile &profile);
// Throws Json's exceptions for what is missing or of another type.
LaunchProfile profileFromJson(const Json &json);

} // namespace tessera::tune
