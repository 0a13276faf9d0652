// codegen/cpu/object/Link.cpp - the linker, in-process, and a look into ELF
// files.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/cpu/object/Link.h"

#include "support/Error.h"

#include "lld/Common/Driver.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

namespace tessera::codegen::cpu {
namespace {

// A file in memory with a path: the linker reads files only.
class MemoryFile {
public:
  explicit MemoryFile(const char *name) : fd(memfd_create(name, MFD_CLOEXEC)) {
    if (fd < 0)
      fail("create");
  }
  ~MemoryFile() { close(fd); }
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(fd); }

  void write(const std::string &bytes) {
    for (size_t done = 0; done < bytes.size();) {
      ssize_t n = ::write(fd, bytes.data() + done, bytes.size() - done);
      if (n < 0 && errno != EINTR)
        fail("write");
      done += n > 0 ? size_t(n) : 0;
    }
  }

private:
  [[noreturn]] static void fail(const char *what) {
    throw Error(std::string("cannot ") + what +
                    " a file in memory: " + std::strerror(errno),
                "free memory, or raise the limit on open files");
  }

  int fd;
};

// The linker replaces its output file by renaming, so that one needs a folder.
class TemporaryFolder {
public:
  TemporaryFolder() {
    const char *home = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : nullptr;
    llvm::SmallString<64> base(home ? home : "");
    if (!home)
      llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, base);
    llvm::sys::path::append(base, "tessera-link");
    if (auto error = llvm::sys::fs::createUniqueDirectory(base, folder))
      throw Error("cannot make a folder for the linker in " +
                      llvm::sys::path::parent_path(base).str() + ": " +
                      error.message(),
                  "set TMPDIR to a folder that can be written");
  }
  ~TemporaryFolder() { llvm::sys::fs::remove_directories(folder); }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  std::string file(const char *name) const {
    llvm::SmallString<64> path(folder);
    llvm::sys::path::append(path, name);
    return path.str().str();
  }

private:
  llvm::SmallString<64> folder;
};

template <typename Select, typename Symbols>
std::vector<std::string> collect(Symbols symbols, Select select) {
  std::vector<std::string> names;
  for (const llvm::object::ELFSymbolRef symbol : symbols) {
    auto flags = symbol.getFlags();
    auto name = symbol.getName();
    if (!flags || !name) {
      llvm::consumeError(flags.takeError());
      llvm::consumeError(name.takeError());
      continue;
    }
    if (!name->empty() && select(*flags))
      names.push_back(name->str());
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::unique_ptr<llvm::object::ObjectFile> open(const std::string &bytes) {
  llvm::MemoryBufferRef buffer(bytes, "kernel");
  auto file = llvm::object::ObjectFile::createELFObjectFile(buffer);
  if (!file)
    throw Error("not an ELF file: " + llvm::toString(file.takeError()),
                "compile the kernel again");
  return std::move(*file);
}

} // namespace

std::vector<std::string> undefinedSymbols(const std::string &bytes) {
  auto file = open(bytes);
  auto undefined = [](uint32_t flags) {
    return flags & llvm::object::BasicSymbolRef::SF_Undefined;
  };
  auto *elf = llvm::cast<llvm::object::ELFObjectFileBase>(file.get());
  auto names = collect(elf->symbols(), undefined);
  for (std::string &name : collect(elf->getDynamicSymbolIterators(), undefined))
    if (std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(std::move(name));
  return names;
}

std::vector<std::string> exportedSymbols(const std::string &bytes) {
  auto file = open(bytes);
  auto *elf = llvm::cast<llvm::object::ELFObjectFileBase>(file.get());
  return collect(elf->getDynamicSymbolIterators(), [](uint32_t flags) {
    using Symbol = llvm::object::BasicSymbolRef;
    return (flags & Symbol::SF_Global) && !(flags & Symbol::SF_Undefined);
  });
}

std::string linkSharedObject(const std::string &object,
                             const std::string &entry) {
  MemoryFile input("tessera-object");
  TemporaryFolder folder;
  input.write(object);
  std::string inputPath = input.path();
  std::string outputPath = folder.file("kernel.so");
  std::string keep = "--undefined=" + entry;
  // One thread and no build id: the bytes depend on the object alone.
  const char *arguments[] = {"ld.lld",
                             "-shared",
                             "-Bsymbolic",
                             "--no-undefined",
                             "--gc-sections",
                             "--hash-style=gnu",
                             "--build-id=none",
                             "--threads=1",
                             "--strip-debug",
                             "-znow",
                             keep.c_str(),
                             inputPath.c_str(),
                             "-o",
                             outputPath.c_str()};
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  lld::Result result =
      lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0)
    throw Error("internal error: the linker failed: " + messages,
                "this is a defect of tessera, not of the kernel; please report "
                "it with the kernel");
  auto linked = llvm::MemoryBuffer::getFile(outputPath);
  if (!linked)
    throw Error("cannot read what the linker wrote: " +
                    linked.getError().message(),
                "free space in /dev/shm or TMPDIR");
  return (*linked)->getBuffer().str();
}

} // namespace tessera::codegen::cpu
