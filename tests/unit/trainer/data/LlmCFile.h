// tests/unit/trainer/data/LlmCFile.h - bytes of a file as llm.c writes it.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

/// 256 int32 of header, then the tokens in `width` bytes each.
inline std::string llmcFile(const std::vector<uint32_t> &tokens,
                            int32_t magic = 20240520, int32_t version = 1,
                            size_t width = 2) {
  std::string file(1024, '\0');
  const int32_t count = int32_t(tokens.size());
  std::memcpy(file.data(), &magic, 4);
  std::memcpy(file.data() + 4, &version, 4);
  std::memcpy(file.data() + 8, &count, 4);
  for (uint32_t token : tokens)
    file.append(reinterpret_cast<const char *>(&token), width);
  return file;
}
