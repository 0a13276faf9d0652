// tests/unit/runtime/ArgumentsTest.cpp - tests of runtime/Arguments.h, and of
// keys of launches with tuples and functions.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Arguments.h"

#include "language/Request.h"
#include "runtime/launch/KernelState.h"
#include "support/Error.h"

#include <gtest/gtest.h>

#include <functional>

using namespace tessera;

namespace arguments_test {
namespace {

const std::string source = R"(from typing import NamedTuple
import triton
import triton.language as tl


class Rows(NamedTuple):
    ptr: tl.tensor
    token: tl.tensor
    head: tl.tensor = 1


class Sizes(NamedTuple):
    M: tl.constexpr
    rows: Rows


@triton.jit
def relu(x):
    return tl.maximum(x, 0.0)


@triton.jit
def half(x):
    return x * 0.5


@triton.jit
def k(q: Rows, scale, S: Sizes, F: tl.constexpr = relu, n=7):
    tl.store(q.ptr, F(q.token * scale))
)";

Kernel kernel(const std::string &text = source) {
  return Kernel::fromSource(text, "k");
}

float memory[64];

Arguments complete(int64_t token = 32) {
  Arguments arguments(kernel());
  arguments.set("S", {64, {Pointer{memory}, 8, nullptr}});
  arguments.set("scale", 0.5).set("q", {Pointer{memory}, token, 1});
  return arguments;
}

std::string typesOf(const Arguments &arguments, Constexprs constexprs = {}) {
  constexprs.insert(arguments.constexprs().begin(),
                    arguments.constexprs().end());
  std::string text;
  for (const language::Argument &argument :
       kernel().compileRequest(arguments.list(), constexprs).args)
    text += argument.name + "=" +
            (argument.isConstexpr() ? argument.value.repr() : argument.type) +
            " ";
  return text;
}

std::string failureOf(const std::function<void(Arguments &)> &action) {
  Arguments arguments(kernel());
  try {
    action(arguments);
  } catch (const Error &error) {
    EXPECT_FALSE(error.hint.empty());
    return error.message + " HINT " + error.hint;
  }
  return "no error";
}

} // namespace

TEST(Arguments, AreInTheOrderOfTheKernel) {
  const std::vector<std::string> names = {
      "q.ptr",      "q.token",      "q.head",      "scale",
      "S.rows.ptr", "S.rows.token", "S.rows.head", "n"};
  EXPECT_EQ(kernel().parameters(), names);
  const std::vector<Arg> list = complete().list();
  ASSERT_EQ(list.size(), names.size());
  EXPECT_EQ(std::get<int64_t>(list[1]), 32);
  EXPECT_EQ(std::get<double>(list[3]), 0.5);
  EXPECT_EQ(std::get<int64_t>(list[5]), 8);
  EXPECT_TRUE(std::holds_alternative<std::nullptr_t>(list[6]));
  EXPECT_EQ(std::get<int64_t>(list[7]), 7); // its default
}

TEST(Arguments, LeavesAreSpecializedSeparately) {
  EXPECT_EQ(typesOf(complete()),
            "q.ptr=*fp32:16 q.token=i32:16 q.head=1 scale=fp32 S.M=64 "
            "S.rows.ptr=*fp32:16 S.rows.token=i32 S.rows.head=None F=relu "
            "n=i32 ");
  EXPECT_NE(typesOf(complete(1)).find("q.token=1 "), std::string::npos);
  EXPECT_NE(typesOf(complete(int64_t(1) << 40)).find("q.token=i64:16 "),
            std::string::npos);
}

TEST(Arguments, OfNamesAndOfFieldsAreTheSame) {
  Arguments arguments(kernel());
  arguments.set("q.token", 32).set("q.ptr", Pointer{memory});
  arguments.set(
      "S", ArgumentValue::fields(
               {{"rows", ArgumentValue::fields({{"head", nullptr},
                                                {"token", 8},
                                                {"ptr", Pointer{memory}}})},
                {"M", 64}}));
  arguments.set("scale", 0.5);
  EXPECT_EQ(typesOf(arguments), typesOf(complete()));
}

TEST(Arguments, MakeDescriptors) {
  const Kernel copy = kernel("import triton\n"
                             "import triton.language as tl\n"
                             "@triton.jit\n"
                             "def k(d: \"tl.tensor_descriptor[2]\"):\n"
                             "    d.store([0, 0], d.load([8, 0]))\n");
  Arguments arguments(copy);
  arguments.set("d.base", Pointer{memory}).set("d.shape", {30, 1});
  arguments.set("d.strides", {32, 1}).set("d.block_shape", {8, 16});
  std::string text;
  for (const language::Argument &argument :
       copy.compileRequest(arguments.list(), arguments.constexprs()).args)
    text += argument.name.substr(2) + "=" +
            (argument.isConstexpr() ? argument.value.repr() : argument.type) +
            " ";
  EXPECT_EQ(text, "base=*fp32:16 shape.0=i32 shape.1=i32 strides.0=i64:16 "
                  "strides.1=1 block_shape.0=8 block_shape.1=16 "
                  "padding='zero' round_f32_to_tf32=False ");
}

