// support/File.h - reads files, writes them atomically, locks files and checks
// folders.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace tessera {

// Owns a file descriptor and closes it.
class UniqueFd {
public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd(fd) {}
  UniqueFd(UniqueFd &&other) noexcept : fd(other.release()) {}
  UniqueFd &operator=(UniqueFd &&other) noexcept {
    if (this != &other)
      reset(other.release());
    return *this;
  }
  ~UniqueFd() { reset(); }

  int get() const { return fd; }
  explicit operator bool() const { return fd >= 0; }
  int release() {
    int result = fd;
    fd = -1;
    return result;
  }
  void reset(int replacement = -1);

private:
  int fd = -1;
};

// Returns the contents of a file. Throws Error if it cannot be read.
std::string readFile(const std::filesystem::path &path);
// Returns the contents of a regular file. Returns nullopt if it does not exist,
// cannot be read or is not a regular file: a search must not block on a pipe
// that it happens to find.
std::optional<std::string> tryReadFile(const std::filesystem::path &path);

// True if the path leads to a regular file.
inline bool isFile(const std::filesystem::path &path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

// Replaces a file atomically: writes a temporary file in the same folder, calls
// fsync and renames it. A reader sees either the old or the new contents.
// Throws Error and removes the temporary file on failure.
void writeFile(const std::filesystem::path &path, std::string_view bytes);

// Writes to the output path of a user. Follows a link and writes its target.
// Writes directly to pipes, terminals and similar devices. /dev/stdout and
// other descriptors of this process continue at their file position. Replaces
// regular files like writeFile(). Throws Error, also for a folder, a disk or a
// socket.
void writeOutput(const std::filesystem::path &path, std::string_view bytes);

// Creates the folder and its parents; new folders are private to the user.
void makePrivateFolder(const std::filesystem::path &path);

enum class FolderState {
  Good,
  Missing,
  NotAFolder,
  WritableByOthers, // another user could add files to it
  Unwritable,
};
struct FolderCheck {
  FolderState state = FolderState::Good;
  std::string reason; // "PATH is writable by others"
  std::string hint;   // "run: chmod go-w PATH"
};
// Checks whether native code may be stored in the folder.
FolderCheck checkPrivateFolder(const std::filesystem::path &path);

// An advisory lock on a file, which is created if missing. The destructor
// releases the lock, even if the process has forked. Excludes other processes
// and other objects of this process. The system releases the locks of a process
// that dies.
class FileLock {
public:
  FileLock() = default;
  FileLock(FileLock &&) = default;
  FileLock &operator=(FileLock &&other) noexcept;
  ~FileLock();

  // Waits for the lock. If the file or lock is unavailable, returns an unlocked
  // object: these locks avoid duplicate work and are not needed for
  // correctness.
  static FileLock acquire(const std::filesystem::path &path);
  // The same, but returns nullopt if another holds the lock for all of `limit`.
  static std::optional<FileLock>
  acquireWithin(std::chrono::milliseconds limit,
                const std::filesystem::path &path);
  bool locked() const { return bool(fd); }

  // Removes the file unless it is locked. Returns true if it was removed. Safe
  // while other processes call acquire(): a lock is only granted on the file
  // that the path still names.
  static bool removeUnused(const std::filesystem::path &path);

private:
  // Returns nullopt if `take(fd)` fails because another holds the lock.
  template <typename Take>
  static std::optional<FileLock> acquireBy(const std::filesystem::path &path,
                                           Take take);
  void unlock();

  UniqueFd fd;
};

// Returns the text of an errno. Thread-safe.
std::string errnoText(int error);

} // namespace tessera
