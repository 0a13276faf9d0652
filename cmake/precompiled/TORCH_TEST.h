// cmake/precompiled/TORCH_TEST.h - what tests of targets of kind TORCH include,
// compiled once, without optimization as they are.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cmake/precompiled/TORCH.h"

#include "cmake/precompiled/TEST.h"
