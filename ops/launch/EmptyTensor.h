// ops/launch/EmptyTensor.h - memory for what ops return.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace tessera::runtime {

/// at::empty(), for results that a kernel writes whole. On the CPU from 4 MiB
/// on the system is asked for huge pages: new memory comes a page at a time, as
/// it is written first, and 8,192 page faults of 4 KiB take longer than a
/// kernel that fills 32 MiB.
at::Tensor emptyTensor(at::IntArrayRef sizes, const at::TensorOptions &options);

} // namespace tessera::runtime
