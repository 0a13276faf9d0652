// cmake/precompiled/TORCH.h - torch headers, compiled once for torch ops,
// models, trainer and their tests.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/dispatch/Dispatcher.h>
