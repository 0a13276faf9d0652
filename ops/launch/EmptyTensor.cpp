// ops/launch/EmptyTensor.cpp - allocates the tensors that ops return, in huge
// pages.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/launch/EmptyTensor.h"
#include "ops/launch/KeptMemory.h"

#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/ops/empty.h>
#include <c10/core/CPUAllocator.h>
#include <cstdint>
#include <sys/mman.h>

namespace tessera::runtime {

at::Tensor emptyTensor(at::IntArrayRef sizes,
                       const at::TensorOptions &options) {
  constexpr uintptr_t hugePage = 2 << 20, least = 2 * hugePage;
  const at::ScalarType type = c10::typeMetaToScalarType(options.dtype());
  const size_t bytes =
      size_t(c10::multiply_integers(sizes)) * c10::elementSize(type);
  // at::empty() fills the tensor if the user wants results that never depend
  // on what memory held.
  const at::Context &context = at::globalContext();
  const bool filled = context.deterministicAlgorithms() &&
                      context.deterministicFillUninitializedMemory();
  // A program that sets an allocator gets all its tensors from there.
  if (options.device().is_cpu() && bytes >= kKeptLeast && !filled &&
      c10::GetCPUAllocator() == c10::GetDefaultCPUAllocator())
    return at::detail::empty_generic(sizes, &KeptMemory::instance(),
                                     c10::DispatchKeySet(c10::DispatchKey::CPU),
                                     type, std::nullopt);
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
