// tests/unit/language/Helpers.h - sources from text.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Parser.h"
#include "support/File.h"

#include <memory>
#include <string>

namespace tessera::language {

inline std::shared_ptr<const SourceFile> source(std::string text) {
  return std::make_shared<SourceFile>("k.py", std::move(text));
}

inline std::string testFile(const std::string &name) {
  return readFile(std::string(TESSERA_TEST_DIR) + "/" + name);
}

} // namespace tessera::language
