// tests/unit/ops/CudaTensorTest.cpp - the ops on CUDA tensors, whose GPUs are
// simulators: results, devices, streams, copies.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/File.h"
#include "tests/helpers/TensorError.h"
#include "tests/simtorch/Driver.h"
#include "tests/unit/support/TemporaryFolder.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/autograd/autograd.h>

#include <gtest/gtest.h>

#include <cstdlib>

using namespace tessera;
using at::Tensor;
using Values = std::vector<c10::IValue>;

namespace {

Values callOp(const std::string &name, Values stack) {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(
      (name.find("::") == name.npos ? "tessera::" + name : name).c_str(), "");
  const auto &arguments = op.schema().arguments();
  for (size_t i = stack.size(); i < arguments.size(); ++i)
    stack.push_back(*arguments[i].default_value());
  op.callBoxed(&stack);
  return stack;
}

std::string failureOf(const std::function<void()> &function) {
  try {
    function();
  } catch (const std::exception &error) {
    return error.what();
  }
  return "no error";
}

void expectHas(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos)
      << "missing: " << part << "\nin: " << text;
}

long calls(const char *name) {
  return reinterpret_cast<long (*)(const char *)>(
      simtorch::find("simCudaCalls"))(name);
}

long copies() { return calls("cuMemcpyHtoD") + calls("cuMemcpyDtoH"); }
long waits() {
  return calls("cuStreamSynchronize") + calls("cuCtxSynchronize") +
         calls("cuEventSynchronize");
}

const c10::Device firstGpu(c10::kCUDA, 0), secondGpu(c10::kCUDA, 1);

Tensor noise(std::vector<int64_t> sizes, uint64_t seed,
             at::ScalarType type = at::kFloat) {
  return at::randn(sizes, at::detail::createCPUGenerator(seed)).to(type);
}

// As a caller of these ops has it: the host knows the lengths, the GPU gets
// them.
const std::vector<int32_t> offsets = {0, 70, 70, 101, 102};
constexpr int64_t longest = 70, tokens = 102;
Tensor sequences() { return at::tensor(offsets, at::kInt); }

// The arguments with every tensor on a device; those of floating type want
// gradients.
Values onDevice(const Values &arguments, c10::Device device) {
  Values result;
  for (const c10::IValue &value : arguments) {
    if (!value.isTensor()) {
      result.push_back(value);
      continue;
    }
    Tensor tensor = value.toTensor().detach().to(device);
    if (device.is_cpu())
      tensor = tensor.clone();
    result.push_back(tensor.set_requires_grad(tensor.is_floating_point()));
  }
  return result;
}

struct Results {
  std::vector<Tensor> outputs, gradients;
};

// The outputs, and the gradients of their product with fixed noise.
Results run(const std::string &op, const Values &arguments,
            c10::Device device) {
  Values values = onDevice(arguments, device);
  Results results;
  std::vector<Tensor> inputs, weights, losses;
  for (const c10::IValue &value : callOp(op, values))
    results.outputs.push_back(value.toTensor());
  for (const c10::IValue &value : values)
    if (value.isTensor() && value.toTensor().requires_grad())
      inputs.push_back(value.toTensor());
  for (const Tensor &output : results.outputs)
    if (output.requires_grad()) {
      losses.push_back(output);
      weights.push_back(
          noise(output.sizes().vec(), 77, output.scalar_type()).to(device));
    }
  const long copiesBefore = copies(), waitsBefore = waits();
  if (!losses.empty())
    results.gradients =
        torch::autograd::grad(losses, inputs, weights,
                              /*retain_graph=*/std::nullopt,
                              /*create_graph=*/false, /*allow_unused=*/true);
  EXPECT_EQ(copies(), copiesBefore) << op << ": the backward copies";
  EXPECT_EQ(waits(), waitsBefore) << op << ": the backward waits";
  return results;
}

