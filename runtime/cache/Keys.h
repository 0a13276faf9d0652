// runtime/cache/Keys.h - the key that an artifact is kept under.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Hash.h"

#include <string_view>

namespace tessera::runtime {

// From the request key (syntax::CompileRequest::key) and the build id of the
// compiler that serves the request.
inline Sha256Digest artifactKey(std::string_view requestKey,
                                std::string_view buildId) {
  return Sha256()
      .update("artifact\n")
      .update(requestKey)
      .update("\n")
      .update(buildId)
      .finish();
}

} // namespace tessera::runtime
