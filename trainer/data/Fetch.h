// trainer/data/Fetch.h - downloads the files of a list, for `tessera data
// fetch`.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace tessera::trainer {

/// The options of fetchData().
struct FetchOptions {
  /// Path of a text file with one entry a line: "ADDRESS [SHA256]", or "SHA256
  /// ADDRESS" as sha256sum prints it. Empty lines and lines that begin with #
  /// are ignored.
  std::string list;
  /// Folder for the files. The last component of an address names the file.
  std::string out;
  /// Prefix of addresses that are neither URLs nor absolute paths.
  std::string mirror;
  uint64_t largest = uint64_t(64) << 30; ///< Maximum size of a file in bytes.
  bool http = false; ///< Allows http:// addresses. Without encryption, the
                     ///< network can change the file.
};

/// The result of fetchData().
struct Fetched {
  int64_t files = 0;     ///< Files in the list.
  int64_t there = 0;     ///< Files that existed before the call.
  int64_t unchecked = 0; ///< Files without a checksum in the list.
  int64_t bytes = 0;     ///< Size of the files that the call fetched.
};

/// Fetches the files of the list, one after another. Each is written to
/// "NAME.part", where a later call resumes it, and renamed to NAME if its
/// SHA-256 matches the list. The program curl downloads https addresses, and
/// http if the options allow it; an https server cannot redirect to http. Files
/// of file:// addresses and paths are copied. Calls `say` with a line for each
/// file. A lock allows one call at a time in a folder. Throws tessera::Error,
/// with the line of the list, if an address cannot be read, a file is too
/// large, a checksum differs, or a file exists with another checksum. SIGINT
/// and SIGTERM cancel a download with an Error, too. Partial files remain,
/// except those with a wrong checksum or size.
Fetched fetchData(const FetchOptions &options,
                  const std::function<void(const std::string &)> &say);

} // namespace tessera::trainer