TEST(Arguments, HaveMessages) {
  const std::pair<std::function<void(Arguments &)>, const char *> cases[] = {
      {[](Arguments &a) { a.set("q", {Pointer{memory}, 1}); },
       "`q` of kernel `k` is a tuple of 3 values, and 2 are given HINT give "
       "the values as Rows(ptr, token, head)"},
      {[](Arguments &a) { a.set("q", nullptr); },
       "`q` of kernel `k` is a tuple of 3 values, and None is given"},
      {[](Arguments &a) { a.set("q", 3); },
       "`q` of kernel `k` is a tuple of 3 values, and one value is given"},
      {[](Arguments &a) { a.set("S", {64, nullptr}); },
       "`S.rows` of kernel `k` is a tuple of 3 values, and None is given"},
      {[](Arguments &a) {
         a.set("q",
               ArgumentValue::fields({{"ptr", 1}, {"tokn", 2}, {"head", 3}}));
       },
       "`q` of kernel `k` has no field `tokn` HINT did you mean `token`?"},
      {[](Arguments &a) { a.set("scale", {1, 2}); },
       "`scale` of kernel `k` is one value, and a tuple of 2 is given"},
      {[](Arguments &a) { a.set("scal", 1); },
       "kernel `k` has no argument `scal` HINT did you mean `scale`?"},
      {[](Arguments &a) { a.set("q.heads", 1); },
       "kernel `k` has no argument `q.heads` HINT did you mean `q.head`?"},
      {[](Arguments &a) { a.set("scale", 1).set("scale", 2); },
       "`scale` of kernel `k` is given twice"},
      {[](Arguments &a) { a.set("S.M", Pointer{memory}); },
       "`S.M` is a tl.constexpr, and a pointer is given"},
      {[](Arguments &a) { a.set("scale", 1.0).list(); },
       "kernel `k` needs `q.ptr`, `q.token`, `S.rows.ptr`, `S.rows.token`"}};
  for (const auto &[action, want] : cases)
    EXPECT_TRUE(failureOf(action).starts_with(want)) << failureOf(action);
}

TEST(FunctionConstexprs, DecideKeys) {
  const Arguments arguments = complete();
  const auto request = [&](const Kernel &of, const ConstexprValue &function) {
    Constexprs constexprs = arguments.constexprs();
    constexprs["F"] = function;
    return of.compileRequest(arguments.list(), constexprs);
  };
  const auto relu = request(kernel(), functionNamed("relu"));
  EXPECT_NE(relu.key(), request(kernel(), functionNamed("half")).key());
  EXPECT_EQ(relu.key(),
            kernel()
                .compileRequest(arguments.list(), arguments.constexprs())
                .key()); // the default
  // One name, another text.
  std::string changed = source;
  changed.replace(changed.find("0.0)"), 4, "1.0)");
  EXPECT_NE(relu.key(), request(kernel(changed), functionNamed("relu")).key());
  EXPECT_EQ(language::CompileRequest::fromJson(relu.toJson()).key(),
            relu.key());
  const auto hash = [&](const std::string &text, const char *function) {
    return kernel(text).internals().textHash({{"F", functionNamed(function)}});
  };
  EXPECT_NE(hash(source, "relu"), hash(source, "half"));
  EXPECT_NE(hash(source, "relu"), hash(changed, "relu"));
  EXPECT_EQ(hash(source, "half"),
            kernel().internals().textHash({{"F", functionNamed("half")}}));
  try {
    request(kernel(), functionNamed("rleu"));
    ADD_FAILURE() << "no error";
  } catch (const Error &error) {
    EXPECT_EQ(error.hint, "did you mean `relu`?");
  }
}

TEST(TupleLaunchKeys, TellLeavesApart) {
  const auto keyOf = [](const Arguments &arguments, const char *function) {
    const Kernel of = kernel();
    runtime::LaunchKey key;
    of.internals().beginKey(key, runtime::launchDevice({}), arguments.list(),
                            {}, false);
    Constexprs constexprs = arguments.constexprs();
    constexprs["F"] = functionNamed(function);
    runtime::addConstexprs(key, constexprs);
    return key.copy();
  };
  EXPECT_EQ(keyOf(complete(32), "relu"), keyOf(complete(48), "relu"));
  EXPECT_NE(keyOf(complete(32), "relu"), keyOf(complete(33), "relu"));
  EXPECT_NE(keyOf(complete(33), "relu"), keyOf(complete(1), "relu"));
  EXPECT_NE(keyOf(complete(32), "relu"), keyOf(complete(32), "half"));
}

} // namespace arguments_test
