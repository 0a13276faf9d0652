// tests/unit/trainer/TestFolder.h - a folder that a test may fill.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

/// Made fresh, removed at the end.
struct TestFolder {
  TestFolder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "tessera-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~TestFolder() {
    std::error_code code;
    std::filesystem::remove_all(path, code);
  }
  std::string file(const std::string &name) const {
    return (path / name).string();
  }
  std::string write(const std::string &name, const std::string &text) const {
    std::filesystem::create_directories((path / name).parent_path());
    std::ofstream(path / name, std::ios::binary) << text;
    return file(name);
  }
  std::filesystem::path path;
};
