// cmake/precompiled/MLIR_TEST.h - what tests of targets of kind MLIR include,
// compiled once, without optimization as they are.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cmake/precompiled/MLIR.h"

#include "cmake/precompiled/TEST.h"
