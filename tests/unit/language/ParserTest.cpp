// tests/unit/language/ParserTest.cpp - trees, diagnostics, hostile text.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/language/Helpers.h"

#include "language/Decorators.h"
#include "language/Lexer.h"
#include "language/Program.h"
#include "support/Error.h"

#include <gtest/gtest.h>

#include <random>
#include <sstream>

namespace tessera::language {
namespace {

TEST(Parser, PrecedenceIsPythons) {
  std::istringstream lines(testFile("expressions.txt"));
  std::string expression, expected;
  unsigned count = 0;
  while (std::getline(lines, expression) && std::getline(lines, expected)) {
    EXPECT_EQ(dump(*parseExpression(source(expression))), expected.substr(4))
        << expression;
    ++count;
  }
  EXPECT_GE(count, 40u);
}

TEST(Parser, CanonicalTextIsAFixedPoint) {
  auto module = parse(source(testFile("attention_kernel.txt"))).module;
  std::string text = dump(*module);
  const ParseResult again = parse(source(text));
  EXPECT_TRUE(again.ok());
  EXPECT_EQ(dump(*again.module), text);
  EXPECT_NE(module->findFunction("attn_fwd"), nullptr);
  EXPECT_EQ(module->findFunction("attn_fwd")->parameters.size(), 13u);
}

TEST(Parser, RangesNameTheirText) {
  auto module =
      parse(source("@jit\ndef f(a):\n    x = a + \\\n        b(1)\n")).module;
  const auto &assign = module->findFunction("f")->body[0]->to<Assign>();
  EXPECT_EQ(assign.value->range, (SourceRange{3, 9, 4, 13}));
}

struct Bad {
  DiagnosticId id;
  uint32_t line;
  const char *text;
};

TEST(Parser, BadTextIsReportedWithItsLocationAndAHint) {
  using D = DiagnosticId;
  std::string inKernel = "@jit\ndef f(a):\n    ";
  std::vector<std::pair<Bad, bool>> cases = {
      {{D::SyntaxError, 1, "x = = 2\n"}, false},
      {{D::SyntaxError, 2, "@jit\ndef f(1):\n    pass\n"}, false},
      {{D::SyntaxError, 3, "x = 1 +\n"}, true},
      {{D::SyntaxError, 3, "if a\n"}, true},
      {{D::SyntaxError, 3, "else:\n"}, true},
      {{D::SyntaxError, 3, "f(a=1, 2)\n"}, true},
      {{D::SyntaxError, 3, "1 = a\n"}, true},
      {{D::UnsupportedSyntax, 3, "try:\n        a = 1\n"}, true},
      {{D::UnsupportedSyntax, 3, "with a:\n        a = 1\n"}, true},
      {{D::UnsupportedSyntax, 3, "yield a\n"}, true},
      {{D::UnsupportedSyntax, 3, "global a\n"}, true},
      {{D::UnsupportedSyntax, 3, "del a\n"}, true},
      {{D::UnsupportedSyntax, 3, "nonlocal a\n"}, true},
      {{D::UnsupportedSyntax, 3, "break\n"}, true},
      {{D::UnsupportedSyntax, 3, "import x\n"}, true},
      {{D::UnsupportedSyntax, 3, "a[0] = 1\n"}, true},
      {{D::UnsupportedSyntax, 3, "x = f'{a:3d}'\n"}, true},
      {{D::UnsupportedSyntax, 3, "x = f'{a!a}'\n"}, true},
      {{D::UnsupportedSyntax, 3, "x = f'{a!r:>9}'\n"}, true},
      {{D::UnsupportedSyntax, 3, "x = b'a'\n"}, true},
      {{D::UnsupportedSyntax, 3, "x = 2j\n"}, true},
      {{D::InvalidString, 3, "x = '\\N{DASH}'\n"}, true},
      {{D::InvalidText, 3, "x = \xc3\xa9\n"}, true},
      {{D::InvalidString, 3, "x = f'{a'\n"}, true},
      {{D::InvalidString, 3, "x = f'a}'\n"}, true},
      {{D::SyntaxError, 3, "x = f'{}'\n"}, true},
      {{D::UnsupportedSyntax, 4, "while a:\n        del B\n"}, true},
      {{D::UnsupportedSyntax, 3, "g(**a)\n"}, true},
      {{D::UnsupportedSyntax, 3, "x = {i: i for i in a}\n"}, true},
      {{D::UnsupportedSyntax, 3, "(y := 1)\n"}, true},
      {{D::UnsupportedSyntax, 5,
        "for i in range(3):\n        pass\n    else:\n        pass\n"},
       true},
      {{D::UnsupportedSyntax, 2, "@jit\ndef f(*a):\n    pass\n"}, false},
      {{D::InvalidText, 1, "x = 1 ? 2\n"}, false},
      {{D::InvalidText, 2, "\nx = '\xff'\n"}, false},
      {{D::InvalidIndentation, 2, "x = 1\n  y = 2\n"}, false},
      {{D::InvalidIndentation, 3, "def f():\n        x = 1\n\ty = 2\n"}, false},
      {{D::InvalidNumber, 1, "x = 0x\n"}, false},
      {{D::InvalidNumber, 1, "x = 012\n"}, false},
      {{D::InvalidNumber, 1, "x = 1__0\n"}, false},
      {{D::InvalidNumber, 3, "x = 170141183460469231731687303715884105728\n"},
       true},
      {{D::InvalidNumber, 3, "x = 0x80000000000000000000000000000000\n"}, true},
      {{D::InvalidNumber, 3,
        "x = 0o2000000000000000000000000000000000000000000\n"},
       true},
      {{D::SyntaxError, 1, "@jit 3\ndef f(a):\n    pass\n"}, false},
      {{D::SyntaxError, 1, "@jit 1 def f(a):\n    pass\n"}, false},
      {{D::InvalidString, 1, "x = 'abc\n"}, false},
      {{D::InvalidString, 1, "x = '\\x4'\n"}, false},
      {{D::UnclosedBracket, 1, "x = (1\n\ndef f():\n    pass\n"}, false},
      {{D::UnclosedBracket, 1, "x = 1)\n"}, false},
      {{D::DuplicateName, 2, "@jit\ndef f(a, a):\n    pass\n"}, false},
      {{D::InvalidHint, 1, "# tessera: swap_ab\n"}, false},
      {{D::InvalidHint, 3, "# tessera: swap_ab\n"}, true},
  };
  for (const auto &[bad, nested] : cases) {
    std::string text = (nested ? inKernel : std::string()) + bad.text;
    ParseResult result = parse(source(text));
    ASSERT_FALSE(result.ok()) << text;
    const Diagnostic &first = result.diagnostics[0];
    EXPECT_STREQ(diagnosticName(first.id), diagnosticName(bad.id)) << text;
    EXPECT_EQ(first.range.line, bad.line) << first.render();
    EXPECT_FALSE(first.hint.empty()) << first.render();
  }
}

// A file may also hold what prepares launches; of that only imports are read.
TEST(Parser, CodeAroundKernelsIsNotRead) {
  ParseResult result = parse(source(R"(
import os
try:
    from triton.language.extra import libdevice
except ImportError:
    from elsewhere import libdevice
if os.name == "x":
    from math import pi as PI
    E = {1, 2}
else:
    PI = call(**more)
    if PI:
        class Inner: pass
    @jit
    def inner(p):
        pass
class Function(torch.autograd.Function):
    @staticmethod
    def forward(ctx, *args, **kwargs):
        with torch.no_grad(): yield
@pytest.mark.parametrize("n", [1, 2])
def test(n, *args, k: int = 2, **more) -> None:
    y = f"{n:08d} {n!r}"
    while True: break
print(f"{1:.2f}")
os.environ["A"] = "b"
@jit
def k(p):
    pass
)"));
  for (const Diagnostic &diagnostic : result.diagnostics)
    ADD_FAILURE() << diagnostic.render();
  std::string names;
  for (const StmtPtr &stmt : result.module->body)
    if (const auto *from = stmt->as<ImportFrom>())
      names += from->module + "." + from->name + " ";
    else if (const auto *function = stmt->as<FunctionDef>())
      names += function->name + " ";
    else if (const auto *assign = stmt->as<Assign>())
      names += dump(*assign->targets[0]) + " ";
  EXPECT_EQ(names, "triton.language.extra.libdevice PI E inner test "
                   "os.environ['A'] k ");
}

// Python that kernels do not have, in statements around them.
TEST(Parser, HostStatementsOfPythonAreSkipped) {
  for (const char *text : {
           R"(x = b'a' + rb'\u' + Rb"""c
""" + b'\N{'
)",
           R"(x = u'a' + '\N{EM DASH}' + '\ud800'
)",
           "x = (y := 3) + 1_000.5e-1_0j + 0o17 + 1if y else 2\n",
           "x = {n for n in (1, 2)} - {*a, *b}\n",
           "x = lambda *args, k=1, **more: args\n",
           "x = lambda a, /, b: a\n",
           "x = f(a, *b, c=1, *d, **e)\n",
           "x = a[*b, 1:2, ...]\n",
           "a.b: int = 3\n",
           "a['b'] += 3\n",
           "x = 170141183460469231731687303715884105728\n",
           "na\xc3\xafve = gr\xc3\xb6\n",
           "from math import *\n",
           "match x:\n    case {'a': b}:\n        pass\n    case _: y = 1\n",
           "match = 3\ntype = match\nprint(match, type)\n",
           "type X[T] = list[T]\n",
           "def f[T: int](a: T, /, *b, c=b'', **d) -> T:\n    return b''\n",
           "async def f():\n    async with a as b: await c\n",
           "class C[T](A, metaclass=B):\n    x = b''\n",
           "@dec(b'', (y := 2), *z)\ndef f(): pass\n",
           "@a.b[c](lambda: (yield))\nclass D: pass\n",
           "@overload\ndef f(a: int): ...\n@overload\ndef f(a: str): ...\n"
           "def f(a): return a\n",
           "with (open(a) as b, c as (d, e)):\n    x = b''\n",
           "for a, *b in c: x = b''\nelse:\n    y = 1\n",
           "while (y := f()):\n    break\n",
           "try:\n    x = b''\nexcept* E as e:\n    pass\nfinally: y = 1\n",
           "del a, b[0]\n",
           R"(x = f'{a!r:>{w}} {b=} {{}} {c["d"]:%Y-%m-%d}'
)",
           R"(x = f"{a["b"]} {f"{c["d"]}"}" f'''{
 a # }
 }'''
)",
           R"(x = rf'\{a}\d{{2}}' + f'\N{DASH}{b}'
)",
           "x = f'{a:{b}{c!r:>{d}}}' + f'{lambda_}' + f'{a != b}'\n",
           "x = t'{a}'\n",
           "if a: x = b''\nelif b: x = 1\nelse: x = {n for n in y}\n",
           "x = a if b else lambda: c\nassert x, b''\n",
           "x = [*a, *(b'',)]; y = 2\n",
           "x = \\\n    b''\n",
           "__all__ += ['a']\n",
       }) {
    ParseResult result = parse(source(
        std::string(text) + "@triton.jit\ndef k(a):\n    return a + 1\n"));
    for (const Diagnostic &diagnostic : result.diagnostics)
      ADD_FAILURE() << text << diagnostic.render();
    ASSERT_TRUE(result.module->findFunction("k")) << text;
    EXPECT_TRUE(result.module->findFunction("k")->isJit) << text;
    EXPECT_EQ(dump(*result.module->findFunction("k")->body.at(0)),
              "return (a + 1)\n")
        << text;
  }
}

std::string kernelsOf(const std::string &text) {
  ParseResult result = parse(source(text));
  for (const Diagnostic &diagnostic : result.diagnostics)
    ADD_FAILURE() << diagnostic.render();
  std::string names;
  for (const Block *block : {&result.module->body, &result.module->nested})
    for (const StmtPtr &stmt : *block)
      if (const auto *function = stmt->as<FunctionDef>();
          function && function->isJit)
        names += function->name + " ";
  return names;
}

TEST(Parser, OnlyTritonsJitMakesKernels) {
  const std::pair<const char *, const char *> cases[] = {
      {"import triton as t\n@t.jit\ndef k(): pass\n", "k "},
      {"from triton import jit\n@jit\ndef k(): pass\n", "k "},
      {"from triton import jit as j\n@j\ndef k(): pass\n", "k "},
      {"import triton\n@cached(1)\n@triton.jit(debug=True)\n@x\ndef k(): "
       "pass\n",
       "k "},
      {"from .compat import triton\n@triton.jit\ndef k(): pass\n", "k "},
      {"from tessera import triton\n@triton.jit\ndef k(): pass\n", "k "},
      {"import tessera\n@tessera.jit\ndef k(): pass\n", "k "},
      {"import numba\n@numba.jit(nopython=True)\ndef k(): pass\n", ""},
      {"from numba import jit\n@jit\ndef k(): pass\n", ""},
      {"import torch\n@torch.jit.script\ndef k(): pass\n", ""},
      {"import tilelang as other\n@other.jit\ndef k(): pass\n", ""},
      {"from triton.experimental import gluon\n@gluon.jit\ndef k(): pass\n",
       ""},
      {"try:\n    import triton\nexcept ImportError:\n    pass\n"
       "if triton:\n    @triton.jit\n    def k(): pass\n",
       "k "},
      {"import triton\ndef f(n):\n    @triton.jit\n    def k(a, b): pass\n"
       "    return k\nclass C:\n    @staticmethod\n    @triton.jit\n"
       "    def m(*a): pass\n    @property\n    def p(self): pass\n",
       "k m "}};
  for (const auto &[text, names] : cases)
    EXPECT_EQ(kernelsOf(text), names) << text;
}

TEST(Parser, LimitsAreErrors) {
  const std::string kernel = "@jit\ndef f(a):\n    x = ";
  for (const std::string &text :
       {"x = " + std::string(5000, '(') + "1", kernel + std::string(5000, '-'),
        std::string(2 << 20, '#')}) {
    ParseResult result = parse(source(text));
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.diagnostics[0].id, DiagnosticId::TooComplex);
  }
  std::string chain = kernel + "a";
  for (int i = 0; i < 100000; ++i)
    chain += "+a";
  EXPECT_EQ(parse(source(chain)).diagnostics[0].id, DiagnosticId::TooComplex);
}

// Giving up inside of an f-string went back to its text with the line of the
// file's end: columns wrapped around. So did a bracket that ends at a `def`.
TEST(Parser, LocationsAfterFStrings) {
  for (const std::string &text :
       {std::string(100, '(') + "f\"n is {n}\"\nx = 1\n\nlonger = 2\n",
        std::string(98, '(') + "f\"n is {((n))}\"\nx = 1\n\nlonger = 2\n",
        std::string(96, '(') + "f\"a {f'b {((n))}'}\"\nx = 1\n\nlonger = 2\n",
        std::string(
            "x = f\"\"\"a {(\ndef f\n   + 1:3} b\"\"\" + 1\ny = 2\n")}) {
    const auto file = source(text);
    const TokenList list = lex(file);
    EXPECT_FALSE(list.diagnostics.empty()) << text;
    for (const Token &token : list.tokens) {
      ASSERT_LE(token.range.line, file->lineCount() + 1) << text;
      EXPECT_GE(token.range.column, 1u) << text;
      EXPECT_LE(token.range.column, file->line(token.range.line).size() + 2)
          << text << token.range.line;
    }
  }
}

TEST(Parser, IndependentErrorsAreAllReported) {
  ParseResult result = parse(source("x = = 1\n"
                                    "@jit\n"
                                    "def f(a):\n"
                                    "    with a:\n"
                                    "        a = 2\n"
                                    "    b = 1 +\n"
                                    "    if a\n"
                                    "        b = )\n"
                                    "@jit\n"
                                    "def g(a):\n"
                                    "    return a $ 1\n"));
  std::vector<uint32_t> lines;
  for (const Diagnostic &diagnostic : result.diagnostics)
    lines.push_back(diagnostic.range.line);
  EXPECT_EQ(lines, (std::vector<uint32_t>{1, 4, 6, 7, 8, 11}));
  std::string many;
  for (int i = 0; i < 100; ++i)
    many += "x = = 1\n";
  EXPECT_EQ(parse(source(many)).diagnostics.size(), maxDiagnostics);
}

TEST(Parser, NoTextCrashes) {
  std::string good = testFile("attention_kernel.txt");
  std::mt19937 random(7);
  const std::string alphabet = "ab1 .,:=()[]{}'\"\\\n\t#@+-*/<>~\xc3\xa9\xff";
  for (int i = 0; i < 5000; ++i) {
    std::string text(random() % 200, ' ');
    for (char &c : text)
      c = i % 2 ? char(random()) : alphabet[random() % alphabet.size()];
    parse(source(text));
  }
  for (int i = 0; i < 5000; ++i) {
    std::string text = good;
    for (unsigned k = 0; k <= random() % 4; ++k) {
      size_t from = random() % text.size();
      text.erase(from, 1 + random() % 6);
    }
    parse(source(text));
  }
}

} // namespace
} // namespace tessera::language
