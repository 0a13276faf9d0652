// tests/unit/tools/lsp/BuiltinDocsTest.cpp - the page of builtins as the
// language server reads it.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/lsp/BuiltinDocs.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace tessera::tools;
using namespace tessera::tools::lsp;

TEST(LspBuiltins, RowsAreNamesSignaturesAndMeanings) {
  const std::vector<BuiltinDoc> docs = readBuiltins(
      "## Statements\n\n| `assert` is tl.device_assert | |\n\n## Memory\n\n"
      "| what | meaning |\n|---|---|\n"
      "| `load(pointer, mask=None)` | reads | yes |\n"
      "| `.sum(input, axis=None)` | adds up | yes |\n"
      "| `x.dtype`, `x.shape` | of a tile | yes |\n"
      "| `a < b` | no name | yes |\n");
  ASSERT_EQ(docs.size(), 4u);
  EXPECT_EQ(docs[0].name, "load");
  EXPECT_EQ(docs[0].signature, "load(pointer, mask=None)");
  EXPECT_EQ(docs[0].meaning, "reads");
  EXPECT_TRUE(docs[0].isBuiltin && !docs[0].isMethod);
  EXPECT_EQ(docs[1].name, "sum");
  EXPECT_TRUE(docs[1].isBuiltin && docs[1].isMethod);
  EXPECT_EQ(docs[3].name, "shape");
  EXPECT_TRUE(!docs[3].isBuiltin && docs[3].isMethod);
}

// The page in the program has what a kernel cannot do without, each once.
TEST(LspBuiltins, ThePageIsThere) {
  const std::vector<BuiltinDoc> docs = readBuiltins(builtinsPage());
  EXPECT_GT(docs.size(), 100u);
  for (const char *name :
       {"load", "store", "dot", "arange", "program_id", "exp2", "triton.cdiv",
        "static_range", "atomic_add", "constexpr"})
    EXPECT_EQ(std::count_if(docs.begin(), docs.end(),
                            [&](const BuiltinDoc &doc) {
                              return doc.name == name && doc.isBuiltin;
                            }),
              1)
        << name;
  for (const BuiltinDoc &doc : docs) {
    if (doc.name == "erf" || doc.name == "minimum") {
      EXPECT_TRUE(doc.isMath) << doc.name;
    }
    if (doc.name == "load" || doc.name == "clamp" || doc.name == "sum") {
      EXPECT_FALSE(doc.isMath) << doc.name;
    }
    EXPECT_TRUE(doc.signature.starts_with(doc.name)) << doc.signature;
  }
}
