// tests/simtorch/Operators.cpp - ATen for torch's "cuda" on the simulated
// driver: memory and views here, all else by torch's CPU kernels.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/simtorch/Deferred.h"
#include "tests/simtorch/Driver.h"

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

namespace simtorch {

using at::Tensor;

Tensor onHost(const Tensor &tensor) {
  if (!tensor.is_cuda())
    return tensor;
  return at::from_blob(tensor.data_ptr(), tensor.sizes(), tensor.strides(),
                       tensor.options().device(at::kCPU).requires_grad(false));
}

namespace {

// Copies inside of an operator that a GPU would run without any.
thread_local bool withinFallback = false;

constexpr c10::DispatchKeySet keys(c10::DispatchKey::CUDA);

Tensor empty(at::IntArrayRef size, std::optional<at::ScalarType> type,
             std::optional<at::Layout>, std::optional<at::Device> device,
             std::optional<bool>, std::optional<at::MemoryFormat> format) {
  const c10::DeviceGuard guard(device.value_or(at::Device(at::kCUDA)));
  return at::detail::empty_generic(size, allocator(), keys,
                                   c10::dtype_or_default(type), format);
}

Tensor emptyStrided(at::IntArrayRef size, at::IntArrayRef stride,
                    std::optional<at::ScalarType> type,
                    std::optional<at::Layout>, std::optional<at::Device> device,
                    std::optional<bool>) {
  const c10::DeviceGuard guard(device.value_or(at::Device(at::kCUDA)));
  return at::detail::empty_strided_generic(size, stride, allocator(), keys,
                                           c10::dtype_or_default(type));
}

// Of one element type, shape and dense strides.
void copyThroughDriver(const Tensor &to, const Tensor &from,
                       bool waits = true) {
  const Tensor &onGpu = to.is_cuda() ? to : from;
  const c10::DeviceGuard guard(onGpu.device());
  void *stream = currentStream(onGpu.device().index());
  const auto address = reinterpret_cast<unsigned long long>(onGpu.data_ptr());
  if (to.is_cuda())
    call("cuMemcpyHtoDAsync_v2", address,
         static_cast<const void *>(from.const_data_ptr()), to.nbytes(), stream);
  else
    call("cuMemcpyDtoHAsync_v2", to.data_ptr(), address, to.nbytes(), stream);
  if (waits)
    call("cuStreamSynchronize", stream);
}

// If `together`, the host does not wait for copies from or to pinned memory.
Tensor &copy(Tensor &to, const Tensor &from, bool together) {
  at::AutoDispatchBelowADInplaceOrView below;
  if (to.numel() == 0)
    return to;
  if (to.is_cuda() && from.is_cuda() && deferred()) {
    later([target = onHost(to), source = onHost(from),
           held = std::pair(to.storage(), from.storage())] {
      target.copy_(source);
    });
    return to;
  }
  if (withinFallback || to.device().type() == from.device().type()) {
    settle();
    onHost(to).copy_(onHost(from));
    return to;
  }
  // What the driver copies has the type and the shape of the GPU's side, or on
  // the way down those of the source.
  if (to.is_cuda()) {
    const Tensor plain = from.to(to.scalar_type()).expand(to.sizes());
    const Tensor target =
        to.is_contiguous() ? to : at::empty(to.sizes(), to.options());
    copyThroughDriver(target, plain.contiguous(),
                      !(together && target.is_same(to) && plain.is_pinned()));
    if (!target.is_same(to))
      onHost(to).copy_(onHost(target));
    return to;
  }
  settle();
  Tensor source = from;
  if (!from.is_contiguous()) {
    source = at::empty(from.sizes(), from.options());
    onHost(source).copy_(onHost(from));
  }
  const Tensor plain = at::empty(from.sizes(), from.options().device(at::kCPU));
  copyThroughDriver(plain, source);
  return to.copy_(plain);
}

Tensor copyFrom(const Tensor &from, const Tensor &to, bool) {
  Tensor target = to;
  return copy(target, from, false);
}

Tensor copyFromAndResize(const Tensor &from, const Tensor &to) {
  if (to.sizes() != from.sizes())
    const_cast<Tensor &>(to).resize_(from.sizes());
  return copyFrom(from, to, false);
}

const Tensor &resize(const Tensor &tensor, at::IntArrayRef size,
                     std::optional<at::MemoryFormat>) {
  at::TensorImpl *impl = tensor.unsafeGetTensorImpl();
  impl->set_sizes_contiguous(size);
  const size_t bytes =
      (size_t(tensor.storage_offset()) + size_t(impl->numel())) *
      tensor.element_size();
  if (bytes > tensor.storage().nbytes()) {
    const c10::DeviceGuard guard(tensor.device());
    c10::DataPtr larger = allocator()->allocate(bytes);
    settle();
    std::memcpy(larger.get(), tensor.storage().data(),
                tensor.storage().nbytes());
    tensor.storage().set_data_ptr_noswap(std::move(larger));
    tensor.storage().set_nbytes(bytes);
  }
  return tensor;
}

// One number for the host: a copy, as on a GPU.
at::Scalar localScalar(const Tensor &tensor) {
  Tensor value = at::empty({}, tensor.options().device(at::kCPU));
  copy(value, tensor.reshape({}), false);
  return at::_local_scalar_dense(value);
}

void fallback(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
  if (deferred())
    return defer(op, stack);
  settle();
  const bool before = std::exchange(withinFallback, true);
  try {
    at::native::cpu_fallback(op, stack);
  } catch (...) {
    withinFallback = before;
    throw;
  }
  withinFallback = before;
}

TORCH_LIBRARY_IMPL(_, CUDA, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>());
}

TORCH_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("empty.memory_format", empty);
  m.impl("empty_strided", emptyStrided);
  m.impl("as_strided", at::native::as_strided_tensorimpl);
  m.impl("view", at::native::view);
  m.impl("_reshape_alias", at::native::_reshape_alias);
  m.impl("unfold", at::native::unfold);
  m.impl("set_.source_Storage_storage_offset", at::native::set_storage_cpu_);
  m.impl("resize_", resize);
  m.impl("copy_", copy);
  m.impl("_copy_from", copyFrom);
  m.impl("_copy_from_and_resize", copyFromAndResize);
  m.impl("_local_scalar_dense", localScalar);
}

} // namespace
} // namespace simtorch
