// language/CudaSource.h - finds the kernels of a CUDA C++ file.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Request.h"

#include <string>
#include <string_view>
#include <vector>

namespace tessera::language {

// A run-time parameter. `type` is its argument class ("*fp32", "i32"), or "" if
// the C++ type has no class.
struct CudaParameter {
  std::string name;
  std::string type;
};

struct CudaKernel {
  std::string name;
  std::vector<CudaParameter> parameters;
  uint32_t line = 0;
};

// Returns every `__global__` function of the text, in order. It parses only
// declarators of plain kernels: without templates and default arguments, with
// types of the language, of <cstdint>, __half and __nv_bfloat16. NVRTC checks
// the rest of the text.
std::vector<CudaKernel> findCudaKernels(std::string_view text);

// True if a path names a CUDA C++ source: it ends in .cu.
bool isCudaSource(std::string_view path);

// Returns the request for one kernel of a source. `defines` become -DNAME=value
// and part of the key; `target` is sm_80 and the like. Throws Error for a
// source without such a kernel and for a bad target.
CompileRequest
makeCudaRequest(const std::string &path, const std::string &text,
                const std::string &kernel,
                const std::vector<std::pair<std::string, std::string>> &defines,
                const std::string &target);
// Returns the same request for a source file on disk.
CompileRequest
makeCudaRequest(const std::string &path, const std::string &kernel,
                const std::vector<std::pair<std::string, std::string>> &defines,
                const std::string &target);

} // namespace tessera::language