void expectNear(const Tensor &got, const Tensor &want, double limit,
                const std::string &what) {
  ASSERT_EQ(got.defined(), want.defined()) << what;
  if (!got.defined())
    return;
  ASSERT_EQ(got.sizes(), want.sizes()) << what;
  if (!want.is_floating_point()) {
    EXPECT_TRUE(at::equal(got.cpu(), want)) << what;
    return;
  }
  const Tensor a = got.detach().cpu().to(at::kDouble),
               b = want.detach().to(at::kDouble);
  EXPECT_TRUE(at::equal(a.isinf(), b.isinf())) << what;
  const Tensor finite = b.isfinite();
  const double size = std::max(
      1e-2, at::masked_select(b, finite).square().mean().item<double>());
  EXPECT_LT(
      std::sqrt(
          at::masked_select(a - b, finite).square().mean().item<double>() /
          size),
      limit)
      << what;
  const at::Tensor x = a.contiguous(), y = b.contiguous();
  const double *got = x.const_data_ptr<double>(),
               *wanted = y.const_data_ptr<double>();
  const TensorError error = tensorError(
      x.numel(), x.dim() ? x.size(-1) : 1, [&](int64_t i) { return got[i]; },
      [&](int64_t i) { return wanted[i]; }, limit, std::sqrt(1e-2));
  EXPECT_EQ(error.first, -1) << what;
}

void expectSameAsCpu(const std::string &op, const Values &arguments,
                     c10::Device device = firstGpu, double limit = 1e-5) {
  const Results want = run(op, arguments, c10::kCPU);
  const Results got = run(op, arguments, device);
  ASSERT_EQ(got.outputs.size(), want.outputs.size());
  for (size_t i = 0; i < got.outputs.size(); ++i) {
    EXPECT_EQ(got.outputs[i].device(), device) << op;
    expectNear(got.outputs[i], want.outputs[i], limit,
               op + ", output " + std::to_string(i));
  }
  ASSERT_EQ(got.gradients.size(), want.gradients.size());
  for (size_t i = 0; i < got.gradients.size(); ++i) {
    if (got.gradients[i].defined()) {
      EXPECT_EQ(got.gradients[i].device(), device) << op;
    }
    expectNear(got.gradients[i], want.gradients[i], limit,
               op + ", gradient " + std::to_string(i));
  }
}

constexpr int64_t blockLength = 8, stride = 4, selectionLength = 16,
                  selected = 4, window = 16;

Tensor compressedStarts() {
  return callOp("compressed_offsets", {sequences(), blockLength, stride})[0]
      .toTensor();
}

Values nsaArguments(at::ScalarType type = at::kFloat) {
  const Tensor cmp = compressedStarts();
  Values values = {noise({tokens, 4, 16}, 1, type)};
  for (uint64_t i = 0; i < 6; ++i)
    values.push_back(noise({tokens, 2, 16}, 2 + i, type));
  values.push_back(noise({tokens, 2, 3}, 8, type));
  for (c10::IValue value :
       {c10::IValue(sequences()), c10::IValue(cmp), c10::IValue(longest),
        c10::IValue(cmp[-1].item<int64_t>()), c10::IValue(blockLength),
        c10::IValue(stride), c10::IValue(selectionLength),
        c10::IValue(selected), c10::IValue(window)})
    values.push_back(value);
  return values;
}

} // namespace

// Checks the test driver that replaces libtorch_cuda.
TEST(CudaTensors, OfTheTestDriver) {
  const Tensor x = noise({5, 7}, 1);
  const Tensor y = x.to(secondGpu);
  EXPECT_EQ(y.device(), secondGpu);
  const Tensor product = at::matmul(y, y.t());
  EXPECT_EQ(product.device(), secondGpu);
  EXPECT_TRUE(at::allclose(product.cpu(), at::matmul(x, x.t())));
  EXPECT_TRUE(at::equal(y.slice(1, 2, 5).cpu(), x.slice(1, 2, 5)));
  EXPECT_EQ(y.sum().item<float>(), x.sum().item<float>());
}

