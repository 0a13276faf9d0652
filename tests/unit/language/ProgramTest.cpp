// tests/unit/language/ProgramTest.cpp - constants, decorators, hints, requests.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/language/Helpers.h"

#include "language/Decorators.h"
#include "language/Expand.h"
#include "language/Manifest.h"
#include "support/Error.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <map>
#include <set>

namespace tessera::language {
namespace {

const std::string header = "import math\nimport torch\nimport triton\n"
                           "import triton.language as tl\n";

std::shared_ptr<const Program>
program(const std::string &text,
        std::map<std::string, std::string> others = {}) {
  return Program::load(
      "dir/k.py", header + text,
      [others](const std::string &path) -> std::optional<std::string> {
        auto found = others.find(path);
        if (found == others.end())
          return std::nullopt;
        return found->second;
      });
}

std::string constant(const std::string &expression) {
  auto loaded =
      program("X = " + expression + "\n@triton.jit\ndef f():\n    pass\n");
  return loaded->lookup(loaded->kernel("f"), "X")->value.repr();
}

DiagnosticId errorOf(const std::function<void()> &action) {
  try {
    action();
  } catch (const CompileError &error) {
    EXPECT_FALSE(error.diagnostics.empty());
    EXPECT_FALSE(error.diagnostics[0].hint.empty());
    EXPECT_TRUE(error.diagnostics[0].range.known());
    return error.diagnostics[0].id;
  }
  ADD_FAILURE() << "no error";
  return DiagnosticId::CodegenFailed;
}

TEST(Evaluate, AsPython) {
  // Right sides as printed by Python 3.11.
  const std::pair<const char *, const char *> cases[] = {
      {"-7 // 2", "-4"},
      {"-7 % 3", "2"},
      {"7 % -3", "-2"},
      {"-7.5 // 2", "-4.0"},
      {"-7.5 % 2", "0.5"},
      {"2 ** 10", "1024"},
      {"2 ** -1", "0.5"},
      {"1 / 2", "0.5"},
      {"1 < 2 < 3", "True"},
      {"1 == 1.0", "True"},
      {"[1, 2] + [3] * 2", "[1, 2, 3, 3]"},
      {"0 or 'a'", "'a'"},
      {"not []", "True"},
      {"max(1, 2.5, 2)", "2.5"},
      {"len((1, 2, 3))", "3"},
      {"math.ceil(2.1)", "3"},
      {"math.log2(8)", "3.0"},
      {"triton.cdiv(7, 2)", "4"},
      {"triton.next_power_of_2(17)", "32"},
      {"[i * i for i in range(4) if i % 2]", "[1, 9]"},
      {"{'a': 1, **{'b': 2}}['b']", "2"},
      {"(lambda x, y: x - y)(5, 3)", "2"},
      {"1e16", "1e+16"},
      {"1e-5", "1e-05"},
      {"0.1 + 0.2", "0.30000000000000004"},
      {"1 << 70", "1180591620717411303424"},
      {"True + 1", "2"},
      {"[*[1], *(2, 3)]", "[1, 2, 3]"},
      {"tl.float32", "tl.float32"},
      {"tl.core.float16", "tl.float16"},
      {"tl.standard.cdiv(7, 2)", "4"},
      {"float('-inf')", "-inf"},
      {"float('inf')", "inf"},
      {"float('+Infinity')", "inf"},
      {"170141183460469231731687303715884105727",
       "170141183460469231731687303715884105727"},
      {"0x7fffffffffffffffffffffffffffffff",
       "170141183460469231731687303715884105727"},
      {"0o1777777777777777777777777777777777777777777",
       "170141183460469231731687303715884105727"},
      {"sum(x for x in range(5))", "10"},
      {"f'{1 + 1=} {\"a\"!r} {\"a\"!s} {[1] = }'",
       "\"1 + 1=2 'a' a [1] = [1]\""},
      {"f\"{ {\"a\": 'b'}[\"a\"] }\"", "'b'"},
      {"f'''a \"'{1}\"' {2}'''", "'a \"\\'1\"\\' 2'"},
      {"rf'\\{1}\\d{2}' + f'\\x41\\\"{3}'", "'\\\\1\\\\d2A\"3'"},
      // As torch.finfo and torch.iinfo give them.
      {"torch.finfo(torch.float8_e4m3fn).min", "-448.0"},
      {"torch.finfo(torch.float8_e5m2).max", "57344.0"},
      {"torch.finfo(torch.bfloat16).max", "3.3895313892515355e+38"},
      {"torch.finfo(torch.float16).eps", "0.0009765625"},
      {"torch.finfo(torch.float32).tiny", "1.1754943508222875e-38"},
      {"torch.finfo(torch.float32).max", "3.4028234663852886e+38"},
      {"torch.finfo(torch.float64).eps", "2.220446049250313e-16"},
      {"torch.finfo(torch.half).bits", "16"},
      {"torch.iinfo(torch.int64).min", "-9223372036854775808"},
      {"torch.iinfo(torch.uint8).max", "255"},
      {"math.tau", "6.283185307179586"}};
  for (const auto &[expression, expected] : cases)
    EXPECT_EQ(constant(expression), expected) << expression;
}

TEST(Evaluate, ErrorsHaveLocations) {
  for (const char *bad :
       {"1 // 0", "1 + 'a'", "[1][3]", "{}['a']", "1 << 200", "range(10 ** 9)",
        "(lambda x: x)()", "X", "math.sqrt(-1)", "'a' < 1",
        // Each list is short, all together are not.
        "[[0] * 1000] * 1000", "[[0] * 60000, [0] * 60000]",
        "[[0] * 1000 for i in range(1000)]",
        "{i: [0] * 1000 for i in range(1000)}",
        "([0] * 600, [0] * 60000) + ([0] * 60000, 1)",
        "[*[[0] * 60000], *[[0] * 60000]]",
        "{'a': [0] * 60000, 'b': [0] * 60000}"})
    EXPECT_EQ(errorOf([&] { constant(bad); }), DiagnosticId::InvalidConstant)
        << bad;
  // 2^18 letters in the end.
  std::string doubled = "'ab'";
  for (int i = 0; i < 17; ++i)
    doubled = "(lambda a: f'{a}{a}')(" + doubled + ")";
  EXPECT_EQ(errorOf([&] { constant(doubled); }), DiagnosticId::InvalidConstant);
  EXPECT_EQ(errorOf([] { constant("nowhere"); }),
            DiagnosticId::UnknownConstant);
}

const std::string tuned = R"(
TILES = [32, 64]
D0 = 8
# tessera: instance small(Q="*bf16:16", S="i32:16", D=64, EVEN=True, BM=32)
# tessera: cpu(BM=32)
# tessera: space(BM=[8, 16], D=[D0], where=BM * D <= 64)
# tessera: stages(k=3)
# tessera: swap_ab
# tessera: constant_inputs
# tessera: predicate
@triton.autotune(configs=[triton.Config({"BM": b}, num_warps=w) for b in TILES for w in (4, 8)], key=["S"])
@triton.heuristics({"EVEN": lambda args: args["S"] % 64 == 0 and args["Q"] is not None})
@triton.jit(do_not_specialize=["S"])
def f(Q, S, D: tl.constexpr, EVEN: tl.constexpr, BM: tl.constexpr = 16):
    pass
)";

// Triton ignores names that are not parameters; published kernels have some.
TEST(Decorators, NamesThatAreNoParametersAreNotSpecialized) {
  const auto loaded =
      program("@triton.jit(do_not_specialize=[\"S\", \"renamed\"])\n"
              "def f(Q, S):\n    pass\n");
  const KernelInfo info = describeKernel(*loaded, loaded->kernel("f"));
  EXPECT_FALSE(info.signature.parameters[0].doNotSpecialize);
  EXPECT_TRUE(info.signature.parameters[1].doNotSpecialize);
}

// Triton lets a heuristic choose num_warps. A kernel file cannot, which counts
// as unsupported and not as an error of the file.
TEST(Decorators, HeuristicsOfLaunchOptionsAreUnsupported) {
  for (const char *function : {"lambda args: 4", "lambda args: choose(args)"}) {
    SCOPED_TRACE(function);
    const auto loaded = program("def choose(args):\n    return print(args)\n"
                                "@triton.heuristics({\"num_warps\": " +
                                std::string(function) +
                                "})\n@triton.jit\ndef f(Q):\n    pass\n");
    const auto found = listKernels(*loaded);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].outcome, ListedKernel::Outcome::Unsupported);
  }
}

