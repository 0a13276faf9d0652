// support/File.cpp - whole-file reads, atomic writes, locks, folder checks.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/File.h"

#include "support/Error.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace tessera {

namespace fs = std::filesystem;

void UniqueFd::reset(int replacement) {
  if (fd >= 0)
    ::close(fd);
  fd = replacement;
}

std::string errnoText(int error) {
  return std::generic_category().message(error);
}

// errno of the failed call, or 0 with the contents in `bytes`.
static int readInto(const fs::path &path, std::string &bytes) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd)
    return errno;
  struct stat info;
  if (::fstat(fd.get(), &info) == 0 && S_ISREG(info.st_mode))
    bytes.reserve(size_t(info.st_size));
  char buffer[1 << 16];
  while (true) {
    ssize_t got = ::read(fd.get(), buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return errno;
    if (got == 0)
      return 0;
    bytes.append(buffer, size_t(got));
  }
}

std::string readFile(const fs::path &path) {
  std::string bytes;
  if (int error = readInto(path, bytes))
    throw Error("cannot read " + path.string() + ": " + errnoText(error),
                error == ENOENT ? "check the path; it is relative to " +
                                      fs::current_path().string()
                                : "check the permissions of the file");
  return bytes;
}

std::optional<std::string> tryReadFile(const fs::path &path) {
  std::string bytes;
  if (readInto(path, bytes))
    return std::nullopt;
  return bytes;
}

namespace {
// A write past the limit of file sizes (ulimit -f) raises SIGXFSZ, which ends
// the process by default. While an object of this lives the signal is held
// back in this thread, and the write fails with EFBIG instead.
class NoFileSizeSignal {
public:
  NoFileSizeSignal() {
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGXFSZ);
    blocked = ::pthread_sigmask(SIG_BLOCK, &wanted, &before) == 0;
  }
  ~NoFileSizeSignal() {
    if (!blocked)
      return;
    const int error = errno;
    const timespec now = {0, 0};
    if (!sigismember(&before, SIGXFSZ))
      ::sigtimedwait(&wanted, nullptr, &now);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = error;
  }
  NoFileSizeSignal(const NoFileSizeSignal &) = delete;

private:
  sigset_t wanted, before;
  bool blocked = false;
};
} // namespace

static bool writeAll(int fd, std::string_view bytes) {
  NoFileSizeSignal guard;
  while (!bytes.empty()) {
    ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      return false;
    bytes.remove_prefix(size_t(put));
  }
  return true;
}

void writeFile(const fs::path &path, std::string_view bytes) {
  static std::atomic<unsigned> counter{0};
  const fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const fs::path temporary =
      folder /
      ("." + path.filename().string() + "." + std::to_string(::getpid()) + "." +
       std::to_string(counter.fetch_add(1)) + ".tmp");
  auto fail = [&](const char *what, int error) {
    ::unlink(temporary.c_str());
    throw Error("cannot write " + path.string() + ": " + what + ": " +
                    errnoText(error),
                error == ENOSPC || error == EDQUOT
                    ? "free some space on that disk"
                    : "check that " + folder.string() +
                          " exists and is writable by you");
  };
  UniqueFd fd(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!fd)
    fail("open", errno);
  // A umask may take the owner's own rights away.
  struct stat info;
  if (::fstat(fd.get(), &info) == 0 && (info.st_mode & 0600) != 0600)
    ::fchmod(fd.get(), (info.st_mode & 0777) | 0600);
  if (!writeAll(fd.get(), bytes))
    fail("write", errno);
  if (::fsync(fd.get()) != 0)
    fail("fsync", errno);
  fd.reset();
  if (::rename(temporary.c_str(), path.c_str()) != 0)
    fail("rename", errno);
  // The new name should survive a power cut too; a file system that cannot
  // sync folders still has the contents whole.
  if (UniqueFd parent{
          ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)})
    ::fsync(parent.get());
}

void makePrivateFolder(const fs::path &path) {
  fs::path done;
  for (const fs::path &part : path) {
    done /= part;
    if (done.empty())
      continue;
    if (::mkdir(done.c_str(), 0700) == 0) {
      ::chmod(done.c_str(), 0700); // whatever the umask is
      continue;
    }
    if (errno == EEXIST)
      continue;
    // A parent that cannot be made again (read-only, no permission) may exist.
    std::error_code ignored;
    int error = errno;
    if (!fs::is_directory(done, ignored))
      throw Error("cannot create folder " + done.string() + ": " +
                      errnoText(error),
                  "choose a folder that you may write to");
  }
}

FolderCheck checkPrivateFolder(const fs::path &path) {
  const std::string name = path.string();
  struct stat info;
  std::error_code ignored;
  if (::stat(path.c_str(), &info) != 0 && fs::is_symlink(path, ignored))
    return {FolderState::Missing, name + " is a link to what does not exist",
            "create " + fs::read_symlink(path, ignored).string() +
                ", or remove the link"};
  if (::stat(path.c_str(), &info) != 0)
    return {FolderState::Missing, name + " does not exist",
            "run: mkdir -p " + name};
  if (!S_ISDIR(info.st_mode))
    return {FolderState::NotAFolder, name + " is not a folder",
            "move that file away"};
  if (info.st_uid != ::geteuid() && info.st_uid != 0)
    return {FolderState::WritableByOthers, name + " belongs to another user",
            "choose a folder of your own"};
  if (info.st_mode & (S_IWGRP | S_IWOTH))
    return {FolderState::WritableByOthers, name + " is writable by others",
            "run: chmod go-w " + name};
  if (::access(path.c_str(), W_OK | X_OK) != 0)
    return {FolderState::Unwritable, name + " is not writable",
            "run: chmod u+rwx " + name};
  return {};
}

void FileLock::unlock() {
  // Closing alone would leave the lock with a child that was forked while it
  // was held: both have the same open file.
  if (fd)
    ::flock(fd.get(), LOCK_UN);
  fd.reset();
}

FileLock::~FileLock() { unlock(); }

FileLock &FileLock::operator=(FileLock &&other) noexcept {
  if (this != &other) {
    unlock();
    fd = std::move(other.fd);
  }
  return *this;
}

// Whether the path still names the open file.
static bool isSameFile(int fd, const fs::path &path) {
  struct stat ours, theirs;
  return ::fstat(fd, &ours) == 0 && ::stat(path.c_str(), &theirs) == 0 &&
         ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

FileLock FileLock::acquire(const fs::path &path) {
  FileLock lock;
  // Once more when the file was removed between open and flock.
  for (int attempt = 0; attempt < 100; ++attempt) {
    UniqueFd fd(
        ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600));
    if (!fd)
      return lock;
    int result;
    do
      result = ::flock(fd.get(), LOCK_EX);
    while (result != 0 && errno == EINTR);
    if (result != 0)
      return lock;
    if (isSameFile(fd.get(), path)) {
      lock.fd = std::move(fd);
      return lock;
    }
  }
  return lock;
}

bool FileLock::removeUnused(const fs::path &path) {
  FileLock lock;
  lock.fd.reset(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  return lock.fd && ::flock(lock.fd.get(), LOCK_EX | LOCK_NB) == 0 &&
         isSameFile(lock.fd.get(), path) && ::unlink(path.c_str()) == 0;
}

} // namespace tessera
