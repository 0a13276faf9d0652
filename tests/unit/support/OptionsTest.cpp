// tests/unit/support/OptionsTest.cpp - tests of support/Options.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Options.h"
#include "support/OptionValues.h"

#include "support/Error.h"
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

using namespace tessera;

TEST(Options, DefaultsAndValues) {
  ::unsetenv("TESSERA_COMPILE_TIMEOUT");
  EXPECT_EQ(optionNumber(Option::CompileTimeout), 300);
  ::setenv("TESSERA_COMPILE_TIMEOUT", "7", 1);
  EXPECT_EQ(optionNumber(Option::CompileTimeout), 7);
  for (const char *bad : {"7s", "-1", "x", "99999999999999999999"}) {
    ::setenv("TESSERA_COMPILE_TIMEOUT", bad, 1);
    EXPECT_THROW(optionNumber(Option::CompileTimeout), Error) << bad;
  }
  ::setenv("TESSERA_COMPILE_TIMEOUT", "", 1);
  EXPECT_EQ(optionNumber(Option::CompileTimeout), 300);
  ::unsetenv("TESSERA_COMPILE_TIMEOUT");
}

TEST(Options, UnknownVariableIsReportedWithTheNearest) {
  EXPECT_TRUE(unknownOptions().empty());
  ::setenv("TESSERA_CACHE_DIRR", "x", 1);
  auto lines = unknownOptions();
  ::unsetenv("TESSERA_CACHE_DIRR");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0], "environment variable TESSERA_CACHE_DIRR is not known to "
                      "tessera; did you mean TESSERA_CACHE_DIR?");
}

TEST(Options, EachIsNamedOnceAndDocumented) {
  std::set<std::string> names;
  for (const OptionInfo &info : optionTable()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_EQ(std::string(info.name).rfind("TESSERA_", 0), 0u);
    EXPECT_GT(std::string(info.doc).size(), 20u);
  }
}

TEST(Options, WrongValuesThatAreReadLateAreRefusedAtTheStart) {
  checkOptionValues();
  for (const char *good : {"debug", "info", "warning", "error", "off"}) {
    ::setenv("TESSERA_LOG", good, 1);
    checkOptionValues();
  }
  ::setenv("TESSERA_LOG", "loud", 1);
  EXPECT_THROW(checkOptionValues(), Error);
  ::unsetenv("TESSERA_LOG");
  ::setenv("TESSERA_PRINT_LIMIT", "abc", 1);
  EXPECT_THROW(checkOptionValues(), Error);
  ::unsetenv("TESSERA_PRINT_LIMIT");
}
