// support/File.cpp - reads files, writes them atomically, locks files and
// checks folders.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/File.h"

#include "support/Descriptors.h"
#include "support/Error.h"
#include "support/Sync.h"
#include "support/Trust.h"

#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <system_error>
#include <thread>
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

// Returns the hint for a write past the largest size of a file.
static std::string hintForSize() {
  rlimit limit = {};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  return limit.rlim_cur == RLIM_INFINITY
             ? "the file system does not take files of this size: write to "
               "another one"
             : "this process may write files of at most " +
                   std::to_string(limit.rlim_cur >> 10) +
                   " KiB: raise the limit with ulimit -f unlimited";
}

std::string hintForOpen(int error, const std::string &otherwise) {
  if (error == EFBIG)
    return hintForSize();
  if (error == ENFILE)
    return "the machine has no free file descriptors: end some programs";
  if (error != EMFILE)
    return otherwise;
  rlimit limit = {};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return "this process has no free file descriptors (its limit is " +
         std::to_string(limit.rlim_cur) +
         "): close some files, or raise the limit with ulimit -n 4096";
}

// Maximum number of bytes read from a device: /dev/zero is endless.
static constexpr size_t mostOfDevice = size_t(256) << 20;

int readToEnd(int fd, std::string &bytes) {
  struct stat info;
  const bool known = ::fstat(fd, &info) == 0;
  const bool device = known && S_ISCHR(info.st_mode);
  if (known && S_ISREG(info.st_mode))
    bytes.reserve(bytes.size() + size_t(info.st_size));
  char buffer[1 << 16];
  while (true) {
    ssize_t got = ::read(fd, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return errno;
    if (got == 0)
      return 0;
    bytes.append(buffer, size_t(got));
    if (device && bytes.size() > mostOfDevice)
      return EFBIG;
  }
}

// Reads a file into `bytes`. Returns errno of the failed call, EFBIG for too
// much data, or 0. `flags` are added to those of open(2).
static int readInto(const fs::path &path, std::string &bytes, int flags) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags));
  if (!fd)
    return errno;
  struct stat info;
  const bool regular = ::fstat(fd.get(), &info) == 0 && S_ISREG(info.st_mode);
  return !regular && flags & O_NONBLOCK ? EINVAL : readToEnd(fd.get(), bytes);
}

std::string readFile(const fs::path &path) {
  std::string bytes;
  if (int error = readInto(path, bytes, 0)) {
    if (error == EFBIG)
      throw Error("cannot read " + path.string() +
                      ": it has no end that comes before " +
                      std::to_string(mostOfDevice >> 20) + " MiB",
                  "name a file");
    std::string hint = hintForOpen(error, "check the permissions of the file");
    if (error == ENOENT)
      hint = "check the path; it is relative to " + fs::current_path().string();
    else if (error == EISDIR)
      hint = "name a file inside the folder";
    throw Error("cannot read " + path.string() + ": " + errnoText(error), hint);
  }
  return bytes;
}

std::optional<std::string> tryReadFile(const fs::path &path) {
  std::string bytes;
  // O_NONBLOCK: opening a pipe would otherwise wait for its writer.
  if (readInto(path, bytes, O_NONBLOCK))
    return std::nullopt;
  return bytes;
}

namespace {
// Blocks SIGXFSZ and SIGPIPE in this thread while an object lives. Both end the
// process by default: SIGXFSZ after a write past the file size limit (ulimit
// -f), SIGPIPE after a write to a pipe without a reader. The write fails with
// EFBIG or EPIPE instead.
class NoWriteSignals {
public:
  NoWriteSignals() {
    sigemptyset(&wanted);
    for (int signal : {SIGXFSZ, SIGPIPE}) {
      sigset_t pending;
      sigemptyset(&pending);
      ::sigpending(&pending);
      // A signal that was pending before belongs to the caller.
      if (!sigismember(&pending, signal))
        sigaddset(&wanted, signal);
    }
    blocked = ::pthread_sigmask(SIG_BLOCK, &wanted, &before) == 0;
  }
  ~NoWriteSignals() {
    if (!blocked)
      return;
    const int error = errno;
    const timespec now = {0, 0};
    while (::sigtimedwait(&wanted, nullptr, &now) > 0)
      ;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = error;
  }
  NoWriteSignals(const NoWriteSignals &) = delete;

private:
  sigset_t wanted, before;
  bool blocked = false;
};
} // namespace

bool writeAll(int fd, std::string_view &bytes) {
  NoWriteSignals guard;
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

int syncFolder(const fs::path &folder) {
  const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0)
    return errno == EINVAL || errno == ENOTSUP ? 0 : errno;
  return 0;
}

static std::string writeHint(int error, const fs::path &folder) {
  return error == ENOSPC || error == EDQUOT
             ? "free some space on that disk"
             : hintForOpen(error, "check that " + folder.string() +
                                      " exists and is writable by you");
}

// Returns a name for a temporary file that other users cannot predict.
static fs::path temporaryName(const fs::path &path, const fs::path &folder) {
  static std::atomic<unsigned> counter{0};
  uint64_t random = 0;
  if (::getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
    random = 0;
  return folder /
         ("." + path.filename().string() + "." + std::to_string(::getpid()) +
          "." + std::to_string(counter.fetch_add(1)) + "." +
          std::to_string(random) + ".tmp");
}

void writeFile(const fs::path &path, std::string_view bytes) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const fs::path temporary = temporaryName(path, folder);
  bool created = false;
  auto fail = [&](const char *what, int error) {
    if (created)
      ::unlink(temporary.c_str());
    throw Error("cannot write " + path.string() + ": " + what + ": " +
                    errnoText(error),
                writeHint(error, folder));
  };
  UniqueFd fd(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!fd)
    fail("open", errno);
  created = true;
  // The umask may remove the owner's permissions.
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
  // Makes the new name survive a power failure. If this fails, the contents are
  // still complete.
  syncFolder(folder);
}

