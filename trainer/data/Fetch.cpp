// trainer/data/Fetch.cpp - resumable downloads with curl, and copies of local
// files.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/Fetch.h"

#include "support/Error.h"
#include "support/File.h"
#include "support/Hash.h"
#include "support/Process.h"
#include "support/Quantities.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <sstream>
#include <sys/file.h>
#include <unistd.h>
#include <vector>

namespace tessera::trainer {
namespace {

namespace fs = std::filesystem;

constexpr size_t copiedAtOnce = 1 << 20;

volatile std::sig_atomic_t fetchInterrupted = 0;

/// While an object of this class exists, SIGINT and SIGTERM set
/// fetchInterrupted and do not end this process. curl does not receive the
/// terminal's signals, because it runs in a separate process group.
class InterruptsNoted {
public:
  InterruptsNoted() {
    fetchInterrupted = 0;
    struct sigaction noted = {};
    noted.sa_handler = [](int) { fetchInterrupted = 1; };
    sigaction(SIGINT, &noted, &interrupt);
    sigaction(SIGTERM, &noted, &terminate);
  }
  ~InterruptsNoted() {
    sigaction(SIGINT, &interrupt, nullptr);
    sigaction(SIGTERM, &terminate, nullptr);
  }

private:
  struct sigaction interrupt = {}, terminate = {};
};

struct ListEntry {
  std::string address, name, sum;
  std::string place; ///< "LIST:LINE"
};

bool isSum(const std::string &text) {
  return text.size() == 64 &&
         text.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
}

/// Returns the last path component of an address, without query and fragment.
std::string nameOf(const std::string &address) {
  const std::string path = address.substr(0, address.find_first_of("?#"));
  return path.substr(path.rfind('/') + 1);
}

bool isLocal(const std::string &address) {
  return address.starts_with('/') || address.starts_with("file://");
}

/// Throws Error unless the protocol of the address is supported and allowed.
void checkProtocol(const ListEntry &entry, const FetchOptions &options) {
  const size_t end = entry.address.find("://");
  std::string protocol = entry.address.substr(0, std::min(end, size_t(16)));
  std::ranges::transform(protocol, protocol.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? c + 32 : c;
  });
  if (isLocal(entry.address) || protocol == "https" ||
      (protocol == "http" && options.http))
    return;
  throw Error(
      fmt::format("{}: {} is not an https address", entry.place, entry.address),
      protocol == "http"
          ? "use https, which shows that the server is the one that is "
            "named; --allow-http fetches without it"
          : "addresses are https://, file:// or paths");
}

ListEntry entryOf(const std::string &line, const std::string &place,
                  const FetchOptions &options) {
  const auto refuse = [&](const std::string &what) {
    throw Error(place + ": " + what,
                "a line is ADDRESS, ADDRESS SHA256 or SHA256 ADDRESS");
  };
  std::istringstream words(line);
  std::vector<std::string> fields;
  for (std::string word; words >> word;)
    fields.push_back(word);
  if (fields.size() == 2 && isSum(fields[0]))
    std::swap(fields[0], fields[1]);
  if (fields.size() > 2 || (fields.size() == 2 && !isSum(fields[1])))
    refuse("`" + line + "` is not an address with a SHA-256 of 64 digits");
  ListEntry entry{fields[0], "", fields.size() > 1 ? fields[1] : "", place};
  std::ranges::transform(entry.sum, entry.sum.begin(), [](char c) {
    return c >= 'A' && c <= 'F' ? c + 32 : c;
  });
  // sha256sum marks binary files with a star.
  if (entry.address.starts_with('*'))
    entry.address.erase(0, 1);
  entry.name = nameOf(entry.address);
  if (entry.name.empty() || entry.name == "." || entry.name == "..")
    refuse("`" + entry.address + "` ends with no name of a file");
  if (entry.name.starts_with('.'))
    refuse("`" + entry.address + "` names a hidden file");
  const bool whole = entry.address.find("://") != std::string::npos ||
                     entry.address.starts_with('/');
  std::error_code ignored;
  const std::string mirror = !whole && fs::is_directory(options.mirror, ignored)
                                 ? fs::absolute(options.mirror).string()
                                 : options.mirror;
  if (!whole && mirror.empty())
    throw Error(place + ": `" + entry.address + "` is neither a URL nor a path",
                "--mirror URL says what such addresses begin with");
  if (!whole)
    entry.address = mirror + (mirror.ends_with('/') ? "" : "/") + entry.address;
  checkProtocol(entry, options);
  return entry;
}

std::vector<ListEntry> readList(const FetchOptions &options) {
  std::istringstream lines(readFile(options.list));
  std::vector<ListEntry> all;
  std::map<std::string, std::string> places;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos || line[first] == '#')
      continue;
    all.push_back(
        entryOf(line, fmt::format("{}:{}", options.list, number), options));
    const auto [before, added] =
        places.emplace(all.back().name, all.back().place);
    if (!added)
      throw Error(fmt::format("{}: {} comes from {}, too", all.back().place,
                              all.back().name, before->second),
                  "put files of one name in two lists, for two folders");
  }
  if (all.empty())
    throw Error(options.list + " has no addresses", "put one in each line");
  return all;
}

