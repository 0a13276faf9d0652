// ops/launch/EmptyTensor.cpp - allocates the tensors that ops return, in huge
// pages.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/launch/EmptyTensor.h"

#include <ATen/ops/empty.h>
#include <cstdint>
#include <sys/mman.h>

namespace tessera::runtime {

at::Tensor emptyTensor(at::IntArrayRef sizes,
                       const at::TensorOptions &options) {
  constexpr uintptr_t hugePage = 2 << 20, least = 2 * hugePage;
  at::Tensor made = at::empty(sizes, options);
  if (!made.is_cpu() || made.nbytes() < least)
    return made;
  // Only pages inside the tensor: adjacent allocations keep their page size.
  const auto begin = reinterpret_cast<uintptr_t>(made.data_ptr());
  const uintptr_t first = (begin + hugePage - 1) / hugePage * hugePage;
  const uintptr_t end = (begin + made.nbytes()) / hugePage * hugePage;
  // The call is a hint. A system without huge pages rejects it without effect.
  if (first < end)
    (void)madvise(reinterpret_cast<void *>(first), end - first, MADV_HUGEPAGE);
  return made;
}

} // namespace tessera::runtime
