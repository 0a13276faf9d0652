// trainer/data/Parquet.cpp - starts tessera-parquet and reads its output.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/Parquet.h"

#include "support/Descriptors.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/LittleEndian.h"
#include "support/Process.h"
#include "support/Trust.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace tessera::trainer {
namespace {

constexpr size_t longestPiece = 1 << 20;
/// Seconds without output after which reading fails. Reading a page takes
/// milliseconds, but the disk may be slow to answer.
constexpr int silenceSeconds = 300;

const char *const installHint =
    "pip install 'tessera-kernels[parquet]' in addition to the wheel; in a "
    "checkout "
    "scripts/setup train, then scripts/build release tessera-parquet; or write "
    "the column as .jsonl";

/// Reads the output of tessera-parquet for one file. A record is a letter, a
/// length of eight bytes, and as many bytes of content: 'd' a document, 'g' the
/// next row group, 'i' information, 'x' an error, 'z' the end.
class Reading {
public:
  Reading(const std::string &file, const fs::path &program,
          std::vector<std::string> arguments)
      : file(file) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      throw Error("cannot make a pipe: " + errnoText(errno),
                  hintForOpen(errno, "end some programs"));
    output = UniqueFd(ends[0]);
    UniqueFd write(ends[1]);
    SpawnOptions options;
    options.arguments = {program.string()};
    options.arguments.insert(options.arguments.end(), arguments.begin(),
                             arguments.end());
    options.descriptors = {{1, write.get()}};
    process.emplace(Process::spawn(options));
  }

  /// Calls visit(kind, size) for each document, information and end record.
  /// `visit` must take() all bytes of the record. Returns after the record 'z'.
  template <typename F>
  void forRecords(F visit) {
    for (char kind = 0; kind != 'z';) {
      const std::string head = take(9);
      kind = head[0];
      const uint64_t size = takeNumber(head, 1, 8);
      if (kind == 'x')
        refuse(take(checked(size)));
      if (kind == 'g')
        group = take(checked(size));
      else
        visit(kind, size);
    }
    const ExitStatus status = process->wait();
    if (!status.ok())
      died(status);
  }

  /// Reads exactly `size` bytes, at most longestPiece. Throws Error if the
  /// program ends or prints nothing for silenceSeconds.
  std::string take(size_t size) {
    std::string bytes(size, '\0');
    for (size_t have = 0; have < size;) {
      pollfd entry = {output.get(), POLLIN, 0};
      const int ready = ::poll(&entry, 1, silenceSeconds * 1000);
      if (ready < 0 && errno == EINTR)
        continue;
      if (ready == 0)
        throw Error(fmt::format("{}: nothing came of {} for {} seconds", file,
                                place(), silenceSeconds),
                    "is the disk there? otherwise leave the file out");
      const ssize_t count =
          ::read(output.get(), bytes.data() + have, size - have);
      if (count < 0 && errno == EINTR)
        continue;
      if (count <= 0)
        died(process->wait());
      have += size_t(count);
    }
    return bytes;
  }

  /// Returns the size of a record that is read at once. Throws Error if it is
  /// above longestPiece.
  size_t checked(uint64_t size) const {
    if (size > longestPiece)
      unknownAnswer();
    return size_t(size);
  }

  [[noreturn]] void unknownAnswer() const {
    throw Error(fmt::format("{}: the reader of parquet answered what is not "
                            "known here",
                            file),
                "build tessera and tessera-parquet together");
  }

private:
  std::string place() const {
    return group.empty() ? std::string("its head") : "row group " + group;
  }

  /// Throws the error that the other program sent as "message\nhint".
  [[noreturn]] void refuse(const std::string &text) const {
    const size_t cut = std::min(text.find('\n'), text.size());
    throw Error(text.substr(0, cut),
                cut < text.size() ? text.substr(cut + 1) : "");
  }

  [[noreturn]] void died(const ExitStatus &status) const {
    // The dynamic loader exits with 127 if a library is missing, and names the
    // library on standard error.
    if (status.code == 127)
      throw Error(fmt::format("{} cannot be read: Arrow's libraries are not "
                              "where they were when tessera was built",
                              file),
                  installHint);
    throw Error(fmt::format("{}: reading {} ended the reader with {}", file,
                            place(), status.text()),
                "the file is damaged, or a page of it needs more than 8 GiB; "
                "make it again or leave it out");
  }

  const std::string file;
  UniqueFd output;
  std::optional<Process> process;
  std::string group;
};

} // namespace

fs::path parquetProgram() {
  const fs::path program = executablePath().parent_path() / "tessera-parquet";
  std::error_code code;
  if (!fs::is_regular_file(program, code))
    throw Error(fmt::format("parquet files need {}, which is not there",
                            program.string()),
                installHint);
  requireTrusted(program, program.string(),
                 TrustedContext::of(executablePath()));
  return program;
}

int64_t readParquet(const std::string &file, const std::string &field,
                    DocumentSink &sink, const fs::path &program) {
  Reading reading(file, program, {"--field", field, "--", file});
  int64_t rows = 0;
  reading.forRecords([&](char kind, uint64_t size) {
    if (kind == 'z') {
      rows = int64_t(takeNumber(reading.take(reading.checked(size)), 0, 8));
      return;
    }
    if (kind != 'd')
      reading.unknownAnswer();
    sink.begin();
    for (uint64_t left = size; left > 0;) {
      const std::string piece =
          reading.take(size_t(std::min<uint64_t>(left, longestPiece)));
      sink.append(piece);
      left -= piece.size();
    }
  });
  return rows;
}

std::string inspectParquet(const std::string &file, const fs::path &program) {
  Reading reading(file, program, {"--inspect", "--", file});
  std::string text;
  reading.forRecords([&](char kind, uint64_t size) {
    const std::string bytes = reading.take(reading.checked(size));
    if (kind == 'i')
      text += bytes;
    else if (kind != 'z')
      reading.unknownAnswer();
  });
  return text;
}

} // namespace tessera::trainer
