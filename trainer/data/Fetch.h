// trainer/data/Fetch.h - downloads the files of a list.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace tessera::trainer {

struct FetchOptions {
  /// A text file: "ADDRESS [SHA256]" or, as sha256sum prints, "SHA256  ADDRESS"
  /// a line; empty lines and those that begin with # are passed over.
  std::string list;
  std::string out; ///< Folder; a file gets the last part of its address.
  std::string
      mirror; ///< What addresses that are no URL and no path begin with.
  uint64_t largest = uint64_t(64) << 30; ///< Bytes that a file may have.
  bool http = false; ///< http:// addresses are fetched, too: without
                     ///< encryption, so that a network can change the file.
};

struct Fetched {
  int64_t files = 0;     ///< In the list.
  int64_t there = 0;     ///< Of them: were there before.
  int64_t unchecked = 0; ///< Of them: have no checksum in the list.
  int64_t bytes = 0;     ///< Of those that came.
};

/// Brings the files of the list, one after another, to "NAME.part", which a
/// later call continues, and to NAME once its SHA-256 is that of the list.
/// The program curl downloads https addresses, and http if the options say so;
/// an https server cannot redirect to http. file:// and paths are copied.
/// `say` gets a line for each file. One call at a time works in a folder.
/// Throws tessera::Error, with the list's line, for an address that cannot be
/// read, a file that is too large, another checksum, a file that is there with
/// another one, and SIGINT or SIGTERM while curl runs; what came stays.
Fetched fetchData(const FetchOptions &options,
                  const std::function<void(const std::string &)> &say);

} // namespace tessera::trainer
