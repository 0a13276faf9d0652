// tests/author/AheadOfTimeTest.cpp - the header and the JSON of a compiled
// kernel: programs in C and C++ that need nothing else.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/author/Author.h"
#include "tests/author/Matmul.h"

#include "support/CudaTools.h"
#include "support/Hash.h"
#include "support/Json.h"

using namespace tessera;

namespace {

// The second one's parameters are words of C++ and of the header itself.
const std::string kernels = R"(import triton
import triton.language as tl


# tessera: instance mm(A="*fp16:16", B="*fp16:16", C="*fp32:16", K="i32:16", BM=32, BN=32, BK=32)
# tessera: instance wide(A="*fp16:16", B="*fp16:16", C="*fp32:16", K="i32:16", BM=128, BN=128, BK=64)
)" + matmulKernel + R"(

# tessera: instance words_2(values="*fp32", stream="i64", new="fp32", gx="i1", short="bf16", BLOCK=32)
@triton.jit
def words(values, stream, new, gx, short, BLOCK: tl.constexpr):
    at = stream + tl.arange(0, BLOCK)
    tl.store(values + at, tl.where(gx, new, short.to(tl.float32)))
)";

const char *const program = R"(#include <cuda.h>

#include <stdio.h>

#include "mm.h"
#include "wide.h"
#include "words_2.h"

int main(int count, char **names) {
  CUmodule module;
  CUfunction function;
  FILE *image = count > 1 ? fopen(names[1], "wb") : 0;
  if (!image || fwrite(mm_IMAGE, 1, mm_IMAGE_BYTES, image) != mm_IMAGE_BYTES ||
      fclose(image))
    return 1;
  if (mm_load(&module) != CUDA_SUCCESS ||
      mm_function(module, &function) != CUDA_SUCCESS ||
      mm_launch(function, 2, 3, 4, 0, 100, 200, 300, -7) != CUDA_SUCCESS)
    return 2;
  if (words_2_load(&module) != CUDA_SUCCESS)
    return 3;
  // The driver does not know that kernel.
  if (words_2_function(module, &function) == CUDA_SUCCESS)
    return 4;
  if (wide_load(&module) != CUDA_SUCCESS ||
      wide_function(module, &function) != CUDA_SUCCESS)
    return 5;
  printf("%s %d %d\n", mm_TARGET, mm_THREADS, mm_PARAMETERS);
  return 0;
}
)";

using AheadOfTime = Author;

TEST_F(AheadOfTime, TheHeaderIsAllThatAProgramNeeds) {
  const std::string file = write("matmul.py", kernels);
  expectFine(run({"compile", file, "--target", "sm_80", "--emit",
                  findPtxas() ? "header,meta,cubin,ptx" : "header,meta,ptx",
                  "-o", path("out")}));
  write("out/main.c", program);
  write("out/main.cpp", program);
  // For those who launch it some other way.
  write("out/facts.c", "#include \"mm.h\"\nint main(void) { return "
                       "mm_THREADS == 128 ? 0 : 1; }\n");
  const std::string include = "-I" TESSERA_SOURCE "/tests/author/cuda",
                    library = path("out/libcuda.so");
  const auto built = [&](std::vector<std::string> command) {
    const CommandResult result = runCommand(command, std::chrono::seconds(120));
    expectFine(result);
    EXPECT_EQ(result.errors, "");
  };
  built({TESSERA_CC, "-shared", "-fPIC", "-o", library,
         TESSERA_SOURCE "/tests/author/cuda/driver.c"});
  const std::vector<std::string> strict = {"-Wall",    "-Wextra", "-Wpedantic",
                                           "-Wshadow", "-Werror", include};
  const auto strictly = [&](std::vector<std::string> command,
                            const std::vector<std::string> &more) {
    command.insert(command.end(), strict.begin(), strict.end());
    command.insert(command.end(), more.begin(), more.end());
    built(command);
  };
  strictly({TESSERA_CC, "-std=c99"},
           {path("out/facts.c"), "-o", path("out/facts")});
  strictly({TESSERA_CC, "-std=c99"},
           {path("out/main.c"), "-o", path("out/c"), library});
  strictly({TESSERA_CXX, "-std=c++11"},
           {path("out/main.cpp"), "-o", path("out/cpp"), library});
  expectFine(runCommand({path("out/facts")}, std::chrono::seconds(60)));

  const Json meta = parseJson(readFile(path("out/mm.json")), "mm.json"),
             wide = parseJson(readFile(path("out/wide.json")), "wide.json");
  // More than the 48 KiB that a launch may have unasked.
  ASSERT_GT(wide["shared_bytes"], 49152);
  const std::string kind = findPtxas() ? "cubin" : "PTX";
  const std::string expected =
      "load " + kind +
      "\nfunction matmul of 16\nlaunch 24: 2 3 4 x 128 1 1, 1, 100 200 300 -7\n"
      "load " +
      kind + "\nfunction words of 16\nload " + kind +
      "\nfunction matmul of 16\nattribute 8 of 24: " +
      wide["shared_bytes"].dump() + "\nsm_80 128 4\n";
  for (const char *name : {"out/c", "out/cpp"}) {
    const CommandResult result =
        runCommand({path(name), path("image")}, std::chrono::seconds(60));
    expectFine(result);
    EXPECT_EQ(result.output, expected);
    const std::string image = readFile(path("image"));
    if (findPtxas()) {
      EXPECT_EQ(image, readFile(path("out/mm.cubin")));
      EXPECT_EQ(meta["code_sha256"], sha256Hex(image));
    }
  }
  // The JSON has the same facts.
  EXPECT_EQ(meta["symbol"], "matmul");
  EXPECT_EQ(meta["target"], "sm_80");
  EXPECT_EQ(meta["threads"], 128);
  ASSERT_EQ(meta["parameters"].size(), 4u);
  EXPECT_EQ(meta["parameters"][3],
            Json({{"name", "K"}, {"kind", "scalar"}, {"type", "i32:16"}}));
  EXPECT_EQ(meta["arguments"][4],
            Json({{"name", "BM"}, {"type", "constexpr"}, {"value", "32"}}));
}

TEST_F(AheadOfTime, WithoutPtxasTheImageIsPtx) {
  const std::string file = write("matmul.py", kernels);
  expectFine(run({"compile", file, "-i", "mm", "--target", "sm_80", "--emit",
                  "header", "-o", path("out")},
                 {"TESSERA_PTXAS=none"}));
  const std::string text = readFile(path("out/mm.h"));
  expectHas(text, "// The PTX: there was no ptxas");
  write("out/main.c", "#include <stdio.h>\n#include \"mm.h\"\nint main(void) { "
                      "fputs((const char *)mm_IMAGE, stdout); return 0; }\n");
  expectFine(runCommand({TESSERA_CC, path("out/main.c"), "-o", path("out/c")},
                        std::chrono::seconds(60)));
  const CommandResult result =
      runCommand({path("out/c")}, std::chrono::seconds(60));
  expectFine(result);
  expectHas(result.output, ".visible .entry matmul(");
  // It ends with a zero where it should.
  expectHas(text, "#define mm_IMAGE_BYTES " +
                      std::to_string(result.output.size()) + "\n");
}

} // namespace