TEST(Decorators, AreEvaluated) {
  auto loaded = program(tuned);
  KernelInfo info = describeKernel(*loaded, loaded->kernel("f"));
  ASSERT_EQ(info.configs.size(), 4u);
  EXPECT_EQ(Value(info.configs[3]).repr(),
            "triton.Config({'BM': 64}, num_warps=8)");
  EXPECT_EQ(info.key, std::vector<std::string>{"S"});
  EXPECT_TRUE(info.signature.parameters[1].doNotSpecialize);
  ASSERT_EQ(info.heuristics.size(), 1u);
  auto even = [&](Value s, Value q) {
    return applyHeuristic(info, info.heuristics[0], {{"S", s}, {"Q", q}})
        .repr();
  };
  EXPECT_EQ(even(128, Value::DType{"bf16"}), "True");
  EXPECT_EQ(even(100, Value::DType{"bf16"}), "False");
  EXPECT_EQ(even(128, Value()), "False");
  const Hints &hints = info.hints;
  ASSERT_EQ(hints.instances.size(), 1u);
  EXPECT_EQ(hints.instances[0].arguments[0].type, "*bf16:16");
  EXPECT_EQ(hints.cpuConfigs.size(), 1u);
  ASSERT_EQ(hints.spaces.size(), 1u);
  ASSERT_EQ(hints.spaces[0].values.size(), 2u);
  EXPECT_EQ(hints.spaces[0].values[0].first, "BM");
  EXPECT_EQ(hints.spaces[0].values[0].second.size(), 2u);
  EXPECT_EQ(hints.spaces[0].values[1].second[0].repr(), "8");
  EXPECT_TRUE(hints.spaces[0].where);
  EXPECT_EQ(hints.stages, 3);
  EXPECT_TRUE(hints.swapAb && hints.predicate && hints.constantInputs);
  EXPECT_NE(manifestJson(*loaded).find("\"num_warps\":8"), std::string::npos);
}

// The tuner's configurations may come from code that is not run: a launch that
// gives every constexpr does without them.
TEST(Decorators, ConfigurationsOfHostCode) {
  for (const char *configs :
       {"make()", "LIST", "list(filter(good, LIST))", "make() + [1]"}) {
    auto loaded = program(
        "def make():\n    with torch.device(0):\n        return []\n"
        "LIST = make()\n"
        "@triton.autotune(configs=" +
        std::string(configs) +
        ", key=[])\n@triton.jit\ndef f(a, B: tl.constexpr):\n    pass\n");
    KernelInfo info = describeKernel(*loaded, loaded->kernel("f"));
    EXPECT_TRUE(info.configs.empty());
    EXPECT_FALSE(info.unreadConfigs.empty()) << configs;
  }
}

