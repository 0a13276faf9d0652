// tests/unit/language/ListFiles.cpp - a program that reads files of Python as
// the compiler does.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// For each path on the standard input it prints "ok KERNELS PATH" or "error
// MESSAGE"; imports are not followed.
#include "language/Decorators.h"
#include "language/Program.h"
#include "support/Error.h"
#include "support/File.h"

#include <iostream>

using namespace tessera;

int main() {
  for (std::string path; std::getline(std::cin, path);) {
    try {
      const auto program = language::Program::load(
          path, readFile(path),
          [](const std::string &) { return std::nullopt; });
      std::cout << "ok " << language::listKernels(*program).size() << " "
                << path << "\n";
    } catch (const CompileError &error) {
      std::cout << "error "
                << (error.diagnostics.empty()
                        ? error.message
                        : path + ":" +
                              std::to_string(error.diagnostics[0].range.line) +
                              ": " + error.diagnostics[0].message)
                << "\n";
    } catch (const Error &error) {
      std::cout << "error " << path << ": " << error.what() << "\n";
    }
  }
}
