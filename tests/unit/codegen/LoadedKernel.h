// tests/unit/codegen/LoadedKernel.h - a shared object, loaded and run.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gtest/gtest.h"

#include <cstdint>
#include <dlfcn.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace tessera {

// Keeps the file and the library open for as long as it lives.
class LoadedKernel {
public:
  explicit LoadedKernel(const std::string &bytes)
      : fd(memfd_create("kernel", 0)) {
    EXPECT_EQ(write(fd, bytes.data(), bytes.size()), ssize_t(bytes.size()));
    std::string path = "/proc/self/fd/" + std::to_string(fd);
    library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_TRUE(library) << dlerror();
    if (library)
      entry = reinterpret_cast<Entry>(dlsym(library, "tessera_entry"));
    EXPECT_TRUE(entry);
  }
  LoadedKernel(LoadedKernel &&other) noexcept
      : fd(std::exchange(other.fd, -1)),
        library(std::exchange(other.library, nullptr)), entry(other.entry) {}
  LoadedKernel(const LoadedKernel &) = delete;
  LoadedKernel &operator=(const LoadedKernel &) = delete;
  ~LoadedKernel() {
    if (library)
      dlclose(library);
    if (fd >= 0)
      close(fd);
  }

  // One program of a grid of one.
  void run(const void *args, void *scratch = nullptr) const {
    const uint32_t pid[3] = {0, 0, 0}, grid[3] = {1, 1, 1};
    entry(args, pid, grid, scratch);
  }

  void call(const void *args, const uint32_t *pid, const uint32_t *grid,
            void *scratch) const {
    entry(args, pid, grid, scratch);
  }

private:
  using Entry = void (*)(const void *, const uint32_t *, const uint32_t *,
                         void *);
  int fd;
  void *library = nullptr;
  Entry entry = nullptr;
};

} // namespace tessera
