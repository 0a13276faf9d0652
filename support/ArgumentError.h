// support/ArgumentError.h - the exception for what a caller passed.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Error.h"

namespace tessera {

// A name, number or value that was passed is wrong: what Python calls a
// ValueError, which the torch ops make of it.
class TESSERA_EXCEPTION ArgumentError : public Error {
public:
  using Error::Error;
};

} // namespace tessera
