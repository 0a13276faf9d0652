// tests/unit/compiler/CudaTest.cpp - CUDA C++ through NVRTC: code, locations,
// errors.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/cuda/CompileCuda.h"
#include "compiler/cuda/Nvrtc.h"
#include "language/CudaSource.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Json.h"
#include "tests/unit/support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace tessera;
using language::CompileRequest;
using language::CompileResult;

namespace {

const char *const source = R"(// a comment with __global__ void fake(int)
template <class T> __device__ T twice(T x) { return x + x; }
extern "C" __global__ void __launch_bounds__(128)
    scale(const float *__restrict__ x, float *y, int n, float s,
          unsigned long long /* unused */ seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = twice(x[i]) * s * FACTOR;
}
__global__ void mangled(double *p) { *p = FACTOR; }
)";

// First in the file: once a library is loaded it stays.
TEST(CudaLibrary, MissingOrForeignIsAnErrorWithAHint) {
  auto message = [](const char *library) -> std::string {
    setenv("TESSERA_NVRTC", library, 1);
    try {
      compiler::Nvrtc::instance();
    } catch (const Error &error) {
      unsetenv("TESSERA_NVRTC");
      EXPECT_NE(error.hint.find("nvidia-cuda-nvrtc"), std::string::npos);
      return error.message;
    }
    unsetenv("TESSERA_NVRTC");
    return "";
  };
  EXPECT_NE(message("/nonexistent/libnvrtc.so").find("/nonexistent/"),
            std::string::npos);
  EXPECT_NE(message("libz.so.1").find("no NVRTC that can be used"),
            std::string::npos);
}

class Cuda : public testing::Test {
protected:
  void SetUp() override {
    writeFile(path(), source);
    try {
      compiler::Nvrtc::instance();
    } catch (const Error &error) {
      // `make test` installs NVRTC: without it nothing would have been tested.
      if (std::getenv("TEST_COMPLETE"))
        FAIL() << error.what();
      GTEST_SKIP() << error.what();
    }
  }
  std::string path() const { return (folder.path() / "scale.cu").string(); }
  CompileRequest request(const std::string &kernel = "scale") {
    return language::makeCudaRequest(path(), kernel, {{"FACTOR", "3.0f"}},
                                     "sm_80");
  }
  CompileResult compile(const CompileRequest &request) {
    CompileResult result;
    compiler::compileCuda(request, result);
    return result;
  }
  std::string failure(const CompileRequest &request) {
    try {
      compile(request);
    } catch (const Error &error) {
      return error.what();
    }
    return "compiled";
  }

  TemporaryFolder folder;
};

TEST_F(Cuda, GivesPtxCubinAndReport) {
  CompileResult result = compile(request());
  ASSERT_TRUE(result.ok);
  EXPECT_EQ(result.meta.symbol, "scale");
  EXPECT_EQ(result.meta.threads, 128u); // of __launch_bounds__
  EXPECT_EQ(result.meta.sharedBytes, 0u);
  EXPECT_EQ(result.artifact.substr(1, 3), "ELF");
  const std::string &ptx = result.stages["ptx"];
  EXPECT_NE(ptx.find(".visible .entry scale("), std::string::npos);
  EXPECT_NE(ptx.find(".target sm_80"), std::string::npos);
  EXPECT_NE(ptx.find(".file\t1 \"scale.cu\""), std::string::npos) << ptx;
  // 3.0f of -DFACTOR
  EXPECT_NE(ptx.find("0f40400000"), std::string::npos);
  Json report = parseJson(result.stages["report"], "report");
  EXPECT_EQ(report["most_threads"], "128, 1, 1");
  EXPECT_EQ(report["cubin_bytes"], result.artifact.size());
  EXPECT_GT(report["ptx_registers"]["f32"], 1);
  // The file's other kernel is in the PTX, too, and not in the report.
  report = parseJson(compile(request("mangled")).stages["report"], "report");
  EXPECT_FALSE(report["ptx_registers"].contains("f32")) << report;
  EXPECT_TRUE(report["most_threads"].is_null());
  ASSERT_EQ(result.meta.params.size(), 5u);
  const char *types[] = {"*fp32", "*fp32", "i32", "fp32", "u64"};
  const char *names[] = {"x", "y", "n", "s", "seed"};
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(result.meta.params[i].name, names[i]);
    EXPECT_EQ(result.meta.params[i].type, types[i]);
    EXPECT_EQ(result.meta.params[i].kind, i < 2 ? "pointer" : "scalar");
  }
}

