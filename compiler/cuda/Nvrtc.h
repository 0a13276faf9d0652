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
  std::string cubin;  // empty where the library gives none
  std::string symbol; // the kernel's name in the PTX
};

// libnvrtc is not linked: it is looked for at the first use in
//   TESSERA_NVRTC (the library itself), the lib folders of CUDA_HOME, the
//   wheels under TESSERA_DEPS, the path of the linker.
class Nvrtc {
public:
  // Throws Error when the library is missing (with the places that were tried),
  // older than 11.2 (no cubin), or not loadable.
  static const Nvrtc &instance();

  const std::string &path() const { return file; }
  std::string version() const; // "13.0"

  // `name` is the path that places in the log and the PTX refer to.
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
