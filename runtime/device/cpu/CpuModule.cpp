// runtime/device/cpu/CpuModule.cpp - a shared object loaded from memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/CpuModule.h"

#include "support/Descriptors.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Sync.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera::runtime {

namespace fs = std::filesystem;

// Returns a path that is unique in the process. The loader treats equal path
// names as the same library, and descriptor numbers repeat. So the path encodes
// a count in slashes and dots, which the kernel ignores. It also encodes the
// counter's address, because the process may contain another runtime with its
// own counter (libtessera_torch.so has one).
static std::string uniquePath(int fd) {
  static std::atomic<uint32_t> counter{0};
  std::string path = "/proc/self/fd/";
  const auto add = [&](uint64_t number, int bits) {
    for (; bits > 0; --bits, number >>= 1)
      path += number & 1 ? "./" : "/";
  };
  add(reinterpret_cast<uintptr_t>(&counter), 64);
  add(counter++, 32);
  return path + std::to_string(fd);
}

static void *loadFromMemory(std::string_view code, std::string &reason) {
  UniqueFd fd(::memfd_create("tessera-kernel", MFD_CLOEXEC));
  if (!fd || !writeAll(fd.get(), code)) {
    reason = "memfd: " + errnoText(errno);
    return nullptr;
  }
  void *handle = ::dlopen(uniquePath(fd.get()).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    reason = ::dlerror();
  return handle;
}

// Loads from a file, for systems that forbid executing memory files.
static void *loadFromFile(std::string_view code, std::string &reason) {
  std::error_code error;
  std::string path =
      (fs::temp_directory_path(error) / "tessera-kernel-XXXXXX").string();
  UniqueFd fd(::mkstemp(path.data()));
  if (!fd) {
    reason += "; " + path + ": " + errnoText(errno);
    return nullptr;
  }
  void *handle = nullptr;
  ::fchmod(fd.get(), 0700);
  if (writeAll(fd.get(), code)) {
    fd.reset();
    handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      reason += std::string("; ") + ::dlerror();
  } else {
    reason += "; " + path + ": " + errnoText(errno);
  }
  ::unlink(path.c_str());
  return handle;
}

// Returns the executable segment that contains the address.
static CodeRange segmentOf(const void *address) {
  struct Search {
    uintptr_t address;
    CodeRange found;
  } search{reinterpret_cast<uintptr_t>(address), {}};
  ::dl_iterate_phdr(
      [](dl_phdr_info *object, size_t, void *to) {
        auto &wanted = *static_cast<Search *>(to);
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const auto &segment = object->dlpi_phdr[i];
          const uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
          const CodeRange range{begin, begin + segment.p_memsz};
          if (segment.p_type != PT_LOAD || !range.holds(wanted.address))
            continue;
          wanted.found = range;
          return 1;
        }
        return 0;
      },
      &search);
  return search.found;
}

// Returns errno if two descriptors are not available, else 0. Loading takes
// two, and the loader does not report their lack.
static int descriptorError() {
  const UniqueFd first(::open("/", O_PATH | O_CLOEXEC));
  const UniqueFd second(::open("/", O_PATH | O_CLOEXEC));
  return first && second ? 0 : errno;
}

CpuModule::CpuModule(std::string_view code, const std::string &symbol) {
  std::string reason;
  handle = loadFromMemory(code, reason);
  if (!handle)
    handle = loadFromFile(code, reason);
  if (!handle)
    throw Error(
        "a compiled kernel cannot be loaded: " + reason,
        hintForOpen(
            descriptorError(),
            "if both memory files and " + fs::temp_directory_path().string() +
                " forbid execution, set TMPDIR to a folder that allows it"));
  function = reinterpret_cast<CpuEntry>(::dlsym(handle, symbol.c_str()));
  if (!function) {
    ::dlclose(handle);
    throw Error("a compiled kernel has no symbol " + symbol,
                "clear the cache: tessera cache clear");
  }
  range = segmentOf(reinterpret_cast<const void *>(function));
}

CpuModule::~CpuModule() { ::dlclose(handle); }

} // namespace tessera::runtime