TEST(CudaTensors, NsaForwardAndBackward) {
  expectSameAsCpu("nsa_attention", nsaArguments());
}

// A sequence of one part of its tokens and one of two
// (docs/kernel-reference.md, cmp_bwd_dkdv): added up by the launch of the
// selected branch, and alone.
TEST(CudaTensors, CompressedKeysByPartsOfTheTokens) {
  const int64_t all = 330, most = 290;
  const Tensor cu = at::tensor({0, 40, 330}, at::kInt);
  const Tensor cmp =
      callOp("compressed_offsets", {cu, blockLength, stride})[0].toTensor();
  const int64_t rows = cmp[-1].item<int64_t>();
  const Tensor q = noise({all, 2, 16}, 1);
  Values layer = {q};
  for (uint64_t i = 0; i < 6; ++i)
    layer.push_back(noise({all, 1, 16}, 2 + i));
  layer.push_back(noise({all, 1, 3}, 8));
  for (const c10::IValue &value :
       Values{cu, cmp, most, rows, blockLength, stride, selectionLength,
              selected, window})
    layer.push_back(value);
  expectSameAsCpu("nsa_attention", layer);
  // No list is long enough to be split: only the parts of the tokens are added.
  layer[14] = int64_t(64);
  layer[15] = int64_t(16);
  expectSameAsCpu("nsa_attention", layer);
  expectSameAsCpu("nsa_compressed_attention",
                  {q, noise({rows, 1, 16}, 9), noise({rows, 1, 16}, 10), cu,
                   cmp, most, blockLength, stride});
}

TEST(CudaTensors, NsaInHalfPrecision) {
  // Each of both is within 5e-3 of the fp64 reference (tests/numeric).
  expectSameAsCpu("nsa_attention", nsaArguments(at::kBFloat16), firstGpu, 1e-2);
}

TEST(CudaTensors, TheOtherOps) {
  const Tensor cu = sequences(), cmp = compressedStarts();
  const int64_t rows = cmp[-1].item<int64_t>();
  const Tensor q = noise({tokens, 4, 16}, 1), k = noise({tokens, 2, 16}, 2),
               v = noise({tokens, 2, 16}, 3);
  expectSameAsCpu("dense_attention", {q, k, v, cu, longest});
  expectSameAsCpu("compressed_offsets", {cu, blockLength, stride});
  expectSameAsCpu("nsa_compress", {k, noise({blockLength, 16}, 4), cu, cmp,
                                   longest, rows, blockLength, stride});
  expectSameAsCpu("rms_norm", {noise({tokens, 48}, 5), noise({48}, 6)});
  expectSameAsCpu("residual_norm", {noise({tokens, 48}, 5),
                                    noise({tokens, 48}, 7), noise({48}, 6)});
  const Tensor targets = at::arange(tokens).remainder(70);
  expectSameAsCpu("linear_cross_entropy",
                  {noise({tokens, 48}, 5), noise({70, 48}, 6), targets});
  expectSameAsCpu("linear_cross_entropy",
                  {noise({tokens, 48}, 5), noise({70, 48}, 6), targets,
                   int64_t(-100), "mean", true});
  const Values table = callOp("rope_table", {longest, int64_t(16)});
  expectSameAsCpu("rope", {q, table[0].toTensor().set_requires_grad(false),
                           table[1], cu, longest});
  const Values lse =
      callOp("nsa_compressed_attention",
             {q, noise({rows, 2, 16}, 7), noise({rows, 2, 16}, 8), cu, cmp,
              longest, blockLength, stride});
  const Values scores = {
      q,      noise({rows, 2, 16}, 7), lse[1],  cu, cmp, longest, blockLength,
      stride, selectionLength,         selected};
  expectSameAsCpu("nsa_select_scores", scores);
  expectSameAsCpu("nsa_ranges", {callOp("nsa_select", scores)[0], cu, longest,
                                 selectionLength});
}

