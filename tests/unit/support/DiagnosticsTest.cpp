// tests/unit/support/DiagnosticsTest.cpp - tests of support/Diagnostics.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Diagnostics.h"

#include "support/Error.h"
#include "support/LanguageGaps.h"
#include <gtest/gtest.h>

using namespace tessera;

static std::shared_ptr<const SourceFile> file(std::string text) {
  return std::make_shared<SourceFile>("k.py", std::move(text));
}

TEST(Diagnostics, LinesOfAFile) {
  SourceFile source("k.py", "one\r\ntwo\n\nfour");
  EXPECT_EQ(source.lineCount(), 4u);
  EXPECT_EQ(source.line(1), "one");
  EXPECT_EQ(source.line(3), "");
  EXPECT_EQ(source.line(4), "four");
  EXPECT_EQ(source.line(0), "");
  EXPECT_EQ(source.line(5), "");
}

TEST(Diagnostics, RendersLocationCaretCallersAndHint) {
  auto source = file("def f(x):\n\ty = tl.dott(x)\n    f(1)\n");
  Diagnostic diagnostic =
      Diagnostic::make(DiagnosticId::UnknownName, source, {2, 6, 2, 13},
                       "no `tl.dott`", "did you mean `tl.dot`?");
  diagnostic.callers.push_back({"f", source, {3, 5, 3, 9}});
  EXPECT_EQ(diagnostic.render(), "k.py:2:6: error: no `tl.dott` [UnknownName]\n"
                                 "  \ty = tl.dott(x)\n"
                                 "  \t    ^~~~~~~\n"
                                 "k.py:3:5: note: called from `f`\n"
                                 "      f(1)\n"
                                 "      ^~~~\n"
                                 "HINT: did you mean `tl.dot`?\n");
}

TEST(Diagnostics, RangesBeyondTheLineAreHarmless) {
  auto source = file("ab\n");
  auto render = [&](SourceRange range) {
    return Diagnostic::make(DiagnosticId::SyntaxError, source, range, "m")
        .render();
  };
  EXPECT_EQ(render({1, 2, 9, 9}),
            "k.py:1:2: error: m [SyntaxError]\n  ab\n   ^\n");
  EXPECT_EQ(render({1, 3, 1, 99}),
            "k.py:1:3: error: m [SyntaxError]\n  ab\n    ^\n");
  EXPECT_EQ(render({7, 1, 7, 2}), "k.py:7:1: error: m [SyntaxError]\n");
  EXPECT_EQ(render({}), "k.py: error: m [SyntaxError]\n");
}

TEST(Diagnostics, CaretCountsCharactersNotBytes) {
  auto source = file("\xc3\xa4 = \xc3\xb6\n");
  EXPECT_EQ(
      Diagnostic::make(DiagnosticId::SyntaxError, source, {1, 6, 1, 8}, "m")
          .render(),
      "k.py:1:6: error: m [SyntaxError]\n  \xc3\xa4 = \xc3\xb6\n      ^\n");
}

// Of a line of 300 digits and more, the diagnostic shows the section around the
// error.
TEST(Diagnostics, LongLinesAreCut) {
  const auto render = [](const std::string &line, uint32_t from, uint32_t to) {
    const std::string text =
        Diagnostic::make(DiagnosticId::SyntaxError, file(line + "\n"),
                         {1, from, 1, to}, "m")
            .render();
    return text.substr(text.find('\n') + 1);
  };
  const std::string nines(300, '9');
  EXPECT_EQ(render("x = " + nines, 5, 305), "  x = " + nines.substr(0, 156) +
                                                "...\n      ^" +
                                                std::string(155, '~') + "\n");
  EXPECT_EQ(render(nines + " + y", 304, 305),
            "  ..." + nines.substr(0, 156) + " + y\n     " +
                std::string(159, ' ') + "^\n");
  EXPECT_EQ(render(nines + "y" + nines, 301, 302),
            "  ..." + std::string(60, '9') + "y" + std::string(99, '9') +
                "...\n     " + std::string(60, ' ') + "^\n");
  // Characters are not split, and a column past the end is harmless.
  std::string wide;
  for (int i = 0; i < 150; ++i)
    wide += "\xc3\xa4";
  for (uint32_t column = 1; column < 310; ++column) {
    const std::string text = render(wide, column, column + 1);
    for (const char *half : {"...\xa4", "\xc3..."})
      EXPECT_EQ(text.find(half), std::string::npos) << column;
  }
  const std::string shorter(240, 'x');
  EXPECT_EQ(render(shorter, 1, 2), "  " + shorter + "\n  ^\n");
}

TEST(Diagnostics, ErrorsCarryMessageAndHint) {
  Error error("what", "do this");
  EXPECT_STREQ(error.what(), "what\nHINT: do this");
  EXPECT_EQ(error.message, "what");
  CompileError compile({Diagnostic::make(DiagnosticId::TypeMismatch,
                                         file("x\n"), {1, 1, 1, 2}, "m")});
  EXPECT_STREQ(compile.what(), "k.py:1:1: error: m [TypeMismatch]\n  x\n  ^\n");
  ASSERT_EQ(compile.diagnostics.size(), 1u);
  EXPECT_STREQ(diagnosticName(compile.diagnostics[0].id), "TypeMismatch");
}

// What a kernel that runs elsewhere lacks here is not a wrong result.
TEST(Diagnostics, GapsOfTheLanguageAreNotErrors) {
  for (const char *text :
       {"k.py:1:2: error: `:=` is not supported [UnsupportedSyntax]",
        "k.py:1:2: error: `torch.finfo` ... [InvalidConstant]",
        "k.py:1:2: error: no file [ImportFailed]"})
    EXPECT_TRUE(namesLanguageGap(text)) << text;
  for (const char *text :
       {"k.py:1:2: error: shapes differ [ShapeMismatch]",
        "k.py:1:2: error: x [UnknownName]", "InvalidConstant", ""})
    EXPECT_FALSE(namesLanguageGap(text)) << text;
}
