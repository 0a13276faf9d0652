// trainer/Data.cpp - loading a corpus and cutting windows out of it.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/Data.h"

#include "support/Error.h"
#include "support/File.h"
#include "support/Hash.h"
#include "support/Process.h"
#include "trainer/Config.h"
#include "trainer/Random.h"

#include <ATen/ATen.h>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>

namespace fs = std::filesystem;

namespace tessera::trainer {
namespace {

constexpr size_t kingJamesBytes = 4404412;

/// The text as Debian's `bible` prints it; empty when the program is missing.
std::string printKingJames() {
  try {
    return runCommand({"/usr/bin/env", "bible", "-f", "gen1:1-rev22:21"},
                      std::chrono::seconds(60))
        .output;
  } catch (const Error &) {
    return {};
  }
}

std::string kingJames() {
  const fs::path file = fs::path(dependencyFolder()) / "data" / "kjv.txt";
  std::error_code code;
  if (fs::file_size(file, code) == kingJamesBytes && !code)
    return readFile(file.string());
  const std::string text = printKingJames();
  if (text.size() != kingJamesBytes)
    throw Error(
        text.empty()
            ? std::string("the King James text is not here: the program "
                          "'bible' did not run")
            : fmt::format("'bible' printed {} bytes, the King James text of "
                          "this trainer has {}",
                          text.size(), kingJamesBytes),
        "apt-get install -y bible-kjv, or give your own text with "
        "data.path=FILE");
  fs::create_directories(file.parent_path(), code);
  try {
    writeFile(file.string(), text);
  } catch (const Error &) {
    // The copy only saves the next start a second; the text is in memory.
  }
  return text;
}

std::string readPath(const fs::path &path) {
  std::error_code code;
  if (!fs::exists(path, code))
    throw Error(fmt::format("data.path does not exist: {}", path.string()),
                "name a text file or a folder of them");
  if (!fs::is_directory(path, code))
    return readFile(path.string());
  std::vector<fs::path> files;
  for (const fs::directory_entry &e : fs::recursive_directory_iterator(
           path, fs::directory_options::skip_permission_denied))
    if (e.is_regular_file(code))
      files.push_back(e.path());
  // The order of a folder's entries is the file system's whim.
  std::sort(files.begin(), files.end());
  std::string text;
  for (const fs::path &f : files)
    text += readFile(f.string());
  return text;
}

Batch cut(const std::string &text, const std::vector<int64_t> &starts,
          int64_t length) {
  const int64_t rows = int64_t(starts.size());
  at::Tensor all = at::empty({rows, length + 1}, at::kLong);
  int64_t *out = all.data_ptr<int64_t>();
  for (int64_t start : starts)
    for (int64_t i = 0; i <= length; ++i)
      *out++ = static_cast<unsigned char>(text[size_t(start + i)]);
  return {all.narrow(1, 0, length), all.narrow(1, 1, length)};
}

} // namespace

std::string dependencyFolder() {
  if (const char *folder = std::getenv("TESSERA_DEPS"))
    return folder;
  if (const char *data = std::getenv("XDG_DATA_HOME"))
    return std::string(data) + "/tessera";
  const char *home = std::getenv("HOME");
  return std::string(home ? home : ".") + "/.local/share/tessera";
}

Corpus loadCorpus(const Config &config) {
  Corpus corpus;
  corpus.name = config.dataPath.empty() ? "King James text" : config.dataPath;
  const std::string text =
      config.dataPath.empty() ? kingJames() : readPath(config.dataPath);
  if (text.empty())
    throw Error(fmt::format("no bytes in {}", corpus.name),
                "data.path takes a text file or a folder with text files");
  const size_t held = text.size() / 20;
  const size_t window = size_t(config.sequenceLength) + 1;
  if (held < window || text.size() - held < window)
    throw Error(fmt::format("{} has {} bytes; a held-out twentieth of at least "
                            "one window needs {}",
                            corpus.name, text.size(), window * 20),
                "use more text, or a smaller train.seq_len");
  corpus.hash = sha256Hex(text);
  corpus.training = text.substr(0, text.size() - held);
  corpus.heldOut = text.substr(text.size() - held);
  return corpus;
}

Batch trainingBatch(const Corpus &corpus, const Config &config, int64_t first) {
  const uint64_t bound =
      corpus.training.size() - uint64_t(config.sequenceLength);
  std::vector<int64_t> starts;
  for (int64_t i = 0; i < config.batchSize; ++i)
    starts.push_back(int64_t(
        randomBelow(uint64_t(config.seed), uint64_t(first + i), bound)));
  return cut(corpus.training, starts, config.sequenceLength);
}

int64_t heldOutWindows(const Corpus &corpus, const Config &config) {
  return (int64_t(corpus.heldOut.size()) - 1) / config.sequenceLength;
}

Batch heldOutBatch(const Corpus &corpus, const Config &config, int64_t first,
                   int64_t count, int64_t total) {
  const int64_t windows = heldOutWindows(corpus, config);
  std::vector<int64_t> starts;
  for (int64_t i = first; i < first + count; ++i)
    starts.push_back(i * windows / total * config.sequenceLength);
  return cut(corpus.heldOut, starts, config.sequenceLength);
}

} // namespace tessera::trainer