// Returns the descriptor of this process that the path denotes. A redirection
// of the shell has a file position, which reopening would reset.
static std::optional<int> ownDescriptor(const fs::path &path) {
  if (path == "/dev/stdout")
    return STDOUT_FILENO;
  if (path == "/dev/stderr")
    return STDERR_FILENO;
  for (const char *folder : {"/dev/fd", "/proc/self/fd"})
    if (path.parent_path() == folder) {
      const std::string digits = path.filename().string();
      int number = -1;
      const auto [end, error] =
          std::from_chars(digits.data(), digits.data() + digits.size(), number);
      if (error == std::errc() && end == digits.data() + digits.size())
        return number;
    }
  return std::nullopt;
}

static void writeThrough(const fs::path &path, int fd, std::string_view bytes) {
  if (writeAll(fd, bytes))
    return;
  const int error = errno;
  throw Error("cannot write " + path.string() + ": " + errnoText(error),
              error == EPIPE ? "its reader ended before it had all"
                             : writeHint(error, path.parent_path()));
}

// Returns the path that writing through a dangling link creates.
static fs::path targetOfLink(fs::path path) {
  std::error_code none;
  for (int links = 0; fs::is_symlink(path, none); ++links) {
    if (links == 40)
      throw Error("cannot write " + path.string() +
                      ": its links lead in a "
                      "circle",
                  "remove the link");
    const fs::path next = fs::read_symlink(path, none);
    path = next.is_absolute() ? next : path.parent_path() / next;
  }
  return path;
}

void writeOutput(const fs::path &path, std::string_view bytes) {
  if (const auto own = ownDescriptor(path)) {
    std::fflush(nullptr); // keeps the order of outputs
    return writeThrough(path, *own, bytes);
  }
  struct stat info;
  if (::stat(path.c_str(), &info) != 0)
    return writeFile(targetOfLink(path), bytes);
  if (S_ISREG(info.st_mode))
    return writeFile(fs::canonical(path), bytes);
  if (S_ISDIR(info.st_mode) || S_ISBLK(info.st_mode) || S_ISSOCK(info.st_mode))
    throw Error("cannot write " + path.string() + ": it is a " +
                    (S_ISDIR(info.st_mode)   ? "folder"
                     : S_ISBLK(info.st_mode) ? "disk"
                                             : "socket"),
                "name a file, a pipe or a terminal");
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd)
    throw Error("cannot write " + path.string() + ": " + errnoText(errno),
                "check its permissions");
  writeThrough(path, fd.get(), bytes);
}

void makePrivateFolder(const fs::path &path) {
  fs::path done;
  for (const fs::path &part : path) {
    done /= part;
    if (done.empty())
      continue;
    if (::mkdir(done.c_str(), 0700) == 0) {
      ::chmod(done.c_str(), 0700); // independent of the umask
      continue;
    }
    if (errno == EEXIST)
      continue;
    // Creating a parent may fail although it exists (read-only file system,
    // missing permission).
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
  // Includes the folders above it.
  if (const auto distrust = findDistrust(path))
    return {FolderState::WritableByOthers, distrust->reason, distrust->hint};
  if (::access(path.c_str(), W_OK | X_OK) != 0)
    return {FolderState::Unwritable, name + " is not writable",
            "run: chmod u+rwx " + name};
  return {};
}

void FileLock::unlock() {
  // Unlocks explicitly: a child that was forked meanwhile shares the open file,
  // so closing alone would keep the lock.
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

// True if the path still names the open file.
static bool isSameFile(int fd, const fs::path &path) {
  struct stat ours, theirs;
  return ::fstat(fd, &ours) == 0 && ::stat(path.c_str(), &theirs) == 0 &&
         ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

template <typename Take>
std::optional<FileLock> FileLock::acquireBy(const fs::path &path, Take take) {
  FileLock lock;
  // Retries if the file was removed between open and flock.
  for (int attempt = 0; attempt < 100; ++attempt) {
    UniqueFd fd(
        ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600));
    if (!fd)
      return lock;
    if (take(fd.get()) != 0) {
      if (errno == EWOULDBLOCK)
        return std::nullopt;
      return lock;
    }
    if (isSameFile(fd.get(), path)) {
      lock.fd = std::move(fd);
      return lock;
    }
  }
  return lock;
}

FileLock FileLock::acquire(const fs::path &path) {
  return *acquireBy(path, [](int fd) {
    int result;
    do
      result = ::flock(fd, LOCK_EX);
    while (result != 0 && errno == EINTR);
    return result;
  });
}

std::optional<FileLock> FileLock::acquireWithin(std::chrono::milliseconds limit,
                                                const fs::path &path) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + limit;
  return acquireBy(path, [&](int fd) {
    int result;
    while ((result = ::flock(fd, LOCK_EX | LOCK_NB)) != 0 &&
           (errno == EINTR || errno == EWOULDBLOCK) && Clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return result;
  });
}

bool FileLock::removeUnused(const fs::path &path) {
  FileLock lock;
  lock.fd.reset(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  return lock.fd && ::flock(lock.fd.get(), LOCK_EX | LOCK_NB) == 0 &&
         isSameFile(lock.fd.get(), path) && ::unlink(path.c_str()) == 0;
}

} // namespace tessera