// Functions of the file that are arithmetic, loops and lists are run.
TEST(Decorators, ConfigurationsOfHostFunctions) {
  auto loaded = program(R"(
SIZES = (16, 32)
def enough(bm, bn, *, most=1 << 11):
    return bm * bn <= most
def fits(bm, bn, most=1 << 11):
    """Whether a tile is small enough."""
    return bm * bn <= most
def one(bm, **more):
    return triton.Config({"BM": bm})
def configs(sizes, warps=(4,)):
    found = []
    for bm in sizes:
        bn = 2 * bm
        while bn < 128:
            if bn == 64 and bm == 16:
                bn *= 2
                continue
            if not fits(bm, bn):
                break
            pairs: list = [(w, 8 // w) for w in warps]
            for w, stages in pairs:
                found.append(triton.Config({"BM": bm, "BN": bn}, num_warps=w, num_stages=stages))
            bn += bm if bm > 16 else bn
    found.extend([triton.Config(dict_of(64))])
    return found
def dict_of(bm):
    return {"BM": bm, "BN": bm}
def is_even(args):
    size = args["n"]
    return size % 2 == 0 and size > 2
@triton.autotune(configs=configs(SIZES, warps=[2, 4]), key=[])
@triton.heuristics({"EVEN": is_even, "ODD": lambda args: not is_even(args), "OTHER": enough})
@triton.jit
def f(n, BM: tl.constexpr, BN: tl.constexpr, EVEN: tl.constexpr, ODD: tl.constexpr, OTHER: tl.constexpr):
    pass
)");
  KernelInfo info = describeKernel(*loaded, loaded->kernel("f"));
  EXPECT_EQ(info.unreadConfigs, "");
  std::string all;
  for (const Value::Config &config : info.configs)
    all += Value(config).repr() + "\n";
  // What Python gives for the same text.
  EXPECT_EQ(all,
            "triton.Config({'BM': 16, 'BN': 32}, num_warps=2, num_stages=4)\n"
            "triton.Config({'BM': 16, 'BN': 32}, num_warps=4, num_stages=2)\n"
            "triton.Config({'BM': 32, 'BN': 64}, num_warps=2, num_stages=4)\n"
            "triton.Config({'BM': 32, 'BN': 64}, num_warps=4, num_stages=2)\n"
            "triton.Config({'BM': 64, 'BN': 64})\n");
  ASSERT_EQ(info.heuristics.size(), 3u);
  for (int n : {2, 3, 8}) {
    const std::vector<std::pair<std::string, Value>> arguments{{"n", n}};
    EXPECT_EQ(applyHeuristic(info, info.heuristics[0], arguments).repr(),
              n == 8 ? "True" : "False");
    EXPECT_EQ(applyHeuristic(info, info.heuristics[1], arguments).repr(),
              n == 8 ? "False" : "True");
  }
  // One that is not read is an error only where it is asked for.
  try {
    applyHeuristic(info, info.heuristics[2], {});
    FAIL();
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find("`OTHER`"), std::string::npos);
  }
}

TEST(Decorators, HostFunctionsEnd) {
  for (const char *body :
       {"    while True:\n        n = n + 1\n", "    return make(n)\n",
        "    x = []\n    while True:\n        x.append(n)\n",
        "    raise ValueError(n)\n", "    assert n > 1\n",
        "    for i in n:\n        pass\n", "    a, b = n\n",
        "    n.append(1)\n"}) {
    auto loaded =
        program("def make(n):\n" + std::string(body) +
                "@triton.autotune(configs=make(1), key=[])\n"
                "@triton.heuristics({'B': nowhere.f})\n"
                "@triton.jit\ndef f(a, B: tl.constexpr):\n    pass\n");
    KernelInfo info = describeKernel(*loaded, loaded->kernel("f"));
    EXPECT_TRUE(info.configs.empty()) << body;
    EXPECT_FALSE(info.unreadConfigs.empty()) << body;
    ASSERT_EQ(info.heuristics.size(), 1u);
    EXPECT_THROW(applyHeuristic(info, info.heuristics[0], {}), Error);
  }
}

TEST(Program, Aggregates) {
  const std::string source = R"(
WIDTH = 3
@triton.jit
def scaled(x, by):
    return x * by
@triton.aggregate
class Sum:
    """A sum."""
    total: tl.tensor
    COUNT: tl.constexpr
    def __init__(self, total, count=WIDTH):
        self.total = total
        if count is None:
            self.COUNT = 0
        else:
            self.COUNT = self.total * count
    @triton.jit
    def add(self, x):
        return Sum(scaled(self.total, x), self.COUNT)
    @triton.constexpr_function
    def twice(n):
        return 2 * n
    def host(self):
        self.total = 3
        return [x for x in open(self)]
@triton.aggregate
class Child(Sum):
    x: tl.tensor
@triton.aggregate
class Strange:
    x: tl.tensor
    y = 3
@triton.aggregate
@other
class Two:
    x: tl.tensor
@triton.jit
def f(a):
    s = Sum(a).add(2)
)";
  auto loaded = program(source);
  const FunctionDef *sum = loaded->main().findFunction("Sum");
  ASSERT_TRUE(sum);
  EXPECT_TRUE(sum->isNamedTuple && sum->isAggregate);
  EXPECT_EQ(sum->parameters.size(), 2u);
  EXPECT_TRUE(sum->parameters[1].isConstexpr);
  ASSERT_EQ(sum->methods.size(), 3u); // not `host`
  for (const char *unread : {"Child", "Strange", "Two"})
    EXPECT_FALSE(loaded->main().findFunction(unread)) << unread;
  // The text of a kernel has the class and what its functions use, and is its
  // own canonical text.
  const std::string text = expand(*loaded, loaded->kernel("f")).text;
  for (const char *part :
       {"@triton.aggregate\nclass Sum:\n    total: tl.tensor\n",
        "self.total = total", "def scaled(x, by)", "WIDTH = 3", "def twice(n)"})
    EXPECT_NE(text.find(part), std::string::npos) << part << text;
  auto again = Program::load("again.py", text, nullptr);
  EXPECT_EQ(expand(*again, again->kernel("f")).text, text);
}

