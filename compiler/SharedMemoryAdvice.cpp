// compiler/SharedMemoryAdvice.cpp - hints for a kernel that needs too much
// shared memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/SharedMemoryAdvice.h"

#include "codegen/gpu/passes/PassList.h"
#include "compiler/CompileParts.h"
#include "language/Decorators.h"
#include "support/Error.h"

#include "mlir/Pass/PassManager.h"

#include <algorithm>
#include <optional>

namespace tessera::compiler {
namespace {

// Trying more configurations would delay the error message too long.
constexpr size_t mostConfigs = 24;

// Returns the bytes of shared memory; nullopt if the kernel does not compile or
// does not fit.
std::optional<uint64_t> fits(const language::Program &program,
                             const language::CompileRequest &request,
                             const codegen::gpu::GpuOptions &options) {
  try {
    const uint64_t bytes = sharedBytesOf(program, request, options);
    if (bytes <= options.target.sharedPerBlock)
      return bytes;
  } catch (const Error &) {
  }
  return std::nullopt;
}

bool isPowerOfTwo(int64_t value) {
  return value > 0 && (value & (value - 1)) == 0;
}

} // namespace

uint64_t sharedBytesOf(const language::Program &program,
                       const language::CompileRequest &request,
                       const codegen::gpu::GpuOptions &options) {
  const KernelModule module(program, request);
  const auto messages =
      runPasses(*module, false, [&](mlir::OpPassManager &passes) {
        addTilePasses(passes);
        codegen::gpu::addLayoutPasses(passes, options);
      });
  if (!messages.empty())
    throw Error(messages[0].text, "the kernel does not compile");
  auto bytes =
      module->getAttrOfType<mlir::IntegerAttr>(codegen::gpu::kSharedBytesAttr);
  return bytes ? uint64_t(bytes.getInt()) : 0;
}

std::string adviceForSharedMemory(const language::Program &program,
                                  const language::CompileRequest &request,
                                  const codegen::gpu::GpuOptions &options) {
  std::string advice;
  for (int stages = options.numStages - 1; stages >= 1; --stages) {
    codegen::gpu::GpuOptions fewer = options;
    fewer.numStages = stages;
    if (const auto bytes = fits(program, request, fewer)) {
      advice = "with num_stages=" + std::to_string(stages) + " it needs " +
               std::to_string(*bytes);
      break;
    }
  }
  const language::KernelInfo info =
      language::describeKernel(program, program.kernel(request.kernel));
  uint64_t most = 0;
  std::string best;
  for (size_t i = 0; i < std::min(info.configs.size(), mostConfigs); ++i) {
    const language::Value::Config &config = info.configs[i];
    language::CompileRequest other = request;
    codegen::gpu::GpuOptions how = options;
    how.numWarps = int(config.numWarps.value_or(4));
    how.numStages = int(config.numStages.value_or(3));
    if (!isPowerOfTwo(how.numWarps) || how.numWarps > 32 || how.numStages < 1)
      continue;
    std::string name;
    for (const auto &[parameter, value] : config.constexprs)
      for (language::Argument &argument : other.args)
        if (argument.name == parameter && argument.isConstexpr()) {
          argument.value = value;
          name += (name.empty() ? "" : ", ") + parameter + "=" + value.repr();
        }
    const auto bytes = fits(program, other, how);
    if (!bytes || *bytes < most)
      continue;
    most = *bytes;
    best = name + (name.empty() ? "" : ", ") +
           "num_warps=" + std::to_string(how.numWarps) +
           ", num_stages=" + std::to_string(how.numStages);
  }
  if (!best.empty())
    advice += (advice.empty() ? "of" : "; of") +
              std::string(" the decorator's configurations the largest that "
                          "fits is ") +
              best + " (" + std::to_string(most) + " bytes)";
  return advice.empty() ? "use smaller tiles or fewer stages" : advice;
}

} // namespace tessera::compiler