TEST_F(Cuda, WithoutBoundsTheBlockIsOfNumWarps) {
  CompileRequest wanted = request("mangled");
  EXPECT_EQ(compile(wanted).meta.threads, 128u);
  wanted.options.numWarps = 2;
  EXPECT_EQ(compile(wanted).meta.threads, 64u);
}

TEST_F(Cuda, FindsMangledNames) {
  EXPECT_EQ(compile(request("mangled")).meta.symbol, "_Z7mangledPd");
}

TEST_F(Cuda, SameSourceSameBytesAnywhere) {
  CompileResult first = compile(request());
  TemporaryFolder other;
  writeFile(other.path() / "scale.cu", source);
  CompileRequest moved =
      language::makeCudaRequest((other.path() / "scale.cu").string(), "scale",
                                {{"FACTOR", "3.0f"}}, "sm_80");
  EXPECT_EQ(moved.key(), request().key());
  CompileResult second = compile(moved);
  EXPECT_EQ(first.stages["ptx"], second.stages["ptx"]);
  EXPECT_EQ(first.artifact, second.artifact);
}

TEST_F(Cuda, DefinesAndTargetsAreInTheKey) {
  auto key = [&](const char *value, const char *target) {
    return language::makeCudaRequest(path(), "scale", {{"FACTOR", value}},
                                     target)
        .key();
  };
  EXPECT_NE(key("3", "sm_80"), key("4", "sm_80"));
  EXPECT_NE(key("3", "sm_80"), key("3", "sm_90"));
}

TEST_F(Cuda, ErrorsHaveLocations) {
  CompileRequest bad = request();
  bad.args.pop_back(); // no FACTOR
  const std::string text = failure(bad);
  EXPECT_NE(text.find(path() + ":8:30: error: identifier \"FACTOR\" is "
                               "undefined"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("y[i] = twice(x[i]) * s * FACTOR;"), std::string::npos);
}

TEST_F(Cuda, WrongRequests) {
  EXPECT_NE(failure([&] {
              CompileRequest r = request();
              r.emit = {"tile"};
              return r;
            }())
                .find("no stage `tile`"),
            std::string::npos);
  CompileRequest old = request();
  old.target = "sm_10";
  EXPECT_NE(failure(old).find("NVRTC refuses the source"), std::string::npos);
  EXPECT_THROW(language::makeCudaRequest(path(), "scale", {}, "cpu:x:0"),
               Error);
  try {
    language::makeCudaRequest(path(), "scael", {}, "sm_80");
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.hint, "did you mean `scale`?");
  }
}

TEST(CudaSource, ReadsHeads) {
  auto kernels = language::findCudaKernels(source);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].name, "scale");
  EXPECT_EQ(kernels[0].line, 3u);
  EXPECT_EQ(kernels[1].parameters[0].type, "*fp64");
  kernels = language::findCudaKernels(
      "__global__ void a() {}\n__global__ void b(std::int64_t n, const "
      "unsigned char *__restrict__ p, __half *h, struct Odd *o, Odd v);");
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_TRUE(kernels[0].parameters.empty());
  const char *types[] = {"i64", "*u8", "*fp16", "*i8", ""};
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(kernels[1].parameters[i].type, types[i]) << i;
  EXPECT_TRUE(language::findCudaKernels("__global__").empty());
  EXPECT_TRUE(language::findCudaKernels("__global__ void broken").empty());
}

} // namespace
