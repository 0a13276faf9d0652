// trainer/data/PreparedFolder.cpp - creates shards once, in a folder that is
// named by a hash of their sources.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/PreparedFolder.h"

#include "support/Error.h"
#include "support/File.h"
#include "support/Hash.h"
#include "trainer/data/Corpus.h"
#include "trainer/data/Prepare.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <system_error>

namespace fs = std::filesystem;

namespace tessera::trainer {
namespace {

bool isDocuments(const std::string &file) {
  return file.ends_with(".jsonl") || file.ends_with(".parquet");
}

/// Returns a line for each file, which changes if the file's text may have
/// changed. It contains the change time, because programs can set the
/// modification time.
std::string listOf(const std::vector<std::string> &files) {
  std::string list;
  for (const std::string &file : files) {
    struct stat info = {};
    if (::stat(file.c_str(), &info) != 0)
      throw fs::filesystem_error("cannot read", file,
                                 {errno, std::generic_category()});
    list += fmt::format("{} {} {}:{} {}.{:09}\n", fs::absolute(file).string(),
                        info.st_size, info.st_dev, info.st_ino,
                        info.st_ctim.tv_sec, info.st_ctim.tv_nsec);
  }
  return list;
}

void prepareInto(const fs::path &folder, const std::string &path,
                 const std::string &tokenizer) {
  const fs::path making = folder.string() + ".making";
  fs::remove_all(making); // left by an interrupted process
  PrepareOptions options;
  options.input = path;
  options.out = making.string();
  options.tokenizer = tokenizer;
  fmt::print(stderr, "preparing {} once, in {}\n", path, folder.string());
  const Prepared done = prepareData(options);
  fs::rename(making, folder);
  fmt::print(stderr, "prepared {} documents, {} tokens\n", done.documents,
             done.tokens);
}

} // namespace

bool wantPreparing(const std::vector<std::string> &files) {
  const auto documents = std::find_if(files.begin(), files.end(), isDocuments);
  const auto other = std::find_if_not(files.begin(), files.end(), isDocuments);
  if (documents != files.end() && other != files.end())
    throw Error(
        fmt::format("{} holds documents, {} does not", *documents, *other),
        "data.path takes files of one kind; put the others elsewhere");
  return documents != files.end();
}

std::string preparedFolder(const std::string &path,
                           const std::vector<std::string> &files,
                           const std::string &tokenizer) {
  const fs::path all = fs::path(dependencyFolder()) / "data" / "prepared";
  try {
    std::string list = listOf(files);
    if (fs::exists(tokenizer)) // else prepareData() reports the error
      list += "tokenizer\n" + listOf(filesBelow(tokenizer));
    const fs::path folder = all / sha256Hex(list).substr(0, 32);
    fs::create_directories(all);
    const FileLock lock = FileLock::acquire(folder.string() + ".lock");
    if (!fs::exists(folder))
      prepareInto(folder, path, tokenizer);
    return folder.string();
  } catch (const fs::filesystem_error &e) {
    throw Error(fmt::format("cannot keep the shards of {}: {}", path, e.what()),
                "TESSERA_DEPS names another folder for what is made once; or "
                "tessera data prepare --input " +
                    path + " --out FOLDER, then data.path=FOLDER");
  }
}

} // namespace tessera::trainer