std::string sumOfFile(const fs::path &file) {
  std::ifstream in(file, std::ios::binary);
  Sha256 sum;
  std::string piece(copiedAtOnce, '\0');
  while (in.read(piece.data(), std::streamsize(piece.size())) || in.gcount())
    sum.update({piece.data(), size_t(in.gcount())});
  if (in.bad() || !in.eof())
    throw Error("cannot read " + file.string() + ": " + errnoText(errno),
                "look at the disk");
  return toHex(sum.finish());
}

int64_t sizeOf(const fs::path &file) {
  std::error_code none;
  const auto size = fs::file_size(file, none);
  return none ? 0 : int64_t(size);
}

[[noreturn]] void refuseLarge(const ListEntry &entry, uint64_t largest) {
  throw Error(fmt::format("{}: {} has more than {}", entry.place, entry.address,
                          bytesText(largest)),
              "--max-size sets the most bytes of a file");
}

/// Appends to `part` the bytes of `source` after the size of `part`. Returns
/// false if `part` is longer than `source`.
bool copyRest(const ListEntry &entry, const std::string &source,
              const fs::path &part, uint64_t largest) {
  std::error_code none;
  if (fs::exists(source, none) && !fs::is_regular_file(source, none))
    throw Error(entry.place + ": " + source + " is not a regular file",
                "correct the address in the list, or the mirror");
  if (uint64_t(sizeOf(source)) > largest)
    refuseLarge(entry, largest);
  std::ifstream in(source, std::ios::binary);
  if (!in)
    throw Error(entry.place + ": cannot read " + source + ": " +
                    errnoText(errno),
                "mend the address in the list, or the mirror");
  const int64_t have = sizeOf(part);
  if (have > sizeOf(source))
    return false;
  in.seekg(have);
  std::ofstream out(part, std::ios::binary | std::ios::app);
  std::string piece(copiedAtOnce, '\0');
  while (out &&
         (in.read(piece.data(), std::streamsize(piece.size())) || in.gcount()))
    out.write(piece.data(), in.gcount());
  out.close();
  if (!out)
    throw Error(entry.place + ": cannot write " + part.string() + ": " +
                    errnoText(errno),
                "free space on the disk; the same command continues");
  return true;
}

std::string findCurl() {
  std::istringstream folders(std::getenv("PATH") ? std::getenv("PATH") : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const fs::path curl = fs::path(folder) / "curl";
        ::access(curl.c_str(), X_OK) == 0)
      return curl.string();
  throw Error("the program curl is not on PATH, and downloads go by it",
              "apt-get install curl; file:// and paths need none");
}

/// Returns curl's command line. It ignores .curlrc, which could change any
/// option.
std::vector<std::string> curlArguments(const ListEntry &entry,
                                       const fs::path &part,
                                       const FetchOptions &options) {
  // A redirection of an https address must lead to https, too.
  const bool encrypted = entry.address[4] == 's' || entry.address[4] == 'S';
  const char *protocols = encrypted ? "=https" : "=http,https";
  return {findCurl(),
          "--disable", // curl requires this option first
          "--proto",
          protocols,
          "--proto-redir",
          protocols,
          "--max-filesize",
          std::to_string(options.largest),
          "--fail",
          "--location",
          "--max-redirs",
          "10",
          "--globoff",
          "--silent",
          "--show-error",
          "--retry",
          "3",
          "--connect-timeout",
          "30",
          "--speed-limit",
          "1",
          "--speed-time",
          "60",
          "--continue-at",
          "-",
          "--output",
          part.string(),
          "--",
          entry.address};
}

