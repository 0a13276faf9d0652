// ops/launch/EmptyTensor.h - memory for the results of ops.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace tessera::runtime {

/// Like at::empty(), for results that a kernel writes completely. On the CPU,
/// requests huge pages from 4 MiB on: the 8,192 page faults of 4 KiB pages take
/// longer than a kernel that fills 32 MiB. From kKeptLeast on it reuses the
/// memory of freed results (KeptMemory.h), unless the program has set an
/// allocator.
at::Tensor emptyTensor(at::IntArrayRef sizes, const at::TensorOptions &options);

} // namespace tessera::runtime
