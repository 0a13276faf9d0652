// tests/unit/semantics/RegistryTest.cpp - names, signatures, their page.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Builtins.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace tessera::semantics {
namespace {

TEST(Registry, EveryBuiltinIsOnItsPage) {
  std::ifstream file(BUILTINS_PAGE);
  ASSERT_TRUE(file.is_open());
  std::stringstream page;
  page << file.rdbuf();
  for (const auto &[name, builtin] : Registry::get().all()) {
    std::string shown = name;
    if (name.rfind("math.", 0) == 0)
      continue; // the same functions as tl.*
    if (name.rfind("python.", 0) == 0)
      shown = name.substr(7);
    if (name.rfind("dtype.", 0) == 0)
      shown = "`" + name.substr(6) + "()`";
    else
      shown += "(" + builtin.signature + ")`";
    EXPECT_NE(page.str().find(shown), std::string::npos) << shown;
  }
}

TEST(Registry, DefaultsAndNearestNames) {
  const Builtin *load = Registry::get().find("load");
  ASSERT_TRUE(load);
  EXPECT_TRUE(load->parameters[0].required);
  EXPECT_TRUE(load->parameters[1].byDefault.isNone());
  EXPECT_TRUE(load->parameters[3].byDefault.tupleValues());
  EXPECT_EQ(load->parameters[4].byDefault.constant()->str(), "");
  EXPECT_EQ(Registry::get().nearest("programid"), "program_id");
  EXPECT_EQ(Registry::get().nearest("math.exq"), "exp");
  EXPECT_EQ(Registry::get().find("no_such"), nullptr);
}

} // namespace
} // namespace tessera::semantics