TEST(Program, NamedTuples) {
  auto loaded = program(R"(
from typing import NamedTuple
import typing
class Pair(NamedTuple):
    """Two values."""
    first: tl.tensor
    second: tl.constexpr = 2 + 1
class Other(typing.NamedTuple):
    x: int
class More(NamedTuple):
    x: int
    def sum(self):
        return self.x
    @triton.jit
    def product(self, y):
        return self.x * y
class Plain:
    x: int = 1
@triton.jit
def f(a):
    p = Pair(a, 4)
)");
  const FunctionDef *pair = loaded->main().findFunction("Pair");
  ASSERT_TRUE(pair && pair->isNamedTuple);
  EXPECT_EQ(dump(*pair), "class Pair(NamedTuple):\n    first: tl.tensor\n"
                         "    second: tl.constexpr = (2 + 1)\n");
  EXPECT_TRUE(loaded->main().findFunction("Other"));
  // Kernels see the functions under triton.jit only.
  const FunctionDef *more = loaded->main().findFunction("More");
  ASSERT_TRUE(more);
  EXPECT_TRUE(more->method("product"));
  EXPECT_FALSE(more->method("sum"));
  EXPECT_FALSE(loaded->main().findFunction("Plain"));
  const std::string text = expand(*loaded, loaded->kernel("f")).text;
  EXPECT_NE(text.find(dump(*pair)), std::string::npos) << text;
  // The canonical text is its own canonical text.
  auto again = Program::load("again.py", text, nullptr);
  EXPECT_EQ(expand(*again, again->kernel("f")).text, text);
}

// What a kernel needs of code that is not read is an error of the use.
TEST(Program, UnreadNamesAreErrorsOfTheirUse) {
  const std::string text = R"(
A = {n for n in (1, 2)}
for B in range(3):
    C = B
D: int = (lambda *a: 1)()
if (E := 4) > 3: pass
async def background():
    H = 8
    I = 9
G = A
F = 5
F += 1
H = 7
@triton.jit
def f(a, n: tl.constexpr = H):
    pass
)";
  auto loaded = program(text);
  const FunctionDef &kernel = loaded->kernel("f");
  for (const char *name : {"A", "B", "C", "D", "E"}) {
    const auto symbol = loaded->lookup(kernel, name);
    ASSERT_TRUE(symbol) << name;
    EXPECT_EQ(symbol->kind, Symbol::Kind::Unread) << name;
    EXPECT_EQ(symbol->why.substr(0, 9), "dir/k.py:") << symbol->why;
    EXPECT_FALSE(symbol->hint.empty());
  }
  EXPECT_EQ(loaded->lookup(kernel, "A")->why,
            "dir/k.py:6: a set comprehension is not supported");
  EXPECT_EQ(loaded->lookup(kernel, "H")->value.repr(), "7");
  EXPECT_EQ(loaded->lookup(kernel, "background")->kind, Symbol::Kind::Unread);
  EXPECT_FALSE(loaded->lookup(kernel, "I"));
  EXPECT_EQ(errorOf([&] { loaded->lookup(kernel, "F"); }),
            DiagnosticId::InvalidConstant);
  try {
    loaded->lookup(kernel, "G");
    FAIL();
  } catch (const CompileError &error) {
    EXPECT_NE(error.diagnostics.at(0).message.find("dir/k.py:6"),
              std::string::npos)
        << error.diagnostics[0].message;
    EXPECT_EQ(error.diagnostics[0].range.line, 14u);
  }
}

// A kernel that cannot be compiled is listed with the reason and does not stop
// the others.
TEST(Program, ListsWhatIsNotSupported) {
  auto loaded = program(R"(
@triton.jit
def good(a):
    pass
@triton.jit
def handles(a, B: tl.constexpr):
    try:
        pass
    except ValueError:
        pass
@triton.jit
def spread(*a):
    pass
@triton.autotune(configs=[triton.Config({"Z": 1})], key=[])
@triton.jit
def wrong(a):
    pass
@cached(3)
@triton.jit
def undefined(a):
    pass
@triton.jit
def reads(a, B: tl.constexpr = elsewhere.VALUE):
    pass
def factory():
    @triton.jit
    def inner(a, b):
        pass
)");
  std::string all;
  for (const ListedKernel &kernel : listKernels(*loaded)) {
    using Outcome = ListedKernel::Outcome;
    all += kernel.function->name + (kernel.outcome == Outcome::Ok ? " ok\n"
                                    : kernel.outcome == Outcome::Unsupported
                                        ? " unsupported\n"
                                        : " error\n");
    EXPECT_EQ(kernel.problems.empty(), kernel.outcome == Outcome::Ok);
  }
  EXPECT_EQ(all, "good ok\nhandles unsupported\nspread unsupported\n"
                 "wrong error\nundefined error\nreads unsupported\n"
                 "inner unsupported\n");
  EXPECT_EQ(errorOf([&] { makeRequest(*loaded, "handles"); }),
            DiagnosticId::UnsupportedSyntax);
  EXPECT_NE(makeRequest(*loaded, "good").text.find("def good"),
            std::string::npos);
}

// A decorator above triton.jit wraps the launch; one below gives triton.jit
// another function.
TEST(Decorators, UnknownDecoratorsAboveJitMatterToLaunchesAlone) {
  const std::string imports =
      "from functools import lru_cache\nfrom triton import jit as make\n";
  auto loaded = program(imports + "@lru_cache(3)\n@triton.autotune(configs="
                                  "[triton.Config({'B': 1})], key=['x', 'a'])\n"
                                  "@make\n"
                                  "def f(a, B: tl.constexpr):\n    pass\n");
  KernelInfo info = describeKernel(*loaded, loaded->kernel("f"));
  EXPECT_NE(info.unreadConfigs.find("lru_cache"), std::string::npos);
  EXPECT_EQ(info.key, std::vector<std::string>{"a"}); // Triton passes over x
  EXPECT_EQ(info.configs.size(), 1u);
  const std::string text = makeRequest(*loaded, "f").text;
  EXPECT_NE(text.find("@make\ndef f"), std::string::npos) << text;
  auto below = program(imports + "@triton.jit\n@lru_cache(3)\n"
                                 "def f(a, B: tl.constexpr):\n    pass\n");
  EXPECT_EQ(errorOf([&] { describeKernel(*below, below->kernel("f")); }),
            DiagnosticId::InvalidDecorator);
  EXPECT_EQ(errorOf([&] { makeRequest(*below, "f"); }),
            DiagnosticId::InvalidDecorator);
}

