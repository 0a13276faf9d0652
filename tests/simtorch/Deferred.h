// tests/simtorch/Deferred.h - operators whose results come later, or never.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <functional>

namespace simtorch {

// Whether operators give tensors without elements: while the calling thread's
// stream is captured, whose graph computes them at each launch, and with
// SIM_CUDA=idle, which computes none.
bool deferred();
// To be done by the graph.
void later(std::function<void()> work);
// An operator so: shapes and types are those of torch's Meta kernels.
void defer(const c10::OperatorHandle &op, torch::jit::Stack *stack);

} // namespace simtorch
