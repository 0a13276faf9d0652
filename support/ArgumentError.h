// support/ArgumentError.h - the exception for invalid arguments of a caller.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Error.h"

namespace tessera {

// A caller passed an invalid name, number or value. The torch ops convert it to
// Python's ValueError.
class TESSERA_EXCEPTION ArgumentError : public Error {
public:
  using Error::Error;
};

} // namespace tessera
