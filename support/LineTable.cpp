// support/LineTable.cpp - maps instructions to source lines.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/LineTable.h"

#include "support/Error.h"

#include <algorithm>

namespace tessera {

std::string LineTable::placeOf(uint64_t offset) const {
  auto after = std::upper_bound(
      rows.begin(), rows.end(), offset,
      [](uint64_t wanted, const Row &row) { return wanted < row.offset; });
  if (after == rows.begin())
    return {};
  const Row &row = *std::prev(after);
  if (row.line == 0)
    return {};
  return files[row.file] + ":" + std::to_string(row.line);
}

Json LineTable::toJson() const {
  Json numbers = Json::array();
  uint32_t before = 0;
  for (const Row &row : rows) {
    numbers.insert(numbers.end(), {row.offset - before, row.line, row.file});
    before = row.offset;
  }
  return {{"files", files}, {"rows", std::move(numbers)}};
}

LineTable LineTable::fromJson(const Json &json, const std::string &what) {
  const auto bad = [&](const std::string &why) {
    return Error(what + ": " + why, "compile the kernel again");
  };
  LineTable table;
  const auto member = [&](const char *key) -> const Json & {
    auto found = json.is_object() ? json.find(key) : json.end();
    if (found == json.end() || !found->is_array())
      throw bad("`" + std::string(key) + "` is not an array");
    return *found;
  };
  for (const Json &name : member("files")) {
    if (!name.is_string())
      throw bad("`files` holds what is not a name");
    table.files.push_back(name.get<std::string>());
  }
  const Json &numbers = member("rows");
  if (numbers.size() % 3 != 0)
    throw bad("`rows` does not hold three numbers a row");
  uint64_t offset = 0;
  for (size_t i = 0; i < numbers.size(); i += 3) {
    for (size_t k = i; k < i + 3; ++k)
      if (!numbers[k].is_number_unsigned() ||
          numbers[k].get<uint64_t>() > UINT32_MAX)
        throw bad("`rows` holds what is not a number from 0 to 4294967295");
    const auto step = numbers[i].get<uint32_t>();
    const Row row{uint32_t(offset += step), numbers[i + 1].get<uint32_t>(),
                  numbers[i + 2].get<uint32_t>()};
    if (offset > UINT32_MAX || (i > 0 && step == 0))
      throw bad("`rows` is not sorted by offset");
    if (row.file >= table.files.size())
      throw bad("`rows` names a file that `files` lacks");
    table.rows.push_back(row);
  }
  return table;
}

} // namespace tessera
