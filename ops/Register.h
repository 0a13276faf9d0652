// ops/Register.h - registers the kernels of torch ops.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/library.h>

// Registers the kernels of the op tessera::NAME: `device` runs on CPU and CUDA
// tensors, `meta` infers the results' shapes.
#define TESSERA_OP(name, device, meta)                                         \
  TORCH_LIBRARY_IMPL(tessera, CPU, m) { m.impl(name, device); }                \
  TORCH_LIBRARY_IMPL(tessera, CUDA, m) { m.impl(name, device); }               \
  TORCH_LIBRARY_IMPL(tessera, Meta, m) { m.impl(name, meta); }                 \
  static_assert(true)

// Registers an op with a gradient, which `autograd` records.
#define TESSERA_AUTOGRAD_OP(name, device, meta, autograd)                      \
  TESSERA_OP(name, device, meta);                                              \
  TORCH_LIBRARY_IMPL(tessera, Autograd, m) { m.impl(name, autograd); }         \
  static_assert(true)