// Imports are followed where a kernel needs a name of them.
TEST(Program, ImportsThatNoKernelNeedsAreNotRead) {
  const std::map<std::string, std::string> others = {
      {"dir/broken.py", "x = = 1\ndef host(): pass\n"},
      {"dir/pack/__init__.py", "from .deep import *\nfrom math import *\n"},
      {"dir/pack/deep.py", "WIDTH = 8\n_HIDDEN = 9\n"}};
  const std::string body = "from .broken import host\n"
                           "from .nowhere import other\n"
                           "from . import beside\n"
                           "from .pack import *\n"
                           "@triton.jit\ndef f(a):\n    tl.store(a, WIDTH)\n";
  auto loaded = program(body, others);
  const FunctionDef &kernel = loaded->kernel("f");
  EXPECT_EQ(loaded->files().size(), 1u);
  EXPECT_NE(makeRequest(*loaded, "f").text.find("WIDTH = 8"),
            std::string::npos);
  EXPECT_EQ(makeRequest(*loaded, "f").sources.size(), 3u);
  EXPECT_EQ(errorOf([&] { loaded->lookup(kernel, "host"); }),
            DiagnosticId::SyntaxError);
  for (const char *name : {"other", "beside"})
    EXPECT_EQ(errorOf([&] { loaded->lookup(kernel, name); }),
              DiagnosticId::ImportFailed);
  EXPECT_FALSE(loaded->lookup(kernel, "_HIDDEN"));
  EXPECT_EQ(loaded->lookup(kernel, "pi")->path, "math.pi");
}

TEST(Decorators, MistakesAreReported) {
  auto describe = [](const std::string &above) {
    return errorOf([&] {
      auto loaded = program(
          above + "\n@triton.jit\ndef f(a, B: tl.constexpr):\n    pass\n");
      describeKernel(*loaded, loaded->kernel("f"));
    });
  };
  for (const char *bad :
       {"@triton.autotune(confgs=[], key=[])",
        "@triton.autotune(configs=[1], key=[])",
        "@triton.autotune(configs=[triton.Config({'C': 1})], key=[])",
        "@triton.autotune(configs=[triton.Config({'a': 1})], key=[])",
        "@triton.heuristics({'B': 1})", "@triton.other"})
    EXPECT_EQ(describe(bad), DiagnosticId::InvalidDecorator) << bad;
  for (const char *bad :
       {"# tessera: cpo(B=1)",
        "# tessera: cpu(C=1)",
        "# tessera: cpu(a=1)",
        "# tessera: instance x(a='*fp31', B=1)",
        "# tessera: instance x(a='i32')",
        "# tessera: stages(3)",
        "# tessera: bucket(a)",
        "# tessera: cpu((",
        "# tessera: space()",
        "# tessera: space([1])",
        "# tessera: space(B=1)",
        "# tessera: space(B=[])",
        "# tessera: space(C=[1])",
        "# tessera: space(a=[1])",
        "# tessera: space(B=[1], B=[2])",
        "# tessera: space(B=range(5000))",
        "# tessera: types",
        "# tessera: types()",
        "# tessera: types(a=\"i32\")",
        "# tessera: types(1)",
        "# tessera: types(\"a\")",
        "# tessera: types(\": i32\")",
        "# tessera: types(\"a: i31\")",
        "# tessera: types(\"a: *t\")",
        "# tessera: types(\"a:\")",
        "# tessera: types(\"c: i32\")",
        "# tessera: types(\"B: i32\")",
        "# tessera: types(\"a: *B\")",
        "# tessera: types(\"a a: i32\")",
        "# tessera: types(\"z*: i32\")",
        "# tessera: types(\"**: i32\")",
        "# tessera: types(\"*: i32\")",
        "# tessera: types(\"a: i32\", \"a*: i32\")",
        "# tessera: types(\"a*: i32\", \"*a: i32\")",
        "# tessera: types(\"a: i32\")\n# tessera: types(\"a: i32\")",
        "# tessera: types(\"a: T\")\n# tessera: instance x(B=1)",
        "# tessera: types(\"a: T\")\n# tessera: instance x(B=1, T=\"fp31\")",
        "# tessera: types(\"a: T\")\n# tessera: instance x(B=1, T=3)",
        "# tessera: types(\"a: i32\")\n# tessera: instance x(B=1, T=\"i32\")"})
    EXPECT_EQ(describe(bad), DiagnosticId::InvalidHint) << bad;
}