// Entries of a GPU's tensors are not read: what is not a row of the weight
// gives no number, and the other tokens theirs.
TEST(CudaTensors, ATargetThatIsNoRowHasALossOfNaN) {
  const Tensor targets = at::tensor({3, 70, -100, -1, 69}, at::kLong);
  for (const bool keep : {false, true}) {
    const Tensor losses =
        callOp("linear_cross_entropy",
               {noise({5, 16}, 1).to(firstGpu), noise({70, 16}, 2).to(firstGpu),
                targets.to(firstGpu), int64_t(-100), "none", keep})[0]
            .toTensor()
            .cpu();
    EXPECT_TRUE(
        losses.isnan().equal(at::tensor({0, 1, 0, 1, 0}).to(at::kBool)));
    EXPECT_EQ(losses[2].item<float>(), 0);
  }
}

TEST(CudaTensors, UnderAutocast) {
  const Values arguments = onDevice(nsaArguments(), firstGpu);
  const auto typeOf = [&] {
    return callOp("nsa_attention", arguments)[0].toTensor().scalar_type();
  };
  EXPECT_EQ(typeOf(), at::kFloat);
  at::autocast::set_autocast_dtype(c10::kCUDA, at::kBFloat16);
  at::autocast::set_autocast_enabled(c10::kCUDA, true);
  EXPECT_EQ(typeOf(), at::kBFloat16);
  at::autocast::set_autocast_enabled(c10::kCUDA, false);
  at::autocast::clear_cache();
}

// Nothing is copied to or from the GPU, and nothing is waited for.
TEST(CudaTensors, AreNotCopied) {
  const Values arguments = onDevice(nsaArguments(), firstGpu);
  callOp("nsa_attention", arguments); // compiles, loads
  const long copied = copies(), waited = waits();
  const Values results = callOp("nsa_attention", arguments);
  EXPECT_EQ(copies(), copied);
  EXPECT_EQ(waits(), waited);
}

TEST(CudaTensors, OfTheSecondGpu) {
  EXPECT_EQ(simtorch::currentDevice(), 0);
  expectSameAsCpu("nsa_attention", nsaArguments(), secondGpu);
  EXPECT_EQ(simtorch::currentDevice(), 0);
}

TEST(CudaTensors, MustBeOnOneDevice) {
  Values arguments = {noise({8, 2, 16}, 1).to(firstGpu),
                      noise({8, 2, 16}, 2).to(firstGpu),
                      noise({8, 2, 16}, 3).to(firstGpu),
                      at::tensor({0, 8}, at::kInt), int64_t(8)};
  const auto failure = [&] {
    return failureOf([&] { callOp("dense_attention", arguments); });
  };
  expectHas(failure(), "cu_seqlens is on cpu but q is on cuda:0; move one of "
                       "them with .to()");
  arguments[3] = at::tensor({0, 8}, at::kInt).to(secondGpu);
  expectHas(failure(), "cu_seqlens is on cuda:1 but q is on cuda:0");
}

// A kernel that allocates nothing: y = 2 x for 20 elements.
const char *const twiceText =
    "import triton\nimport triton.language as tl\n\n\n"
    "@triton.jit\n"
    "def twice(x, y, n, B: tl.constexpr):\n"
    "    i = tl.arange(0, B)\n"
    "    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)\n";

