// trainer/data/Choices.cpp - parses and validates multiple-choice examples.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/Choices.h"

#include "support/Error.h"
#include "support/LittleEndian.h"

#include <fmt/format.h>

namespace tessera::trainer {
namespace {

constexpr int64_t headerBytes = 1024;
constexpr uint64_t fileMagic = 20240522, fileVersion = 1, exampleMagic = 65535;
constexpr int64_t mostEndings = 64;

} // namespace

void ChoiceFile::damaged(const std::string &what) const {
  throw Error(fmt::format("{}: example {}: {}", file.path(), number, what),
              "the file is damaged or was not copied to its end; make it again "
              "with llm.c's dev/data/hellaswag.py");
}

ChoiceFile::ChoiceFile(const std::string &path) : file(path) {
  const std::string head =
      file.size() < headerBytes ? "" : file.read(0, headerBytes);
  if (head.empty() || takeNumber(head, 0, 4) != fileMagic ||
      takeNumber(head, 4, 4) != fileVersion)
    throw Error(fmt::format("{} holds no examples in llm.c's format", path),
                "llm.c's dev/data/hellaswag.py writes such a file, "
                "hellaswag_val.bin");
  count = int64_t(takeNumber(head, 8, 4));
  offset = headerBytes;
  // An example has more than 16 bytes, which limits the number of examples.
  if (count < 1 || count > file.size() / 16)
    throw Error(fmt::format("{}: its header says {} examples, which {} bytes "
                            "cannot hold",
                            path, count, file.size()),
                "the file is damaged; make it again");
}

MultipleChoice ChoiceFile::next() {
  const std::string head = offset + 4 > file.size() ? "" : file.read(offset, 4);
  if (head.empty())
    damaged("the file ends before it");
  const int64_t bytes = int64_t(takeNumber(head, 2, 2));
  if (takeNumber(head, 0, 2) != exampleMagic || bytes % 2 || bytes < 12 ||
      bytes > file.size() - offset)
    damaged("it does not begin as an example");
  const std::string all = file.read(offset, bytes);
  size_t at = 4;
  const auto number16 = [&]() {
    if (at + 2 > all.size())
      damaged(fmt::format("it has more than its {} bytes", bytes));
    at += 2;
    return int64_t(takeNumber(all, at - 2, 2));
  };
  const auto tokens = [&](const char *what) {
    const int64_t size = number16();
    std::vector<int64_t> list(size_t(size), 0);
    if (list.empty())
      damaged(fmt::format("{} has no tokens", what));
    for (int64_t &token : list)
      token = number16();
    return list;
  };
  MultipleChoice choice;
  number16(); // skip the example's number
  choice.label = number16();
  const int64_t endings = number16();
  if (endings < 2 || endings > mostEndings || choice.label >= endings)
    damaged(fmt::format("the right one of {} endings is number {}", endings,
                        choice.label));
  choice.context = tokens("its context");
  for (int64_t i = 0; i < endings; ++i)
    choice.endings.push_back(tokens("an ending"));
  if (at != all.size())
    damaged(fmt::format("it says {} bytes and has {}", bytes, at));
  offset += bytes;
  ++number;
  return choice;
}

} // namespace tessera::trainer