// An instance with types() equals the one that states every type itself.
TEST(Decorators, InstancesShareTypes) {
  const auto instances = [](const std::string &above) {
    auto loaded =
        program(above + "@triton.jit\ndef f(X, Y, CU, n, s, sxt, syt, "
                        "xh, scale, B: tl.constexpr, "
                        "C: tl.constexpr = 4):\n    pass\n");
    std::vector<std::string> texts;
    for (const Instance &instance :
         describeKernel(*loaded, loaded->kernel("f")).hints.instances) {
      std::string text = instance.name;
      for (const Argument &argument : instance.arguments)
        text +=
            " " + argument.name + "=" +
            (argument.isConstexpr() ? argument.value.repr() : argument.type);
      texts.push_back(text);
    }
    return texts;
  };
  const std::vector<std::string> expected = {
      "f32 X=*fp32:16 Y=*fp32 CU=*i32:16 n=i32 s=i32:16 sxt=i32:16 syt=i32:16 "
      "xh=1 scale=fp32 B=64 C=4",
      "f16 X=*fp16:16 Y=*bf16 CU=*i32:16 n=i64 s=i32:16 sxt=i32:16 syt=i32 "
      "xh=1 scale=fp32 B=16 C=2"};
  EXPECT_EQ(instances("# tessera: instance f32(X=\"*fp32:16\", Y=\"*fp32\", "
                      "CU=\"*i32:16\", n=\"i32\", s=\"i32:16\", "
                      "sxt=\"i32:16\", syt=\"i32:16\", xh=1, scale=\"fp32\", "
                      "B=64)\n"
                      "# tessera: instance f16(X=\"*fp16:16\", Y=\"*bf16\", "
                      "CU=\"*i32:16\", n=\"i64\", s=\"i32:16\", "
                      "sxt=\"i32:16\", syt=\"i32\", xh=1, scale=\"fp32\", "
                      "B=16, C=2)\n"),
            expected);
  // Names take precedence over patterns, and an instance's own types over both;
  // types() may appear anywhere above the kernel.
  EXPECT_EQ(instances("# tessera: instance f32(T=\"fp32\", U=\"fp32\", B=64)\n"
                      "# tessera: types(\"X: *T:16\", \"Y : *U\", "
                      "\"CU:*i32:16\", \"s*: i32:16\", \"*h: 1\", "
                      "\"n: i32\", \"scale: fp32\")\n"
                      "# tessera: instance f16(T=\"fp16\", U=\"bf16\", "
                      "syt=\"i32\", n=\"i64\", B=16, C=2)\n"),
            expected);
}

const std::string common = "import triton\nimport triton.language as tl\n"
                           "SCALE = 2\n@triton.jit\ndef twice(x):\n"
                           "    return x * SCALE\n";

TEST(Expand, FollowsCalleesAndConstants) {
  auto text = [](const std::string &body, const std::string &helper = common) {
    auto loaded = program(body, {{"dir/common.py", helper}});
    return makeRequest(*loaded, "f").text;
  };
  std::string body = "from .common import twice\nN = 3\n@triton.jit\n"
                     "def f(p):\n    tl.store(p, twice(N))\n";
  std::string base = text(body);
  EXPECT_NE(base.find("SCALE = 2"), std::string::npos);
  EXPECT_LT(base.find("def twice"), base.find("def f"));
  // What must not change it ...
  EXPECT_EQ(base,
            text("# note\n" + body + "\n\n@triton.jit\ndef g(a):\n    pass\n"));
  EXPECT_EQ(base, text("# tessera: predicate\n" + body));
  // ... and what must.
  std::string other = common;
  other.replace(other.find("SCALE = 2"), 9, "SCALE = 4");
  EXPECT_NE(base, text(body, other));
  EXPECT_NE(base, text(body + "    tl.store(p, 1)\n"));
}

// Strings after the docstring are not part of the text. Otherwise the first of
// them would become the docstring when the text is read again, and one kernel
// would have two keys.
TEST(Expand, DocstringsAreNoPartOfAKernel) {
  auto text = [](const std::string &strings, const std::string &rest) {
    auto loaded = program("@triton.jit\ndef f(p):\n" + strings + rest + "\n");
    return makeRequest(*loaded, "f").text;
  };
  for (const char *rest : {"    tl.store(p, 1)", "    pass"}) {
    const std::string base = text("", rest);
    for (const char *strings :
         {"    'one'\n", "    'one'\n    'two'\n",
          "    'one'; 'two'\n    \"\"\"three\n    lines\"\"\"\n"}) {
      EXPECT_EQ(text(strings, rest), base) << strings;
      // The canonical text is a kernel file with itself as canonical text.
      const std::string full = text(strings, rest);
      const auto again = Program::load("again.py", full, nullptr);
      EXPECT_EQ(makeRequest(*again, "f").text, full);
    }
  }
}

// The text of a constant that names a library contains the import. Without it
// the text had another meaning, and another key, when it was read again.
TEST(Expand, ConstantsImportTheLibrariesThatTheyName) {
  for (const char *constant :
       {"from package import thing\nX = thing\n",
        "import package\nX = package.part.thing\n",
        "import package\nX = (1, package.thing)\n",
        "import math\nX = math.pi\n",
        "import triton.language as T\nX = T.float32\n"}) {
    SCOPED_TRACE(constant);
    const auto loaded = program(std::string(constant) +
                                "@triton.jit\ndef f(p):\n    tl.store(p, X)\n");
    const std::string text = makeRequest(*loaded, "f").text;
    const auto again = Program::load("again.py", text, nullptr);
    EXPECT_EQ(makeRequest(*again, "f").text, text);
  }
}

// An expression that only begins with triton.jit is not a decorator of a
// kernel; its text was a syntax error when it was read again.
TEST(Expand, RefusesAnExpressionThatBeginsWithJit) {
  for (const char *decorator :
       {"triton.jit*args", "triton.jit[0]", "triton.jit(debug=True)(1)",
        "triton.jit or x"}) {
    SCOPED_TRACE(decorator);
    const auto loaded = program("@" + std::string(decorator) +
                                "\ndef f(p):\n    tl.store(p, 1)\n");
    try {
      makeRequest(*loaded, "f");
      ADD_FAILURE() << "accepted";
    } catch (const CompileError &error) {
      EXPECT_EQ(error.diagnostics.at(0).message,
                "the decorator is neither `triton.jit` nor a call of it");
    }
  }
}

