// support/File.h - whole-file reads, atomic writes, locks, folder checks.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace tessera {

// A file descriptor that closes itself.
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

// Throws Error when the file cannot be read.
std::string readFile(const std::filesystem::path &path);
// None when there is no such file, it cannot be read, or it is no regular file:
// nobody named a pipe that is found by looking for a file.
std::optional<std::string> tryReadFile(const std::filesystem::path &path);

// Whether it is a regular file that can be reached.
inline bool isFile(const std::filesystem::path &path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

// Writes a temporary in the same folder, fsyncs, renames: a reader sees the
// old contents or the new, whole. Throws Error and leaves no temporary behind
// when something fails.
void writeFile(const std::filesystem::path &path, std::string_view bytes);

// What a user names as the place of a result. A link stays and its target is
// written; a pipe, a terminal and another device are written to as they are;
// /dev/stdout and other descriptors of this process go on where they stand.
// Regular files as by writeFile(). Throws Error, also for a folder, a disk and
// a socket.
void writeOutput(const std::filesystem::path &path, std::string_view bytes);

// Creates the folder and its parents; new folders are private to the user.
void makePrivateFolder(const std::filesystem::path &path);

enum class FolderState {
  Good,
  Missing,
  NotAFolder,
  WritableByOthers, // another user could plant files in it
  Unwritable,
};
struct FolderCheck {
  FolderState state = FolderState::Good;
  std::string reason; // "PATH is writable by others"
  std::string hint;   // "run: chmod go-w PATH"
};
// Whether native code may be kept in the folder.
FolderCheck checkPrivateFolder(const std::filesystem::path &path);

// An advisory lock on a file (created when missing), released at the end of
// its life, also in a process that has forked meanwhile. Works between
// processes and between objects of one process; a process that dies gives up
// its locks.
class FileLock {
public:
  FileLock() = default;
  FileLock(FileLock &&) = default;
  FileLock &operator=(FileLock &&other) noexcept;
  ~FileLock();

  // Waits for the lock. Where locks or the file cannot be had, the result is
  // unlocked: locks here save work, they do not guard correctness.
  static FileLock acquire(const std::filesystem::path &path);
  bool locked() const { return bool(fd); }

  // Removes the file unless somebody holds the lock; whether it is gone. Safe
  // beside acquire(): who gets a lock gets it on the file that is there.
  static bool removeUnused(const std::filesystem::path &path);

private:
  void unlock();

  UniqueFd fd;
};

// Text of errno, thread-safe.
std::string errnoText(int error);

} // namespace tessera