class Twice {
public:
  Twice() { writeFile(path, twiceText); }
  void launch(const Tensor &x, const Tensor &y) const {
    using Launch =
        void(c10::string_view, c10::string_view, at::TensorList,
             at::ArrayRef<c10::Scalar>, c10::SymIntArrayRef, c10::string_view);
    static const auto op = c10::Dispatcher::singleton()
                               .findSchemaOrThrow("tessera::launch", "")
                               .typed<Launch>();
    const Tensor tensors[] = {x, y};
    const c10::Scalar scalars[] = {int64_t(20)};
    const c10::SymInt grid[] = {1};
    op.call(path, "twice", tensors, scalars, grid, "B=32");
  }

private:
  const TemporaryFolder folder;
  const std::string path = folder.path() / "twice.py";
};

// The stand-in runs nothing before the test waits for the stream.
TEST(CudaTensors, LaunchOnTorchsCurrentStream) {
  const Twice twice;
  const c10::impl::VirtualGuardImpl gpus(c10::kCUDA);
  for (const c10::Device device : {firstGpu, secondGpu}) {
    const Tensor x = at::ones(20).to(device), y = at::zeros(20).to(device);
    const c10::Stream stream = gpus.getStreamFromGlobalPool(device);
    const c10::Stream before = gpus.exchangeStream(stream);
    twice.launch(x, y);
    gpus.exchangeStream(before);
    const auto now = [&] { return simtorch::onHost(y)[19].item<float>(); };
    EXPECT_EQ(now(), 0);
    gpus.synchronizeStream(before);
    EXPECT_EQ(now(), 0);
    gpus.synchronizeStream(stream);
    EXPECT_EQ(now(), 2);
  }
}

// Calls what tessera.jit of the Python package calls. Python's torch loads
// libtorch_cuda, which cannot be loaded together with the stand-in.
TEST(CudaTensors, OfTesseraJit) {
  const int64_t kernel =
      callOp("tessera_internal::jit_kernel",
             {"twice.py", twiceText, "twice", "tts", "B=32", "num_warps=1"})
          .at(0)
          .toInt();
  c10::impl::GenericList numbers(c10::NumberType::get());
  numbers.push_back(int64_t(20));
  const auto launch = [&](const Tensor &x, const Tensor &y) {
    callOp("tessera_internal::jit_launch",
           {kernel, std::vector<Tensor>{x, y}, numbers, int64_t(1), int64_t(1),
            int64_t(1)});
  };
  const c10::impl::VirtualGuardImpl gpus(c10::kCUDA);
  for (const c10::Device device : {firstGpu, secondGpu}) {
    const Tensor x = at::ones(20).to(device), y = at::zeros(20).to(device);
    const c10::Stream stream = gpus.getStreamFromGlobalPool(device);
    const c10::Stream before = gpus.exchangeStream(stream);
    const long copied = copies(), waited = waits();
    launch(x, y);
    EXPECT_EQ(copies(), copied);
    EXPECT_EQ(waits(), waited);
    gpus.exchangeStream(before);
    const auto now = [&] { return simtorch::onHost(y)[19].item<float>(); };
    EXPECT_EQ(now(), 0);
    gpus.synchronizeStream(stream);
    EXPECT_EQ(now(), 2);
  }
  expectHas(failureOf([&] {
              launch(at::ones(20).to(firstGpu), at::ones(20).to(secondGpu));
            }),
            "cuda:1");
}

