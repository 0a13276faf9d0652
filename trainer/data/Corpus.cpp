// trainer/data/Corpus.cpp - opens the data of a run and divides it into
// training and held-out tokens.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/Corpus.h"

#include "support/Error.h"
#include "support/Hash.h"
#include "support/Process.h"
#include "trainer/data/PreparedFolder.h"
#include "trainer/data/TextKind.h"
#include "trainer/settings/Config.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>

namespace fs = std::filesystem;

namespace tessera::trainer {
namespace {

constexpr size_t kingJamesBytes = 4404412;
/// Data of more bytes is identified by samples, since hashing all of it would
/// delay the start.
constexpr int64_t hashedWhole = int64_t(64) << 20;

/// Returns the output of Debian's `bible`; empty if the program cannot run.
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
    // The cached copy is optional: it saves the next start a second.
  }
  return text;
}

/// An open file and the contents of its header.
struct Source {
  std::shared_ptr<const RandomFile> file;
  TokenLayout layout;
};

Source open(const std::string &path) {
  Source source;
  source.file = std::make_shared<const RandomFile>(path);
  const int64_t size = source.file->size();
  const std::string head =
      source.file->read(0, std::min(size, shardHeaderBytes));
  source.layout = readLayout(head, size, path);
  if (source.layout.format == TokenFormat::Text)
    requireText(head, path);
  return source;
}

/// Opens all files of the data. Throws tessera::Error if their format,
/// vocabulary or tokenizer differ.
std::vector<Source> openAll(const Config &config) {
  std::error_code code;
  if (!fs::exists(config.dataPath, code))
    throw Error(fmt::format("data.path does not exist: {}", config.dataPath),
                "name a text file or a folder of them");
  // Excludes the run folder, which may be inside the data folder.
  std::vector<std::string> files = filesBelow(config.dataPath, config.out);
  if (wantPreparing(files))
    files = filesBelow(
        preparedFolder(config.dataPath, files, config.tokenizerPath));
  std::vector<Source> sources;
  for (const std::string &file : files) {
    sources.push_back(open(file));
    const TokenLayout &first = sources.front().layout,
                      &last = sources.back().layout;
    if (first.format != last.format || first.vocabulary != last.vocabulary ||
        first.tokenizer != last.tokenizer)
      throw Error(
          fmt::format("{} is {} of {}, but {} is {} of {}", file,
                      formatName(last.format), last.tokenizer,
                      sources.front().file->path(), formatName(first.format),
                      first.tokenizer),
          "data.path takes files of one kind; put the others elsewhere");
  }
  return sources;
}

/// Returns the SHA-256 of the concatenated files.
std::string wholeHash(const std::vector<Source> &sources) {
  constexpr int64_t piece = 1 << 20;
  Sha256 sum;
  for (const Source &s : sources)
    for (int64_t at = 0; at < s.file->size(); at += piece)
      sum.update(s.file->read(at, std::min(piece, s.file->size() - at)));
  return toHex(sum.finish());
}

/// Returns "sampled:" and the SHA-256 of the files' sizes, the checksums in
/// their headers, and a few thousand chunks at equal distances.
std::string sampledHash(const std::vector<Source> &sources, int64_t bytes) {
  constexpr int64_t piece = 4096, pieces = 4096;
  const int64_t apart = std::max(piece, bytes / pieces);
  Sha256 sum;
  for (const Source &s : sources) {
    const int64_t size = s.file->size();
    sum.update(fmt::format("{}\n{}\n", size, s.layout.sha256));
    for (int64_t at = 0; at < size; at += apart)
      sum.update(s.file->read(at, std::min(piece, size - at)));
    const int64_t end = std::min(piece, size);
    sum.update(s.file->read(size - end, end));
  }
  return "sampled:" + toHex(sum.finish());
}

/// Divides the files into training and held-out data. Sets all members of
/// `corpus` except its name, tokenizer and packed rows.
void fill(Corpus &corpus, const std::vector<Source> &sources) {
  int64_t bytes = 0, textBytes = 0;
  TokenStore all;
  const auto heldOutByName = [](const Source &s) {
    return namesHeldOut(s.file->path());
  };
  const bool byName =
      !std::all_of(sources.begin(), sources.end(), heldOutByName);
  for (const Source &s : sources) {
    bytes += s.file->size();
    textBytes += s.layout.textBytes;
    (byName && heldOutByName(s) ? corpus.heldOut : all).add(s.file, s.layout);
  }
  const int64_t tokens = all.size() + corpus.heldOut.size();
  corpus.vocabulary = std::max(all.vocabulary(), corpus.heldOut.vocabulary());
  corpus.tokensPerByte =
      textBytes > 0 ? double(tokens) / double(textBytes) : 0.0;
  if (corpus.heldOut.size() > 0) {
    corpus.heldOutFiles = true;
    corpus.training = all;
  } else {
    const int64_t held = all.size() / 20;
    corpus.training = all.part(0, all.size() - held);
    corpus.heldOut = all.part(all.size() - held, held);
  }
  corpus.hash =
      bytes <= hashedWhole ? wholeHash(sources) : sampledHash(sources, bytes);
}

