// compiler/cuda/Nvrtc.h - NVIDIA's run-time compiler of CUDA C++, loaded by
// name.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tessera::compiler {

struct NvrtcOutput {
  bool ok = false;
  std::string log; // its diagnostics, "FILE(LINE): error: TEXT" and below
  std::string ptx;
  std::string cubin;  // empty if the library does not return one
  std::string symbol; // the kernel's name in the PTX
};

// Loads libnvrtc with dlopen at the first use. Searches, in order:
//   TESSERA_NVRTC (the library itself), the lib folders of CUDA_HOME, the
//   wheels under TESSERA_DEPS, the path of the linker.
class Nvrtc {
public:
  // Returns the loaded library. Throws Error if the library is missing (with
  // the searched paths), older than 11.2 (no cubin), or not loadable.
  static const Nvrtc &instance();

  const std::string &path() const { return file; }
  std::string version() const; // "13.0"

  // Compiles `text`. Locations in the log and the PTX refer to the path `name`.
  NvrtcOutput compile(const std::string &name, const std::string &text,
                      const std::string &kernel,
                      const std::vector<std::string> &options) const;

private:
  Nvrtc();

  struct Api;
  const Api *api = nullptr; // lives as long as the process
  std::string file;
  int major = 0, minor = 0;
};

} // namespace tessera::compiler