// As Python would: a helper's decorator is looked at like a kernel's.
TEST(Expand, DecoratorsOfHelpersMustBeTritons) {
  auto first = [](const std::string &decorator, const std::string &imports) {
    const auto loaded =
        program(imports + decorator + "\ndef twice(x):\n    return x * 2\n" +
                "@triton.jit\ndef f(p):\n    tl.store(p, twice(1))\n");
    try {
      makeRequest(*loaded, "f");
    } catch (const CompileError &error) {
      return error.diagnostics.at(0).message + " | " +
             error.diagnostics.at(0).hint;
    }
    return std::string("fine");
  };
  EXPECT_EQ(first("@triton.jit", ""), "fine");
  EXPECT_EQ(first("@jit", "from triton import jit\n"), "fine");
  EXPECT_EQ(first("@tritkn.jit", ""),
            "the decorator `tritkn.jit` names `tritkn`, which is not defined | "
            "did you mean `triton.jit`?");
  EXPECT_EQ(first("@tritn.constexpr_function", ""),
            "the decorator `tritn.constexpr_function` names `tritn`, which is "
            "not defined | did you mean `triton.constexpr_function`?");
  EXPECT_EQ(first("@jit", ""), "the decorator `jit` names `jit`, which is not "
                               "defined | import `jit` at the top of the file");
}

// One name, two files, two values: exchanging the values is another kernel.
TEST(Expand, KeysTellFilesApart) {
  auto keyOf = [](const char *ours, const char *theirs) {
    auto loaded =
        program(std::string("from other import helper\nSTEP = ") + ours +
                    "\n@triton.jit\ndef f(P):\n    tl.store(P, helper(STEP))\n",
                {{"dir/other.py",
                  header + "STEP = " + theirs +
                      "\n@triton.jit\ndef helper(x):\n    return x - STEP\n"}});
    return makeRequest(*loaded, "f").key();
  };
  EXPECT_NE(keyOf("1", "2"), keyOf("2", "1"));
  EXPECT_EQ(keyOf("1", "2"), keyOf("1", "2"));
}

// A name may come through twenty files.
TEST(Program, NamesComeThroughTwentyFiles) {
  std::map<std::string, std::string> files;
  for (int i = 1; i <= 20; ++i)
    files["dir/m" + std::to_string(i) + ".py"] =
        i == 20 ? "N = 7\n" : "from .m" + std::to_string(i + 1) + " import N\n";
  auto loaded = program("from .m1 import N\n@triton.jit\ndef f(p):\n"
                        "    tl.store(p, N)\n",
                        files);
  auto symbol = loaded->lookup(loaded->kernel("f"), "N");
  ASSERT_TRUE(symbol);
  EXPECT_EQ(symbol->value.repr(), "7");
}

TEST(Expand, RequestsLoadWithoutFiles) {
  auto loaded = program("from common import twice\n@triton.jit\ndef f(p):\n"
                        "    tl.store(p, twice(1))\n",
                        {{"dir/common.py", common}});
  CompileRequest request = makeRequest(*loaded, "f");
  auto again = Program::load(CompileRequest::fromJson(request.toJson()));
  auto symbol = again->lookup(again->kernel("f"), "twice");
  ASSERT_TRUE(symbol && symbol->function);
  EXPECT_EQ(symbol->function->file->path(), "dir/common.py");
  EXPECT_EQ(makeRequest(*again, "f").key(), request.key());
}

TEST(Program, MissingImportsAreErrorsOfTheirUse) {
  const auto use = [](const std::string &module, const std::string &name) {
    return errorOf([&] {
      makeRequest(*program("from ." + module + " import " + name +
                               "\n@triton.jit\ndef f(p):\n    " + name +
                               "(p)\n",
                           {{"dir/common.py", common}}),
                  "f");
    });
  };
  EXPECT_EQ(use("gone", "x"), DiagnosticId::ImportFailed);
  EXPECT_EQ(use("common", "thrice"), DiagnosticId::ImportFailed);
  EXPECT_THROW(program("")->kernel("f"), Error);
}

TEST(Value, TruthIsPythons) {
  for (const Value &no :
       {Value(), Value(false), Value(0), Value(0.0), Value(""),
        Value(Value::List{}), Value(Value::Tuple{}), Value(Value::Dict{})})
    EXPECT_FALSE(no.truth()) << no.repr();
  for (const Value &yes :
       {Value(true), Value(-1), Value(0.5), Value("0"),
        Value(Value::List{{Value()}}), Value(Value::Tuple{{Value(0)}}),
        Value(Value::Dict{{{Value(0), Value()}}}), Value(Value::DType{"fp32"})})
    EXPECT_TRUE(yes.truth()) << yes.repr();
}

TEST(Signature, AnnotationsDeclareTypesOfNumbers) {
  EXPECT_EQ(declaredElement("int64"), "i64");
  EXPECT_EQ(declaredElement("u8"), "u8");
  for (const char *truth : {"int1", "uint1", "i1", "u1"})
    EXPECT_EQ(declaredElement(truth), "i1") << truth;
  EXPECT_EQ(declaredElement("bfloat16"), "bf16");
  for (const char *other : {"", "int", "float", "bool", "constexpr", "tensor"})
    EXPECT_EQ(declaredElement(other), "") << other;
}