/// Returns 2^40 synthetic training tokens, more than a run reads, and held-out
/// tokens from the same sequence after them.
Corpus syntheticCorpus(const Config &config) {
  constexpr int64_t many = int64_t(1) << 40, held = 1 << 16;
  SyntheticTokens tokens;
  tokens.seed = uint64_t(config.seed);
  tokens.noise = config.syntheticNoise;
  if (config.origins.contains("model.vocab_size"))
    tokens.vocabulary = config.model.vocabulary;
  Corpus corpus;
  corpus.name =
      fmt::format("synthetic tokens ({:.4g} bits each)", tokens.entropy());
  corpus.vocabulary = tokens.vocabulary;
  corpus.tokenizer = "synthetic";
  corpus.tokensPerByte = 0;
  corpus.hash = sha256Hex(fmt::format("synthetic {} {} {}", tokens.seed,
                                      tokens.vocabulary, tokens.noise));
  const int64_t more = std::max(held, 2 * (config.sequenceLength + 1));
  const TokenStore all(tokens, many + more);
  corpus.training = all.part(0, many);
  corpus.heldOut = all.part(many, more);
  return corpus;
}

/// Throws tessera::Error unless the data are llm.c's GPT-2 files, or shards
/// whose BPE vocabulary has GPT-2's size.
void requireGpt2(const Corpus &corpus) {
  constexpr int64_t gpt2Tokens = 50257;
  if (corpus.tokenizer == "gpt2" ||
      (corpus.tokenizer.starts_with("bpe-") && corpus.vocabulary == gpt2Tokens))
    return;
  throw Error(fmt::format("data.tokenizer is gpt2, but {} has tokens of the "
                          "kind {}, {} of them",
                          corpus.name, corpus.tokenizer, corpus.vocabulary),
              "tessera data prepare --tokenizer FOLDER, with GPT-2's "
              "vocab.json and merges.txt in it, makes shards of text; then "
              "data.path names them");
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

LossUnit lossUnit(const Corpus &corpus) {
  if (corpus.tokensPerByte > 0)
    return {corpus.tokensPerByte, "bits/byte", "bpb"};
  return {1, "bits/token", "bits_per_token"};
}

std::vector<std::string> filesBelow(const std::string &path,
                                    const std::string &except) {
  std::error_code code;
  if (!fs::exists(path, code))
    throw Error(fmt::format("{} does not exist", path),
                "name a file or a folder of files");
  if (!fs::is_directory(path, code))
    return {path};
  std::vector<fs::path> files;
  for (auto e = fs::recursive_directory_iterator(
           path, fs::directory_options::skip_permission_denied);
       e != fs::recursive_directory_iterator(); ++e) {
    if (e->path().filename().string().starts_with(".") ||
        (e->is_directory(code) && !except.empty() &&
         fs::equivalent(e->path(), except, code)))
      e.disable_recursion_pending();
    else if (e->is_regular_file(code))
      files.push_back(e->path());
  }
  // The file system does not define the order of a folder's entries.
  std::sort(files.begin(), files.end());
  return {files.begin(), files.end()};
}

Corpus loadCorpus(const Config &config) {
  Corpus corpus;
  corpus.name = config.dataPath.empty() ? "King James text" : config.dataPath;
  if (config.dataOrigin == DataOrigin::Synthetic) {
    corpus = syntheticCorpus(config);
  } else if (config.dataPath.empty()) {
    const std::string text = kingJames();
    corpus.hash = sha256Hex(text);
    const TokenStore all(text);
    const int64_t held = all.size() / 20;
    corpus.training = all.part(0, all.size() - held);
    corpus.heldOut = all.part(all.size() - held, held);
  } else {
    const std::vector<Source> sources = openAll(config);
    if (!sources.empty())
      corpus.tokenizer = sources.front().layout.tokenizer;
    fill(corpus, sources);
  }
  if (config.tokenizer == TokenizerKind::Gpt2)
    requireGpt2(corpus);
  const int64_t held = corpus.heldOut.size(),
                size = held + corpus.training.size();
  if (size == 0)
    throw Error(fmt::format("no bytes in {}", corpus.name),
                "data.path takes a text file, a folder with text files, or "
                "shards of tokens");
  const int64_t window = config.sequenceLength + 1;
  if (corpus.heldOutFiles && (held < window || size - held < window))
    throw Error(
        fmt::format("{} has {} {} in the files whose names say that they are "
                    "held out, and {} in the others; each needs a window of {}",
                    corpus.name, held, corpus.bytes() ? "bytes" : "tokens",
                    size - held, window),
        "add more held-out or training data, or use a smaller train.seq_len");
  if (held < window || size - held < window)
    throw Error(fmt::format("{} has {} {}; a held-out twentieth of at least "
                            "one window needs {}",
                            corpus.name, size,
                            corpus.bytes() ? "bytes" : "tokens", window * 20),
                "use more text, or a smaller train.seq_len");
  if (config.dataPacking == DataPacking::BestFit) {
    const int64_t length = config.sequenceLength;
    corpus.trainingRows =
        std::make_shared<const PackedRows>(corpus.training, length);
    corpus.heldOutRows =
        std::make_shared<const PackedRows>(corpus.heldOut, length);
  }
  return corpus;
}

} // namespace tessera::trainer
