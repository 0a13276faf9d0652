// language/CudaSource.h - the kernels of a CUDA C++ file, by their heads.
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

// Every `__global__` function of the text, in order. Only heads are read, and
// only those that a plain kernel has: no templates, no default arguments, types
// of the language, of <cstdint>, __half and __nv_bfloat16. The text itself is
// judged by NVRTC.
std::vector<CudaKernel> findCudaKernels(std::string_view text);

// Whether a path names a CUDA C++ source: it ends in .cu.
bool isCudaSource(std::string_view path);

// The request for one kernel of a source. `defines` become -DNAME=value and
// part of the key; `target` is sm_80 and the like. Throws Error for a source
// without such a kernel and for a bad target.
CompileRequest
makeCudaRequest(const std::string &path, const std::string &text,
                const std::string &kernel,
                const std::vector<std::pair<std::string, std::string>> &defines,
                const std::string &target);
// The same of a file.
CompileRequest
makeCudaRequest(const std::string &path, const std::string &kernel,
                const std::vector<std::pair<std::string, std::string>> &defines,
                const std::string &target);

} // namespace tessera::language