TEST(Signature, ClassesAreTritons) {
  KernelParameter plain, fixed, unaligned;
  plain.name = fixed.name = unaligned.name = "x";
  fixed.doNotSpecialize = true;
  unaligned.doNotSpecializeAlignment = true;
  auto of = [](const KernelParameter &parameter, Actual actual) {
    Argument argument = specialize(parameter, actual);
    return argument.isConstexpr() ? "=" + argument.value.repr() : argument.type;
  };
  EXPECT_EQ(of(plain, Value(1)), "=1");
  EXPECT_EQ(of(plain, Value()), "=None");
  EXPECT_EQ(of(plain, Value(0)), "i32:16");
  EXPECT_EQ(of(plain, Value(17)), "i32");
  EXPECT_EQ(of(plain, Value(int64_t(1) << 31)), "i64:16");
  EXPECT_EQ(of(plain, Value(~uint64_t(0))), "u64");
  EXPECT_EQ(of(plain, Value(true)), "i1");
  EXPECT_EQ(of(plain, Value(1.0)), "fp32");
  EXPECT_EQ(of(fixed, Value(1)), "i32");
  EXPECT_EQ(of(fixed, Value(16)), "i32");
  EXPECT_EQ(of(unaligned, Value(1)), "=1");
  EXPECT_EQ(of(unaligned, PointerValue{"fp32", 64}), "*fp32");
  EXPECT_EQ(of(plain, PointerValue{"bf16", 64}), "*bf16:16");
  EXPECT_EQ(of(plain, PointerValue{"bf16", 8}), "*bf16");
  KernelParameter wide = plain, small = plain, real = plain, half = plain,
                  truth = plain;
  wide.declared = "i64";
  small.declared = "u8";
  real.declared = "fp64";
  half.declared = "fp16";
  truth.declared = "i1";
  EXPECT_EQ(of(wide, Value(1)), "i64");
  EXPECT_EQ(of(wide, Value(32)), "i64:16");
  EXPECT_EQ(of(wide, Value(8)), "i64");
  wide.doNotSpecialize = true;
  EXPECT_EQ(of(wide, Value(32)), "i64");
  EXPECT_EQ(of(wide, Value(true)), "i64");
  EXPECT_EQ(of(wide, Value()), "=None");
  EXPECT_EQ(of(small, Value(17)), "u8");
  for (int number : {-1, 0, 1})
    EXPECT_EQ(of(truth, Value(number)), "i1") << number;
  EXPECT_EQ(of(truth, Value(true)), "i1");
  EXPECT_THROW(of(truth, Value(2)), Error);
  EXPECT_THROW(of(truth, Value(-2)), Error);
  EXPECT_THROW(of(truth, Value(0.5)), Error);
  EXPECT_EQ(of(real, Value(0.5)), "fp64");
  EXPECT_THROW(of(real, Value(16)), Error);
  EXPECT_THROW(of(wide, Value(0.5)), Error);
  EXPECT_THROW(of(half, Value(0.5)), Error);
  for (const char *bad : {"", "*", "fp31", "*fp32:8", "fp32:16", "i1:16"})
    EXPECT_FALSE(ArgClass::parse(bad)) << bad;
}

TEST(Request, KeyFollowsWhatDecidesTheArtifact) {
  CompileRequest request;
  request.kernel = "f";
  request.args.resize(1);
  request.args[0].name = "x";
  std::set<std::string> keys;
  for (Value value :
       {Value(1), Value(true), Value(1.0), Value(-0.0), Value(0.0), Value("1"),
        Value(), Value(Value::DType{"fp32"}), Value(Int(1) << 100),
        Value(Value::Tuple{{Value(1)}}),
        Value(std::numeric_limits<double>::infinity())}) {
    request.args[0].value = value;
    keys.insert(request.key());
    Value back = CompileRequest::fromJson(request.toJson()).args[0].value;
    EXPECT_TRUE(back.identical(value)) << value.repr() << " " << back.repr();
  }
  EXPECT_EQ(keys.size(), 11u);
}

TEST(Request, MalformedJsonIsAnError) {
  CompileRequest request;
  std::string good = request.toJson();
  EXPECT_NO_THROW(CompileRequest::fromJson(good));
  for (size_t i = 0; i < good.size(); ++i)
    EXPECT_THROW(CompileRequest::fromJson(good.substr(0, i)), Error);
  for (
      const char *bad :
      {"[]", "{}", "{\"file\":1}", "null",
       R"({"file":"","kernel":"","text":"","target":"","args":[{"name":"x","kind":"int","type":"*fp32"}]})",
       R"({"file":"","kernel":"","text":"","target":"","args":[{"name":"x","kind":"constexpr"}]})",
       R"({"file":"","kernel":"","text":"","target":"","args":[],"options":{"num_warps":1.5}})",
       R"({"file":"","kernel":"","text":"","target":"","args":[],"more":1})"})
    EXPECT_THROW(CompileRequest::fromJson(bad), Error) << bad;
  CompileResult result;
  result.ok = true;
  result.stages["tile"] = "x";
  result.meta.scratchBytes = 64;
  EXPECT_EQ(CompileResult::fromJson(result.toJson()).toJson(), result.toJson());
  // What only a GPU artifact has is not written for the others.
  EXPECT_EQ(result.toJson().find("threads"), std::string::npos);
  EXPECT_EQ(result.toJson().find("min_blocks"), std::string::npos);
  result.meta.threads = 256;
  result.meta.sharedBytes = 166912;
  result.meta.minBlocks = 5;
  result.meta.params = {{"X", "pointer", "*fp32"},
                        {"n", "scalar", "i32"},
                        {"Y", "pointer", "*fp32"}};
  result.meta.disjoint = {{0, 2}};
  const CompileResult read = CompileResult::fromJson(result.toJson());
  EXPECT_EQ(read.meta.threads, 256u);
  EXPECT_EQ(read.meta.sharedBytes, 166912u);
  EXPECT_EQ(read.meta.minBlocks, 5u);
  EXPECT_EQ(read.meta.disjoint, result.meta.disjoint);
  for (const char *bad : {"[[0,1]]", "[[0,3]]", "[[0]]", "[0,2]", "{}",
                          "[[0,2,0]]", "[[0,-1]]", "[[0,\"Y\"]]"}) {
    std::string text = result.toJson();
    const std::string good = "\"disjoint\":[[0,2]]";
    const size_t at = text.find(good);
    ASSERT_NE(at, std::string::npos) << text;
    text.replace(at, good.size(), std::string("\"disjoint\":") + bad);
    EXPECT_THROW(CompileResult::fromJson(text), Error) << bad;
  }
  for (const char *bad : {R"("threads":-1)", R"("threads":1.5)",
                          R"("threads":2048)", R"("shared_bytes":"8")",
                          R"("shared_bytes":4294967296)", R"("min_blocks":65)"})
    EXPECT_THROW(CompileResult::fromJson(
                     R"({"ok":true,"meta":{"symbol":"k","scratch_bytes":0,)" +
                     std::string(bad) + "}}"),
                 Error)
        << bad;
}

} // namespace
} // namespace tessera::language
