// support/MappedFile.cpp - the bytes of a file as memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/MappedFile.h"

#include "support/Descriptors.h"
#include "support/Error.h"
#include "support/Trust.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace tessera {

static UniqueFd openForUse(const std::filesystem::path &path,
                           MappedFile::Use use) {
  if (use == MappedFile::Use::Execute) {
    TrustedFile file = openTrusted(path);
    if (file.distrust)
      throw Error("cannot use " + path.string() + ": " + file.distrust->reason,
                  file.distrust->hint);
    errno = file.error;
    return std::move(file.fd);
  }
  // O_NONBLOCK: opening a pipe must not block.
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

MappedFile::MappedFile(const std::filesystem::path &path, Use use) {
  const UniqueFd fd = openForUse(path, use);
  struct stat info = {};
  if (!fd || ::fstat(fd.get(), &info) != 0)
    throw Error("cannot read " + path.string() + ": " + errnoText(errno),
                hintForOpen(errno, "check the path"));
  if (!S_ISREG(info.st_mode))
    throw Error(path.string() + " is not a regular file", "check the path");
  if (info.st_size == 0)
    return; // nothing to map
  void *const memory = ::mmap(nullptr, size_t(info.st_size), PROT_READ,
                              MAP_PRIVATE, fd.get(), 0);
  if (memory == MAP_FAILED)
    throw Error("cannot map " + path.string() + ": " + errnoText(errno),
                "free some memory, or copy the file to a local disk");
  data = static_cast<const char *>(memory);
  size = size_t(info.st_size);
}

MappedFile::~MappedFile() {
  if (size)
    ::munmap(const_cast<char *>(data), size);
}

} // namespace tessera