/// Downloads the rest of a file to `part`. Returns false if the server cannot
/// resume at the end of `part`. curl inherits the folder's lock, so that the
/// lock is held while curl writes even if this process is killed.
bool download(const ListEntry &entry, const fs::path &part,
              const FetchOptions &options, int lock) {
  constexpr int httpError = 22, noRange = 33, badResume = 36, tooLarge = 63;
  SpawnOptions spawn;
  spawn.arguments = curlArguments(entry, part, options);
  spawn.descriptors = {{3, lock}};
  const bool resumed = sizeOf(part) > 0;
  Process curl = Process::spawn(spawn);
  std::optional<ExitStatus> status;
  while (!status && !fetchInterrupted) {
    status = curl.wait(std::chrono::milliseconds(200));
    // curl knows the size in advance only if the server reports it.
    if (uint64_t(sizeOf(part)) > options.largest) {
      curl.killGroup();
      fs::remove(part);
      refuseLarge(entry, options.largest);
    }
  }
  if (!status) {
    curl.killGroup();
    throw Error("interrupted at " + entry.name,
                "the same command continues where it stopped");
  }
  if (status->ok())
    return true;
  if (status->code == tooLarge)
    refuseLarge(entry, options.largest);
  if (resumed && (status->code == httpError || status->code == noRange ||
                  status->code == badResume))
    return false;
  throw Error(
      fmt::format("{}: {} did not come: curl ended with {}", entry.place,
                  entry.address, status->text()),
      "curl says above why; the same command continues where it stopped");
}

void syncPath(const fs::path &path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || ::fsync(file.get()) != 0)
    throw Error("cannot sync " + path.string() + ": " + errnoText(errno),
                "look at the disk");
}

/// Completes `part`, which may contain the start of the file, and checks the
/// SHA-256. Throws Error if the checksum is wrong.
void bring(const ListEntry &entry, const fs::path &part,
           const FetchOptions &options, int lock) {
  const bool local = isLocal(entry.address);
  const std::string path = entry.address.starts_with("file://")
                               ? entry.address.substr(7)
                               : entry.address;
  for (;;) {
    const bool resumed = sizeOf(part) > 0;
    const bool came = local ? copyRest(entry, path, part, options.largest)
                            : download(entry, part, options, lock);
    const std::string sum = came ? sumOfFile(part) : "";
    if (came && (entry.sum.empty() || sum == entry.sum))
      return;
    fs::remove(part);
    // The existing start may belong to another file, so the loop fetches the
    // file once more from its first byte.
    if (!resumed)
      throw Error(fmt::format("{}: {} has the SHA-256 {}, the list says {}",
                              entry.place, entry.address, sum, entry.sum),
                  "the list or the server is wrong: nothing of it was kept");
  }
}

/// Fetches one file. Returns true if it already exists.
bool fetchOne(const ListEntry &entry, const FetchOptions &options, int lock) {
  const fs::path out = options.out;
  const fs::path target = out / entry.name, part = target.string() + ".part";
  if (fs::exists(target)) {
    if (!entry.sum.empty() && sumOfFile(target) != entry.sum)
      throw Error(fmt::format("{}: {} is there with another SHA-256",
                              entry.place, target.string()),
                  "move it away to fetch it anew, or mend the list");
    return true;
  }
  bring(entry, part, options, lock);
  syncPath(part);
  fs::rename(part, target);
  syncPath(out);
  return false;
}

} // namespace

Fetched fetchData(const FetchOptions &options,
                  const std::function<void(const std::string &)> &say) {
  const std::vector<ListEntry> list = readList(options);
  const fs::path out = options.out;
  std::error_code failed;
  fs::create_directories(out, failed);
  const UniqueFd lock(::open((out / ".fetch.lock").c_str(),
                             O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!lock)
    throw Error(
        fmt::format("cannot write to {}: {}", options.out, errnoText(errno)),
        "name another folder with --out");
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    throw Error("another fetch is at work in " + options.out,
                "wait for it, or name another folder with --out");
  const InterruptsNoted noted;
  Fetched result;
  for (const ListEntry &entry : list) {
    const bool there = fetchOne(entry, options, lock.get());
    const int64_t bytes = sizeOf(out / entry.name);
    ++result.files;
    result.there += there;
    result.unchecked += entry.sum.empty();
    result.bytes += there ? 0 : bytes;
    say(fmt::format(
        "{}: {} bytes{}{}", entry.name, bytes, there ? ", was there" : "",
        entry.sum.empty() ? ", the list has no checksum of it" : ""));
  }
  return result;
}

} // namespace tessera::trainer
