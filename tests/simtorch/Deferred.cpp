// tests/simtorch/Deferred.cpp - shapes now, elements later.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/simtorch/Deferred.h"
#include "tests/simtorch/Driver.h"

#include <ATen/ATen.h>
#include <cstdlib>
#include <cstring>
#include <torch/library.h>
#include <unordered_map>

namespace simtorch {

using at::Tensor;
using c10::IValue;

namespace {

bool idle() {
  static const bool wanted = [] {
    const char *mode = std::getenv("SIM_CUDA");
    return mode && std::strcmp(mode, "idle") == 0;
  }();
  return wanted;
}

// The value with each tensor, and device, as these functions make it.
template <typename OfTensor>
IValue mapped(const IValue &value, at::Device device, const OfTensor &of) {
  if (value.isTensor())
    return value.toTensor().defined() ? of(value.toTensor()) : value;
  if (value.isDevice())
    return value.toDevice().is_cuda() ? IValue(device) : value;
  if (value.isTensorList()) {
    c10::List<Tensor> list;
    for (const Tensor &tensor : value.toTensorVector())
      list.push_back(of(tensor));
    return list;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<Tensor>> list;
    for (const std::optional<Tensor> &tensor : value.toOptionalTensorVector())
      list.push_back(tensor ? std::optional<Tensor>(of(*tensor)) : tensor);
    return list;
  }
  return value;
}

// Tensors without memory instead of those of the GPU; numbers on the host
// stay, which types are promoted by.
class Shapes {
public:
  Tensor of(const Tensor &tensor) {
    if (!tensor.is_cuda())
      return tensor;
    Tensor meta = at::empty_strided(tensor.sizes(), tensor.strides(),
                                    tensor.options().device(at::kMeta));
    origins.emplace(meta.storage().unsafeGetStorageImpl(), tensor);
    same.emplace(meta.unsafeGetTensorImpl(), tensor);
    return meta;
  }
  // The argument that the result is, a view of one, or a new tensor.
  Tensor result(const Tensor &meta) const {
    if (const auto found = same.find(meta.unsafeGetTensorImpl());
        found != same.end()) {
      const Tensor &tensor = found->second;
      if (tensor.sizes() != meta.sizes())
        tensor.resize_(meta.sizes());
      return tensor;
    }
    if (const auto found = origins.find(meta.storage().unsafeGetStorageImpl());
        found != origins.end())
      return found->second.as_strided(meta.sizes(), meta.strides(),
                                      found->second.storage_offset() +
                                          meta.storage_offset());
    return at::empty_strided(meta.sizes(), meta.strides(),
                             meta.options().device(at::kCUDA));
  }

private:
  std::unordered_map<c10::StorageImpl *, Tensor> origins;
  std::unordered_map<c10::TensorImpl *, Tensor> same;
};

// Of operators that torch has no Meta kernel for in C++; undefined: another.
Tensor knownResult(const std::string &name,
                   const std::vector<IValue> &arguments) {
  if (name == "aten::embedding_dense_backward") {
    const Tensor gradient = arguments[0].toTensor();
    return at::empty({arguments[2].toInt(), gradient.size(-1)},
                     gradient.options());
  }
  // Of the shape of what they are given, or a single element of it.
  if (name == "aten::relu")
    return at::empty(arguments[0].toTensor().sizes(),
                     arguments[0].toTensor().options());
  if ((name == "aten::min" || name == "aten::max") && arguments.size() == 1)
    return at::empty({}, arguments[0].toTensor().options());
  if (name == "aten::index_select") {
    const Tensor from = arguments[0].toTensor();
    std::vector<int64_t> sizes = from.sizes().vec();
    const int64_t dim = c10::maybe_wrap_dim(arguments[1].toInt(), from.dim());
    sizes[size_t(dim)] = arguments[2].toTensor().numel();
    return at::empty(sizes, from.options());
  }
  return {};
}

// Each result is one of the arguments, of its final size.
bool inPlace(const c10::FunctionSchema &schema,
             const std::vector<IValue> &arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto *alias = schema.arguments()[i].alias_info();
    if (alias && alias->isWrite() && schema.arguments()[i].is_out())
      return false;
  }
  for (const auto &result : schema.returns())
    if (!result.alias_info() || !result.alias_info()->isWrite())
      return false;
  return true;
}

std::vector<IValue> resultsOf(const c10::OperatorHandle &op,
                              const std::vector<IValue> &arguments) {
  const c10::FunctionSchema &schema = op.schema();
  std::vector<IValue> results;
  if (inPlace(schema, arguments)) {
    for (const auto &result : schema.returns())
      for (size_t i = 0; i < arguments.size(); ++i)
        if (schema.arguments()[i].alias_info() &&
            *schema.arguments()[i].alias_info() == *result.alias_info())
          results.push_back(arguments[i]);
    return results;
  }
  if (const Tensor known = knownResult(schema.name(), arguments);
      known.defined())
    return {known};
  Shapes shapes;
  torch::jit::Stack meta;
  for (const IValue &argument : arguments)
    meta.push_back(mapped(argument, at::kMeta,
                          [&](const Tensor &t) { return shapes.of(t); }));
  op.callBoxed(&meta);
  for (const IValue &value : meta)
    results.push_back(mapped(value, at::kCUDA, [&](const Tensor &t) {
      return t.is_meta() ? shapes.result(t) : t;
    }));
  return results;
}

void fill(const IValue &target, const IValue &value) {
  if (target.isTensor()) {
    const Tensor place = target.toTensor();
    if (place.defined() && place.data_ptr() != value.toTensor().data_ptr())
      place.copy_(value.toTensor());
  } else if (target.isTensorList()) {
    const auto places = target.toTensorVector(),
               values = value.toTensorVector();
    for (size_t i = 0; i < places.size(); ++i)
      fill(places[i], values[i]);
  }
}

} // namespace

bool deferred() { return idle() || capturing(); }

void later(std::function<void()> work) {
  Capture *const graph = capturing();
  if (!graph || idle())
    return;
  graph->work.push_back(
      std::make_unique<std::function<void()>>([work = std::move(work)] {
        const at::NoGradGuard noGrad;
        const at::AutoDispatchBelowADInplaceOrView below;
        work();
      }));
  call(
      "cuLaunchHostFunc", graph->stream,
      +[](void *data) { (*static_cast<std::function<void()> *>(data))(); },
      static_cast<void *>(graph->work.back().get()));
}

void defer(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
  const size_t count = op.schema().arguments().size();
  const std::vector<IValue> arguments(stack->end() - std::ptrdiff_t(count),
                                      stack->end());
  const std::vector<IValue> results = resultsOf(op, arguments);
  torch::jit::drop(*stack, count);
  stack->insert(stack->end(), results.begin(), results.end());
  if (idle())
    return;
  // The host's views now, since sizes of a tensor may change; of the tensors
  // only their memory is held, not what autograd knows of them.
  const auto held = std::make_shared<std::vector<c10::Storage>>();
  const auto hosts = [&](const std::vector<IValue> &values) {
    std::vector<IValue> all;
    for (const IValue &value : values)
      all.push_back(mapped(value, at::kCPU, [&](const Tensor &tensor) {
        held->push_back(tensor.storage());
        return onHost(tensor);
      }));
    return all;
  };
  later([op, held, from = hosts(arguments), to = hosts(results)] {
    torch::jit::Stack values = from;
    op.callBoxed(&values);
    for (size_t i = 0; i < to.size(); ++i)
      fill(to[i], values[i]);
  });
}

} // namespace simtorch
