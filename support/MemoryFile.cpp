// support/MemoryFile.cpp - a file in memory for tools that read and write
// files.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/MemoryFile.h"

#include "support/Descriptors.h"
#include "support/Error.h"
#include "support/Sync.h"

#include <cerrno>
#include <sys/mman.h>
#include <unistd.h>

namespace tessera {

MemoryFile::MemoryFile(const char *name)
    : fd(::memfd_create(name, MFD_CLOEXEC)) {
  if (!fd)
    throw Error("cannot make a file in memory: " + errnoText(errno),
                hintForOpen(errno, "free some memory"));
}

void MemoryFile::write(std::string_view bytes) {
  if (!writeAll(fd.get(), bytes))
    throw Error("cannot write a file in memory: " + errnoText(errno),
                hintForOpen(errno, "free some memory"));
}

std::string MemoryFile::read() const {
  std::string bytes;
  char buffer[1 << 16];
  for (off_t at = 0;;) {
    const ssize_t got = ::pread(fd.get(), buffer, sizeof(buffer), at);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return bytes;
    bytes.append(buffer, size_t(got));
    at += got;
  }
}

} // namespace tessera
