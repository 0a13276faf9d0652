// trainer/data/RandomFile.cpp - pread until all is there.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/RandomFile.h"

#include "support/Error.h"

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera::trainer {

RandomFile::RandomFile(const std::string &path)
    // Without O_NONBLOCK, opening a pipe would block until a writer opens it.
    : name(path), fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  struct stat status = {};
  if (!fd || ::fstat(fd.get(), &status) != 0)
    throw Error(fmt::format("cannot read {}: {}", path, errnoText(errno)),
                "check that the file is there and readable");
  if (!S_ISREG(status.st_mode))
    throw Error(fmt::format("cannot read {}: it is not a regular file", path),
                "name a file, not a pipe or a device");
  bytes = int64_t(status.st_size);
}

void RandomFile::read(int64_t offset, int64_t count, void *out) const {
  char *to = static_cast<char *>(out);
  while (count > 0) {
    const ssize_t n = ::pread(fd.get(), to, size_t(count), off_t(offset));
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      throw Error(fmt::format("cannot read {}: {}", name, errnoText(errno)),
                  "check the disk that the file is on");
    if (n == 0)
      throw Error(fmt::format("{} ends before byte {}; it had {} bytes when it "
                              "was opened",
                              name, offset + count, bytes),
                  "something has changed the file; put it back and go on");
    to += n;
    offset += n;
    count -= n;
  }
}

std::string RandomFile::read(int64_t offset, int64_t count) const {
  std::string text(size_t(count), '\0');
  read(offset, count, text.data());
  return text;
}

} // namespace tessera::trainer
