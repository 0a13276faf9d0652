// tests/unit/language/TupleTest.cpp - tuples and functions as arguments:
// leaves, hints, keys, messages.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/Decorators.h"
#include "language/Expand.h"
#include "language/Manifest.h"
#include "language/SignatureTuples.h"
#include "language/TupleText.h"
#include "language/ValueJson.h"
#include "support/Error.h"

#include <gtest/gtest.h>

namespace tessera::language {
namespace {
namespace tuple_test {

using Texts = std::map<std::string, std::string>;

const std::string header = "from typing import NamedTuple\nimport triton\n"
                           "import triton.language as tl\n"
                           "class Rows(NamedTuple):\n"
                           "    ptr: tl.tensor\n"
                           "    token: tl.tensor\n"
                           "    head: tl.tensor = 1\n"
                           "class Sizes(NamedTuple):\n"
                           "    M: tl.constexpr\n"
                           "    N: tl.constexpr = 16\n"
                           "class Both(NamedTuple):\n"
                           "    rows: Rows\n"
                           "    inputs: \"tuple[()]\"\n"
                           "    pair: tuple[tl.tensor, tl.constexpr]\n";

std::shared_ptr<const Program> program(const std::string &text,
                                       Texts others = {}) {
  return Program::load(
      "dir/k.py", header + text,
      [others](const std::string &path) -> std::optional<std::string> {
        auto found = others.find(path);
        return found == others.end() ? std::nullopt
                                     : std::optional(found->second);
      });
}

KernelInfo info(const std::string &text) {
  static std::vector<std::shared_ptr<const Program>> kept;
  kept.push_back(program(text));
  return describeKernel(*kept.back(), kept.back()->kernel("k"));
}

std::string leaves(const Signature &signature) {
  std::string text;
  for (const KernelParameter &parameter : signature.parameters)
    text += (text.empty() ? "" : " ") + parameter.name +
            (parameter.isConstexpr ? ":c" : "") +
            (parameter.hasDefault ? "=" + parameter.defaultValue.repr() : "");
  return text;
}

std::string arguments(const Instance &instance) {
  std::string text;
  for (const Argument &argument : instance.arguments)
    text += (text.empty() ? "" : " ") + argument.name + "=" +
            (argument.isConstexpr() ? argument.value.repr() : argument.type);
  return text;
}

TEST(TupleParameters, AreLeavesOfTheSignature) {
  const std::pair<const char *, const char *> cases[] = {
      {"q: Rows, n", "q.ptr q.token q.head=1 n"},
      {"q: 'Rows', S: Sizes", "q.ptr q.token q.head=1 S.M:c S.N:c=16"},
      {"p: tuple[tl.tensor, int], n=3", "p.0 p.1 n=3"},
      {"p: \"tuple[tl.tensor, tuple[tl.tensor, tl.constexpr]]\"",
       "p.0 p.1.0 p.1.1:c"},
      {"b: Both", "b.rows.ptr b.rows.token b.rows.head=1 b.inputs:c=() "
                  "b.pair.0 b.pair.1:c"},
      {"S: Sizes = (4, 8)", "S.M:c=4 S.N:c=8"},
      {"q: Rows = None", "q=None"},
      {"d: tl.tensor_descriptor[2], n",
       "d.base d.shape.0 d.shape.1 d.strides.0 d.strides.1:c=1 "
       "d.block_shape.0:c d.block_shape.1:c "
       "d.padding:c='zero' d.round_f32_to_tf32:c=False n"},
      {"p: \"tuple[tl.tensor, tl.tensor_descriptor[1]]\"",
       "p.0 p.1.base p.1.shape.0 p.1.strides.0:c=1 p.1.block_shape.0:c "
       "p.1.padding:c='zero' p.1.round_f32_to_tf32:c=False"},
      {"d: tl.tensor_descriptor", "d"},
      {"q: tl.tensor, r: 'a pointer', s: Missing", "q r s"}};
  for (const auto &[parameters, want] : cases)
    EXPECT_EQ(leaves(info(std::string("@triton.jit\ndef k(") + parameters +
                          "):\n    pass\n")
                         .signature),
              want)
        << parameters;
}

TEST(TupleParameters, KeepIndexesOfParameters) {
  const KernelInfo kernel = info("@triton.jit(do_not_specialize=[1])\n"
                                 "def k(q: Rows, n, m):\n    pass\n");
  for (const KernelParameter &parameter : kernel.signature.parameters)
    EXPECT_EQ(parameter.doNotSpecialize, parameter.name == "n")
        << parameter.name;
}

TEST(TupleParameters, AreOneValueForHeuristics) {
  const KernelInfo kernel =
      info("@triton.heuristics({'EVEN': lambda args: args['q'].token % 16 == 0 "
           "and args['q'][2] == 1})\n@triton.jit\n"
           "def k(q: Rows, EVEN: tl.constexpr):\n    pass\n");
  const auto even = [&](int token) {
    return applyHeuristic(kernel, kernel.heuristics.at(0),
                          {{"q.ptr", Value(Value::DType{"fp32"})},
                           {"q.token", Value(token)},
                           {"q.head", Value(1)}})
        .repr();
  };
  EXPECT_EQ(even(32), "True");
  EXPECT_EQ(even(33), "False");
}

TEST(TupleHints, HaveSeveralSpellings) {
  const std::string kernel =
      "@triton.jit\ndef k(q: Rows, S: Sizes):\n    pass\n";
  const std::string want =
      "q.ptr=*fp32:16 q.token=i32:16 q.head=1 S.M=32 S.N=16";
  for (const std::string hints :
       {"# tessera: instance a(q=\"Rows(*fp32:16, i32:16, 1)\", S=(32, 16))\n",
        "# tessera: instance a(q=\"(*fp32:16, i32:16)\", S=Sizes(32))\n",
        "# tessera: instance a(q=(\"*fp32:16\", \"i32:16\", 1), "
        "S=\"Sizes(M=32)\")\n",
        "# tessera: instance a(q=\"Rows(token=i32:16, ptr=*fp32:16)\", "
        "S=Sizes(N=16, M=16 * 2))\n",
        "# tessera: types(\"q: Rows(*T:16, i32:16, 1)\")\n"
        "# tessera: instance a(T=\"fp32\", S=(32,))\n",
        "# tessera: types(\"*.ptr: *T:16\", \"q.token: i32:16\")\n"
        "# tessera: instance a(T=\"fp32\", S=(32,))\n"})
    EXPECT_EQ(arguments(info(hints + kernel).hints.instances.at(0)), want)
        << hints;
}

TEST(TupleHints, HaveDescriptors) {
  const std::string kernel =
      "@triton.jit\ndef k(d: 'tl.tensor_descriptor[2]'):\n    pass\n";
  for (const std::string hint :
       {"d=\"tensor_descriptor(*fp16:16, (i32, i32), (i64:16, 1), (64, 32))\"",
        "d=\"(*fp16:16, (i32, i32), (i64:16,), (64, 32))\""})
    EXPECT_EQ(arguments(info("# tessera: instance a(" + hint + ")\n" + kernel)
                            .hints.instances.at(0)),
              "d.base=*fp16:16 d.shape.0=i32 d.shape.1=i32 "
              "d.strides.0=i64:16 d.strides.1=1 d.block_shape.0=64 "
              "d.block_shape.1=32 d.padding='zero' d.round_f32_to_tf32=False")
        << hint;
}

TEST(TupleHints, CheckGivesEachLeaf) {
  const Hints hints =
      info("# tessera: check(q=([T, 64], 64, 1), b=Both(Rows([T], 1, 1), (), "
           "([3], 4)))\n@triton.jit\ndef k(q: Rows, b: Both):\n    pass\n")
          .hints;
  std::string names;
  for (const Hints::Check &entry : hints.check)
    names += entry.name + "=" + dump(*entry.value) + " ";
  EXPECT_EQ(names,
            "q.ptr=[T, 64] q.token=64 q.head=1 b.rows.ptr=[T] b.rows.token=1 "
            "b.rows.head=1 b.inputs=() b.pair.0=[3] b.pair.1=4 ");
}

std::string messageOf(const std::string &hint, const std::string &kernel) {
  try {
    info(hint + kernel);
  } catch (const CompileError &error) {
    const Diagnostic &first = error.diagnostics.at(0);
    EXPECT_FALSE(first.hint.empty());
    EXPECT_TRUE(first.range.known());
    return first.message + " HINT " + first.hint;
  }
  return "no error";
}

TEST(TupleHints, HaveMessages) {
  const std::string kernel = "@triton.jit\ndef k(q: Rows, n):\n    pass\n";
  const std::pair<const char *, const char *> cases[] = {
      {"q=\"(*fp32, i32, 1, 2)\"",
       "`q` is a tuple of 3 values, and 4 are given HINT give the values as "
       "Rows(ptr, token, head)"},
      {"q=\"(*fp32,)\"", "`q` is a tuple of 3 values, and 1 are given"},
      {"q=(\"*fp32\", \"i32\", 1, 1)",
       "`q` is a tuple of 3 values, and 4 are given"},
      {"q=\"Rows(ptr=*fp32, tokn=i32)\"",
       "`q` has no field `tokn` HINT did you mean `token`?"},
      {"q=\"Sizes(*fp32, i32)\"", "`q` is a Rows, and a Sizes is given"},
      {"q=\"*fp32\"", "`q` is a tuple of 3 values, and '*fp32' is given"},
      {"q=None", "`q` is a tuple of 3 values, and None is given"},
      {"q=(\"*fp32\", (\"i32\", 1))", "argument `q.token` is one value, and a "
                                      "tuple of 2 types is given"},
      {"q=(\"*fp32\", \"i32\", 1), n=(\"*fp32\", \"i32\")",
       "argument `n` is one value, and a tuple of 2 types is given HINT "
       "annotate the parameter with the tuple's type: n: Rows for a class of "
       "NamedTuple"},
      {"q=(\"*fp32\", \"i32\", 1), n=lambda x: x",
       "argument `n` is a lambda, which kernels cannot call"}};
  for (const auto &[hint, want] : cases)
    EXPECT_TRUE(
        messageOf("# tessera: instance a(" + std::string(hint) + ")\n", kernel)
            .starts_with(want))
        << hint << "\n"
        << messageOf("# tessera: instance a(" + std::string(hint) + ")\n",
                     kernel);
  EXPECT_TRUE(
      messageOf("# tessera: types(\"n: Rows(*fp32, i32, 1)\")\n", kernel)
          .starts_with("`n` is one value, and a tuple is given"));
  EXPECT_TRUE(messageOf("# tessera: types(\"r: i32\")\n", kernel)
                  .starts_with("`k` has no parameter `r`"));
  for (const std::string rank : {"0", "6", "RANK", "'2'", "2, 2"})
    EXPECT_EQ(messageOf("", "@triton.jit\ndef k(d: tl.tensor_descriptor[" +
                                rank + "]):\n    pass\n"),
              "the annotation of `d` is not a descriptor of 1 to 5 dimensions "
              "HINT write the number of dimensions: tl.tensor_descriptor[2]")
        << rank;
  std::string many = "int";
  for (int i = 0; i < 300; ++i)
    many += ", int";
  EXPECT_TRUE(
      messageOf("", "@triton.jit\ndef k(q: tuple[" + many + "]):\n    pass\n")
          .starts_with("kernel `k` takes more than 256 values"));
}

TEST(TupleText, SplitsOutsideBrackets) {
  using List = std::vector<std::string>;
  EXPECT_EQ(splitOutsideBrackets("a, (b, c), 'd,e', f=[1, 2],"),
            (List{"a", "(b, c)", "'d,e'", "f=[1, 2]"}));
  EXPECT_EQ(splitOutsideBrackets(""), List{});
  EXPECT_TRUE(isTupleText(" Rows(1) ") && isTupleText("(1, 2)"));
  EXPECT_FALSE(isTupleText("*fp32:16") || isTupleText("a.b(1)"));
}

TEST(FunctionArguments, AreJson) {
  Value::Tuple named;
  named.names = {"apply", "times"};
  named.items = {Value(Value::KernelFunction{"relu", "acts.py"}), Value(3)};
  const Value value(named);
  const Json json = toJson(value);
  EXPECT_EQ(
      json.dump(),
      R"({"namedtuple":[["apply",{"function":"acts.py:relu"}],["times",3]]})");
  EXPECT_TRUE(valueFromJson(json, "x").identical(value));
  EXPECT_EQ(value.repr(), "(relu, 3)");
  EXPECT_THROW(valueFromJson(parseJson(R"({"namedtuple":[["a"]]})", "x"), "x"),
               Error);
  EXPECT_THROW(valueFromJson(parseJson(R"({"function":""})", "x"), "x"), Error);
}

const std::string caller =
    "@triton.jit\ndef k(X, F: tl.constexpr):\n    tl.store(X, F(1.0))\n";
std::string acts(const std::string &body) {
  return "import triton\nimport triton.language as tl\n"
         "@triton.jit\ndef act(x):\n    return " +
         body + "\n";
}

CompileRequest request(const Program &program, const Value &function) {
  CompileRequest request = makeRequest(program, "k");
  Argument argument;
  argument.name = "F";
  argument.value = function;
  request.args = {argument};
  addFunctions(program, request);
  return request;
}

TEST(FunctionArguments, ArePartOfTheKey) {
  const auto two = program(caller, {{"dir/a.py", acts("x")},
                                    {"dir/b.py", acts("x + x")},
                                    {"dir/c.py", acts("x  # the same")}});
  const auto key = [&](const std::string &file) {
    return request(*two, Value(Value::KernelFunction{"act", file})).key();
  };
  EXPECT_NE(key("a.py"), key("b.py"));
  EXPECT_EQ(key("a.py"), key("c.py"));
  const auto own =
      program("from a import act\n" + caller, {{"dir/a.py", acts("x")}});
  EXPECT_EQ(request(*own, Value(Value::KernelFunction{"act", ""})).key(),
            key("a.py"));
  // The program of a request, in another process.
  const CompileRequest sent = CompileRequest::fromJson(
      request(*two, Value(Value::KernelFunction{"act", "b.py"})).toJson());
  const auto received = Program::load(sent);
  EXPECT_EQ(received->function(*sent.args[0].value.get<Value::KernelFunction>())
                .file->path(),
            "dir/b.py");
  // Its canonical text is a program too.
  CompileRequest alone = sent;
  alone.sources.clear();
  EXPECT_EQ(Program::load(alone)
                ->function(*sent.args[0].value.get<Value::KernelFunction>())
                .name,
            "act");
}

TEST(FunctionArguments, HaveMessages) {
  const auto one =
      program("def host():\n    import os\n    return os.name\n" + caller,
              {{"dir/a.py", acts("x")}});
  const auto message = [&](const std::string &name, const std::string &file) {
    try {
      one->function({name, file});
    } catch (const Error &error) {
      EXPECT_FALSE(error.hint.empty());
      return error.message + " HINT " + error.hint;
    }
    return std::string("no error");
  };
  EXPECT_TRUE(message("act", "missing.py")
                  .starts_with("the function `act` is passed from "
                               "`missing.py`, and that kernel file does not "
                               "exist"));
  EXPECT_EQ(message("atc", "a.py"), "dir/a.py has no function `atc` HINT did "
                                    "you mean `act`?");
  EXPECT_TRUE(
      message("Rows", "")
          .starts_with(
              "`Rows` of dir/k.py is not a function that kernels call"));
  EXPECT_TRUE(message("nothing", "").starts_with("dir/k.py has no function"));
}

TEST(FunctionArguments, MayBeConstantsOfAModule) {
  const auto loaded =
      program(acts("x").substr(acts("x").find("@")) + "ACT = act\n" +
              "@triton.jit\ndef k(X):\n    tl.store(X, ACT(1.0))\n");
  const Expansion expansion = expand(*loaded, loaded->kernel("k"));
  EXPECT_NE(expansion.text.find("ACT = act\n"), std::string::npos);
  EXPECT_NE(expansion.text.find("def act(x)"), std::string::npos);
}

TEST(TupleParameters, AreInTheManifest) {
  const std::string json =
      manifestJson(*program("@triton.jit\ndef k(q: Rows):\n    pass\n"));
  EXPECT_NE(
      json.find(
          R"("tuples":{"q":{"fields":["ptr","token","head"],"type":"Rows"}})"),
      std::string::npos)
      << json;
}

} // namespace tuple_test
} // namespace
} // namespace tessera::language