// A CUDA graph runs what was launched on its stream, again and again; code is
// not loaded meanwhile.
TEST(CudaTensors, AreCapturedIntoGraphs) {
  const c10::impl::VirtualGuardImpl gpus(c10::kCUDA);
  const c10::Stream stream = gpus.getStreamFromGlobalPool(firstGpu);
  const c10::Stream before = gpus.exchangeStream(stream);
  void *const handle = gpus.getStreamNativeHandle(stream);
  const Tensor x = noise({6, 40}, 1).to(firstGpu),
               weight = at::ones(40).to(firstGpu);
  Values kept; // torch's allocator keeps what a graph writes to
  const auto captured = [&] {
    void *graph = nullptr;
    simtorch::call("cuStreamBeginCapture_v2", handle, 0);
    const std::string failure = failureOf(
        [&] { kept = callOp("rms_norm_forward", {x, weight, 1e-6}); });
    simtorch::call("cuStreamEndCapture", handle, &graph);
    return std::pair(failure, graph);
  };
  const auto [failure, nothing] = captured();
  expectHas(failure, "kernel `rmsnorm_fwd` (");
  expectHas(failure, "kernels/nn/rmsnorm_fwd.py) is not loaded yet, and its "
                     "stream is being captured into a CUDA graph");
  expectHas(failure, "HINT: run the same step once before the capture begins");

  callOp("rms_norm_forward", {x, weight, 1e-6});
  gpus.synchronizeStream(stream);
  const auto [none, graph] = captured();
  EXPECT_EQ(none, "no error");
  void *executable = nullptr;
  simtorch::call("cuGraphInstantiateWithFlags", &executable, graph, 0ull);
  for (const uint64_t seed : {2, 3}) {
    const Tensor next = noise({6, 40}, seed);
    simtorch::onHost(x).copy_(next);
    simtorch::call("cuGraphLaunch", executable, handle);
    gpus.synchronizeStream(stream);
    expectNear(kept[0].toTensor(),
               callOp("rms_norm", {next, at::ones(40)})[0].toTensor(), 1e-5,
               "replayed");
  }
  simtorch::call("cuGraphExecDestroy", executable);
  for (void *made : {nothing, graph})
    simtorch::call("cuGraphDestroy", made);
  gpus.exchangeStream(before);
}

// SIM_CUDA_FAIL makes `twice` fail, with CUDA_LAUNCH_BLOCKING or without
// (CMakeLists.txt).
TEST(CudaFaults, NameTheKernel) {
  const Twice twice;
  const Tensor x = at::ones(20).to(firstGpu), y = at::zeros(20).to(firstGpu);
  const auto failure = [&] { return failureOf([&] { twice.launch(x, y); }); };
  const std::string kernel = "`twice` (num_warps=";
  const std::string first = failure();
  if (std::getenv("CUDA_LAUNCH_BLOCKING")) {
    expectHas(first, "CUDA: running " + kernel);
  } else {
    EXPECT_EQ(first, "no error"); // it has not run yet
    simtorch::settle();
    const std::string next = failure();
    expectHas(next, "the kernel that failed is one of the last launches on "
                    "this GPU: " +
                        kernel);
    expectHas(next, "CUDA_LAUNCH_BLOCKING=1 waits for each launch");
  }
  const std::string text = failure();
  for (const char *part : {"CUDA_ERROR_ILLEGAL_ADDRESS", "num_warps=",
                           "twice.py)", "cannot use the GPU any more"})
    expectHas(text, part);
}

// Selected by TESSERA_DEVICE (CMakeLists.txt).
class ChosenDevice : public testing::Test {
protected:
  const char *const wanted = std::getenv("TESSERA_DEVICE");
  const std::string device = wanted ? wanted : "";
  Values arguments(c10::Device where) {
    return {noise({tokens, 48}, 5).to(where), noise({48}, 6).to(where)};
  }
};

TEST_F(ChosenDevice, TakesItsOwnTensors) {
  const auto failure = [&](c10::Device where) {
    return failureOf([&] { callOp("rms_norm", arguments(where)); });
  };
  if (device == "cuda") {
    EXPECT_EQ(failure(firstGpu), "no error");
    EXPECT_EQ(failure(secondGpu), "no error");
    expectHas(failure(c10::kCPU), "was given tensors on the CPU");
  } else {
    EXPECT_EQ(failure(c10::kCPU), "no error");
    expectHas(failure(firstGpu),
              "kernel rmsnorm_fwd was given a tensor on cuda:0, and the device "
              "sim:sm_80 takes the host's memory");
    expectHas(failure(firstGpu), "HINT: unset TESSERA_DEVICE, or move the "
                                 "tensors to the CPU with .cpu()");
  }
}
