// tools/commands/Data.cpp - tessera data
// fetch|prepare|tokenizer|inspect|verify.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/Command.h"
#include "tools/commands/OutOption.h"

#include "support/Quantities.h"
#include "trainer/data/Corpus.h"
#include "trainer/data/Fetch.h"
#include "trainer/data/Prepare.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>

namespace tessera::tools {
namespace {

struct DataOptions {
  trainer::FetchOptions fetch;
  trainer::PrepareOptions prepare;
  trainer::TokenizerOptions tokenizer;
  std::vector<std::string> paths;
  std::string field = "text"; ///< Of parquet files to verify.
};

int prepare(const trainer::PrepareOptions &options) {
  const trainer::Prepared made = trainer::prepareData(options);
  std::printf("%lld documents (%lld held out), %lld tokens, %zu file%s in %s\n",
              static_cast<long long>(made.documents),
              static_cast<long long>(made.heldOutDocuments),
              static_cast<long long>(made.tokens), made.files.size(),
              made.files.size() == 1 ? "" : "s", options.out.c_str());
  std::printf("train on them with data.path=%s\n", options.out.c_str());
  return 0;
}

int tokenizer(const trainer::TokenizerOptions &options) {
  for (const std::string &file : trainer::makeTokenizer(options))
    std::printf("%s\n", file.c_str());
  std::printf("use it: tessera data prepare --tokenizer %s\n",
              options.out.c_str());
  return 0;
}

void addTokenizer(CLI::App &verb, trainer::TokenizerOptions &options) {
  CLI::App *make = verb.add_subcommand(
      "tokenizer", "Make a byte-pair vocabulary of text, JSONL and parquet, or "
                   "of tiktoken's ranks");
  make->add_option("input,--input", options.input, "file or folder");
  make->add_option("--ranks", options.ranks,
                   "file of ranks to convert, for GPT-2's r50k_base.tiktoken, "
                   "instead of training");
  addOut(*make, options.out, "new folder of vocab.json and merges.txt")
      ->required();
  make->add_option(
          "--field", options.field,
          "key of a JSONL line, or column of a parquet file, that holds "
          "the text")
      ->capture_default_str();
  make->add_option("--vocab-size", options.size,
                   "tokens, with the 256 bytes and the end of a text")
      ->check(CLI::Range(int64_t(257), int64_t(1) << 20))
      ->capture_default_str();
}

int fetch(const trainer::FetchOptions &options) {
  const trainer::Fetched got =
      trainer::fetchData(options, [](const std::string &line) {
        std::printf("%s\n", line.c_str());
        std::fflush(stdout);
      });
  std::printf("%lld files in %s, %lld of them new (%lld bytes)\n",
              static_cast<long long>(got.files), options.out.c_str(),
              static_cast<long long>(got.files - got.there),
              static_cast<long long>(got.bytes));
  if (got.unchecked)
    std::printf("%lld without a checksum in the list: sha256sum %s/* > LIST "
                "makes one for the next time\n",
                static_cast<long long>(got.unchecked), options.out.c_str());
  return 0;
}

void addFetch(CLI::App &verb, trainer::FetchOptions &options) {
  CLI::App *make = verb.add_subcommand(
      "fetch", "Bring the files of a list here, checked; continues where it "
               "stopped");
  make->add_option("list,--list", options.list,
                   "text file: ADDRESS and SHA-256 a line, or as sha256sum "
                   "prints")
      ->required();
  addOut(*make, options.out, "folder of the files")->required();
  make->add_option("--mirror", options.mirror,
                   "URL or folder that addresses without one begin with");
  make->add_option_function<std::string>(
          "--max-size",
          [&options](const std::string &text) {
            options.largest = parseBytes(text, "--max-size");
          },
          "most bytes that a file may have (64G, 500M)")
      ->default_str("64G");
  make->add_flag("--allow-http", options.http,
                 "fetch http:// addresses, too; without encryption a network "
                 "can change the files");
}

int show(const DataOptions &options, bool verify) {
  for (const std::string &path : options.paths)
    for (const std::string &file : trainer::filesBelow(path))
      std::printf("%s%s",
                  (verify ? trainer::verifyData(file, options.field)
                          : trainer::inspectData(file))
                      .c_str(),
                  verify ? "\n" : "");
  return 0;
}

} // namespace

Command addData(CLI::App &app) {
  CLI::App *verb = app.add_subcommand(
      "data", "Fetch, prepare, inspect and verify data to train on");
  verb->require_subcommand(1);
  const auto options = std::make_shared<DataOptions>();
  addFetch(*verb, options->fetch);

  CLI::App *make = verb->add_subcommand(
      "prepare", "Write text, JSONL and parquet as shards of tokens");
  make->add_option(
          "input,--input", options->prepare.input,
          "file or folder; each line of a .jsonl file and each row of a "
          ".parquet file is a document, each other file is one")
      ->required();
  addOut(*make, options->prepare.out, "new folder of the shards")->required();
  make->add_option(
          "--field", options->prepare.field,
          "key of a JSONL line, or column of a parquet file, that holds "
          "the text")
      ->capture_default_str();
  make->add_option("--held-out", options->prepare.heldOut,
                   "share of the documents to evaluate on")
      ->check(CLI::Range(0.0, 0.5))
      ->capture_default_str();
  make->add_option("--shard-tokens", options->prepare.shardTokens,
                   "tokens after which a shard ends")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 40))
      ->capture_default_str();

  make->add_option("--tokenizer", options->prepare.tokenizer,
                   "folder with GPT-2's vocab.json and merges.txt, or a file "
                   "of tiktoken's ranks; without it tokens are bytes");
  addTokenizer(*verb, options->tokenizer);

  CLI::App *inspect =
      verb->add_subcommand("inspect", "Say what files of tokens hold");
  inspect->add_option("paths", options->paths, "files or folders")->required();
  CLI::App *verify = verb->add_subcommand(
      "verify", "Read files of tokens to their end and check them");
  verify->add_option("paths", options->paths, "files or folders")->required();
  verify
      ->add_option("--field", options->field,
                   "column of a parquet file that holds the text")
      ->capture_default_str();

  return {verb, [options, verb, make, verify] {
            if (verb->got_subcommand("fetch"))
              return fetch(options->fetch);
            if (verb->got_subcommand("tokenizer"))
              return tokenizer(options->tokenizer);
            if (make->parsed())
              return prepare(options->prepare);
            return show(*options, verify->parsed());
          }};
}

} // namespace tessera::tools
