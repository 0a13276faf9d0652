// codegen/cpu/object/Link.cpp - runs the linker in this process and reads
// symbols of ELF files.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/cpu/object/Link.h"

#include "support/Error.h"
#include "support/MemoryFile.h"
#include "support/ScratchFolder.h"

#include "lld/Common/Driver.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

namespace tessera::codegen::cpu {
namespace {

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
  // The linker replaces its output file by renaming, so it needs a folder.
  const ScratchFolder folder("link",
                             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "");
  input.write(object);
  std::string inputPath = input.path();
  std::string outputPath = (folder.path() / "kernel.so").string();
  std::string keep = "--undefined=" + entry;
  // One thread and no build id: the output depends on the object alone.
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
