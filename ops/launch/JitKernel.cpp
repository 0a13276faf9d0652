// ops/launch/JitKernel.cpp - kernels that are given as text and known by a
// number, for tessera.jit of the Python package.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/launch/JitKernel.h"

#include "ops/Check.h"
#include "ops/launch/ConstexprText.h"
#include "ops/launch/Launch.h"
#include "runtime/compile/CompileService.h"
#include "support/Json.h"

#include <algorithm>
#include <atomic>
#include <torch/library.h>

namespace tessera::runtime {

const PreparedLaunch &JitKernel::on(const TensorDevice &device) const {
  LaunchKey key;
  key.add(device.number());
  if (const PreparedLaunch *found = devices.find(key.view())) [[likely]]
    return *found;
  LaunchOptions own = options;
  own.device = device.handle();
  return devices.insert(
      key.view(), std::make_unique<PreparedLaunch>(kernel, constexprs, own));
}

namespace jit_kernel {

// Kernels by their numbers. The table is never destroyed, because other threads
// may launch while the process ends.
LaunchTable<JitKernel> &table() {
  static auto *const known = new LaunchTable<JitKernel>;
  return *known;
}

// Returns the one kernel of a text. All constexprs share it, and so share its
// compiled artifacts.
const Kernel &kernelOf(std::string_view path, std::string_view text,
                       std::string_view name) {
  static auto *const known = new LaunchTable<Kernel>;
  LaunchKey key;
  key.addText(path);
  key.addText(text);
  key.addText(name);
  if (const Kernel *found = known->find(key.view()))
    return *found;
  return known->insert(key.view(), std::make_unique<Kernel>(Kernel::fromSource(
                                       std::string(text), std::string(name),
                                       std::string(path))));
}

std::string_view view(c10::string_view text) {
  return {text.data(), text.size()};
}

int64_t define(c10::string_view path, c10::string_view text,
               c10::string_view name, c10::string_view order,
               c10::string_view constexprs, c10::string_view options) {
  const Constexprs given =
      parseConstexprs("tessera_internal::jit_kernel", view(constexprs));
  Constexprs named =
      parseConstexprs("tessera_internal::jit_kernel", view(options));
  LaunchOptions own = takeOptions("tessera_internal::jit_kernel", named);
  TESSERA_CHECK(named.empty(), "tessera_internal::jit_kernel", "options are `",
                view(options), "`; there are num_warps and num_stages");
  const Kernel &kernel = withValueErrors([&]() -> const Kernel & {
    return kernelOf(view(path), view(text), view(name));
  });
  const std::string letters(order.data(), order.size());
  TESSERA_CHECK(letters.size() == kernel.parameters().size() &&
                    letters.find_first_not_of("tsbn") == std::string::npos,
                "tessera_internal::jit_kernel", "order is \"", letters,
                "\" and `", name, "` takes ", kernel.parameters().size(),
                " arguments; pass t, s, b or n for each of them");
  // The caller chooses the configuration: options that are missing take
  // Python's defaults, not those of a tuning table.
  own.tuned = false;
  static std::atomic<uint64_t> numbers{0};
  LaunchKey key;
  const uint64_t number = numbers++;
  key.add(number);
  table().insert(key.view(),
                 std::make_unique<JitKernel>(kernel, letters, given, own));
  return int64_t(number);
}

const JitKernel &kernelOf(const char *op, int64_t number,
                          at::TensorList tensors,
                          at::ArrayRef<c10::Scalar> scalars) {
  LaunchKey key;
  key.add(uint64_t(number));
  const JitKernel *kernel = table().find(key.view());
  TESSERA_CHECK(kernel, op, "no kernel ", number,
                "; pass what tessera_internal::jit_kernel gave");
  const auto letters = [&](char letter) {
    return size_t(
        std::count(kernel->order.begin(), kernel->order.end(), letter));
  };
  TESSERA_CHECK(tensors.size() == letters('t') &&
                    scalars.size() == letters('s') + letters('b'),
                op, "`", kernel->kernel.name(), "` has order \"", kernel->order,
                "\" and was given ", tensors.size(), " tensors and ",
                scalars.size(), " numbers");
  return *kernel;
}

void addArguments(Launch &launch, const JitKernel &kernel,
                  at::TensorList tensors, at::ArrayRef<c10::Scalar> scalars) {
  const at::Tensor *tensor = tensors.begin();
  const c10::Scalar *scalar = scalars.begin();
  for (const char letter : kernel.order)
    if (letter == 't')
      launch.tensor(*tensor++);
    else if (letter == 's')
      launch.number(*scalar++);
    else if (letter == 'b')
      launch.number((scalar++)->toBool());
    else
      launch.none();
}

void launch(int64_t number, at::TensorList tensors,
            at::ArrayRef<c10::Scalar> scalars, int64_t x, int64_t y,
            int64_t z) {
  const JitKernel &kernel =
      kernelOf("tessera_internal::jit_launch", number, tensors, scalars);
  withValueErrors([&] {
    Launch launch(kernel);
    addArguments(launch, kernel, tensors, scalars);
    launch.run(x, y, z);
  });
}

void prepare(int64_t number, at::TensorList tensors,
             at::ArrayRef<c10::Scalar> scalars) {
  const JitKernel &kernel =
      kernelOf("tessera_internal::jit_prepare", number, tensors, scalars);
  withValueErrors([&] {
    Launch launch(kernel);
    addArguments(launch, kernel, tensors, scalars);
    launch.prepare();
  });
}

// Returns the artifact's metadata as JSON, with its PTX if the target is a GPU.
std::string describe(int64_t number, at::TensorList tensors,
                     at::ArrayRef<c10::Scalar> scalars) {
  const JitKernel &kernel =
      kernelOf("tessera_internal::jit_describe", number, tensors, scalars);
  return withValueErrors([&] {
    Launch launch(kernel);
    addArguments(launch, kernel, tensors, scalars);
    const language::CompileRequest request = launch.compileRequest();
    const auto compiled = CompileService::instance().get(request);
    Json stages = Json::object();
    for (const auto &[stage, text] : compiled->stages)
      stages[stage] = text;
    return Json{{"target", request.target},
                {"num_warps", request.options.numWarps},
                {"num_stages", request.options.numStages},
                {"shared", compiled->meta.sharedBytes},
                {"scratch", compiled->meta.scratchBytes},
                {"threads", compiled->meta.threads},
                {"stages", stages}}
        .dump(-1, ' ', false, Json::error_handler_t::replace);
  });
}

void meta(int64_t, at::TensorList, at::ArrayRef<c10::Scalar>, int64_t, int64_t,
          int64_t) {}

// Not registered for a device, because a kernel may take no tensor.
TORCH_LIBRARY_IMPL(tessera_internal, CompositeExplicitAutograd, m) {
  m.impl("jit_kernel", define);
  m.impl("jit_launch", launch);
  m.impl("jit_prepare", prepare);
  m.impl("jit_describe", describe);
}

TORCH_LIBRARY_IMPL(tessera_internal, Meta, m) { m.impl("jit_launch", meta); }

// Autograd does not record a launch, as with Triton's kernels.
TORCH_LIBRARY_IMPL(tessera_internal, Autograd, m) {
  m.impl("jit_launch", torch::CppFunction::makeFallthrough());
}

} // namespace jit_kernel
} // namespace tessera::runtime
