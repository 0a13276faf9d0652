// tests/unit/runtime/KeysTest.cpp - each field of a request and of a launch is
// in its key.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// The structures are decomposed into as many names as they have fields: a new
// field does not compile here until its author decides whether it belongs to
// the key.
#include "runtime/cache/Keys.h"
#include "language/Request.h"
#include "runtime/launch/KernelState.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

using namespace tessera;
using language::ArgKind;
using language::CompileRequest;
using language::Value;

namespace {

CompileRequest fullRequest() {
  CompileRequest made;
  made.file = "k.py";
  made.kernel = "k";
  made.text = "def k(x, n, B): pass\n";
  made.sources = {{"k.py", "def k(x, n, B): pass\n"}};
  made.args = {{"x", ArgKind::Pointer, "*fp32:16", {}},
               {"n", ArgKind::Int, "i32", {}},
               {"B", ArgKind::Constexpr, "", Value(64)}};
  made.target = "sm_80";
  made.assembler = "/usr/bin/ptxas";
  made.overrides = {{"tile", "a.mlir", "module {}"}};
  return made;
}

// One changed request by name of the field.
struct Change {
  const char *field;
  CompileRequest request;
};

template <typename F>
Change changed(const char *field, F change) {
  CompileRequest made = fullRequest();
  change(made);
  return {field, made};
}

// All keys differ from each other and from the first: a field that the key
// omits or confuses with another would repeat a key.
void expectDistinct(const std::vector<Change> &changes,
                    std::string (*keyOf)(const CompileRequest &)) {
  std::set<std::string> keys = {keyOf(fullRequest())};
  for (const Change &change : changes)
    EXPECT_TRUE(keys.insert(keyOf(change.request)).second) << change.field;
}

std::string keyOf(const CompileRequest &request) { return request.key(); }
std::string overrideKeyOf(const CompileRequest &request) {
  return request.overrideKey();
}

} // namespace

TEST(Keys, EveryFieldOfARequest) {
  CompileRequest whole = fullRequest();
  auto &[file, kernel, text, sources, args, options, target, emit, assembler,
         overrides, frontEndOnly] = whole;
  auto &[numWarps, numStages, f32Default, debug, swapAb, constantInputs,
         wideGrid] = options;
  auto &[name, kind, type, value] = args[0];
  static_cast<void>(file), static_cast<void>(numWarps), static_cast<void>(name),
      static_cast<void>(frontEndOnly);
  expectDistinct(
      {changed("kernel", [](auto &r) { r.kernel = "l"; }),
       changed("text", [](auto &r) { r.text += " "; }),
       changed("target", [](auto &r) { r.target = "sm_90"; }),
       changed("options.numWarps", [](auto &r) { r.options.numWarps = 8; }),
       changed("options.numStages", [](auto &r) { r.options.numStages = 4; }),
       changed("options.f32Default",
               [](auto &r) { r.options.f32Default = "ieee"; }),
       changed("options.debug", [](auto &r) { r.options.debug = true; }),
       changed("options.swapAb", [](auto &r) { r.options.swapAb = true; }),
       changed("options.constantInputs",
               [](auto &r) { r.options.constantInputs = true; }),
       changed("options.wideGrid", [](auto &r) { r.options.wideGrid = true; }),
       changed("args[0].name", [](auto &r) { r.args[0].name = "y"; }),
       changed("args[0].type", [](auto &r) { r.args[0].type = "*fp32"; }),
       changed("args[0].type's element",
               [](auto &r) { r.args[0].type = "*bf16:16"; }),
       changed("args[1].kind",
               [](auto &r) {
                 r.args[1] = {"n", ArgKind::Constexpr, "", Value(7)};
               }),
       changed("args[1].type", [](auto &r) { r.args[1].type = "i64"; }),
       changed("args[1].type's divisibility",
               [](auto &r) { r.args[1].type = "i32:16"; }),
       changed("args[2].value", [](auto &r) { r.args[2].value = Value(65); }),
       changed("args[2].value's kind",
               [](auto &r) { r.args[2].value = Value(64.0); }),
       changed("args[2].value, a text",
               [](auto &r) { r.args[2].value = Value("64"); }),
       changed(
           "args[2].value, a tuple",
           [](auto &r) { r.args[2].value = Value(Value::Tuple{{Value(64)}}); }),
       changed("order of args",
               [](auto &r) { std::swap(r.args[0], r.args[1]); }),
       changed("number of args", [](auto &r) { r.args.pop_back(); })},
      keyOf);
  // What is for people, or is in the artifact's key by another name.
  for (const Change &same :
       {changed("file", [](auto &r) { r.file = "other.py"; }),
        changed("sources", [](auto &r) { r.sources.clear(); }),
        changed("emit", [](auto &r) { r.emit = {"tile"}; }),
        changed("assembler", [](auto &r) { r.assembler = "none"; }),
        // Has no artifact: nothing of it is kept.
        changed("frontEndOnly", [](auto &r) { r.frontEndOnly = true; }),
        changed("overrides", [](auto &r) { r.overrides.clear(); })})
    EXPECT_EQ(same.request.key(), fullRequest().key()) << same.field;
}

TEST(Keys, EveryFieldOfAnEditedStage) {
  CompileRequest whole = fullRequest();
  auto &[stage, path, text] = whole.overrides[0];
  static_cast<void>(stage);
  expectDistinct(
      {changed("stage", [](auto &r) { r.overrides[0].stage = "llvm"; }),
       changed("text", [](auto &r) { r.overrides[0].text += " "; }),
       changed("another",
               [](auto &r) { r.overrides.push_back({"llvm", "b.ll", ""}); }),
       changed("none", [](auto &r) { r.overrides.clear(); })},
      overrideKeyOf);
  EXPECT_EQ(changed("path", [](auto &r) { r.overrides[0].path = "b.mlir"; })
                .request.overrideKey(),
            fullRequest().overrideKey());
}

TEST(Keys, EveryPartOfAnArtifactKey) {
  std::set<Sha256Digest> keys;
  for (const auto &key :
       {runtime::artifactKey("request", "build"),
        runtime::artifactKey("another", "build"),
        runtime::artifactKey("request", "older"),
        runtime::artifactKey("request", "build", "edited"),
        runtime::artifactKey("request", "build", "", "12.8"),
        runtime::artifactKey("request", "build", "", "12.9"),
        runtime::artifactKey("request", "build", "edited", "12.8")})
    EXPECT_TRUE(keys.insert(key).second);
}

// What crosses to the worker is the same request.
TEST(Keys, EveryFieldSurvivesTheJson) {
  CompileRequest all = fullRequest();
  all.emit = {"tile", "ptx"};
  all.options = {8, 4, "ieee", true, true, true, true};
  all.frontEndOnly = true;
  const CompileRequest back = CompileRequest::fromJson(all.toJson());
  EXPECT_EQ(back.toJson(), all.toJson());
  const auto &[file, kernel, text, sources, args, options, target, emit,
               assembler, overrides, frontEndOnly] = back;
  EXPECT_TRUE(frontEndOnly);
  EXPECT_EQ(file, all.file);
  EXPECT_EQ(kernel, all.kernel);
  EXPECT_EQ(text, all.text);
  ASSERT_EQ(sources.size(), 1u);
  EXPECT_EQ(sources[0].path, "k.py");
  EXPECT_EQ(sources[0].text, all.sources[0].text);
  ASSERT_EQ(args.size(), 3u);
  EXPECT_EQ(args[0].type, "*fp32:16");
  EXPECT_TRUE(args[2].value.identical(Value(64)));
  const auto &[numWarps, numStages, f32Default, debug, swapAb, constantInputs,
               wideGrid] = options;
  EXPECT_EQ(numWarps, 8);
  EXPECT_EQ(numStages, 4);
  EXPECT_EQ(f32Default, "ieee");
  EXPECT_TRUE(debug);
  EXPECT_TRUE(swapAb);
  EXPECT_TRUE(constantInputs);
  EXPECT_TRUE(wideGrid);
  EXPECT_EQ(target, all.target);
  EXPECT_EQ(emit, all.emit);
  EXPECT_EQ(assembler, all.assembler);
  ASSERT_EQ(overrides.size(), 1u);
  EXPECT_EQ(overrides[0].stage, "tile");
  EXPECT_EQ(overrides[0].text, "module {}");
}

namespace {

const char *const launchSource = R"(import triton
import triton.language as tl


@triton.jit
def k(x, n, f, B: tl.constexpr = 4):
    tl.store(x, n)
)";

class LaunchKeys : public testing::Test {
protected:
  // The key, and the classes of the request, of such a launch.
  std::string key(const std::vector<Arg> &args,
                  const Constexprs &constexprs = {},
                  const LaunchOptions &options = {}) {
    return textOf(args, constexprs, {}, options);
  }
  // The same with constexprs given as dimensions.
  std::string textOf(const std::vector<Arg> &args, const Constexprs &constexprs,
                     const std::vector<Dimension> &dimensions,
                     const LaunchOptions &options = {}, bool values = false) {
    runtime::LaunchKey key;
    state.beginKey(key, runtime::launchDevice(options), args, options, values);
    runtime::addConstexprs(key, constexprs);
    for (const Dimension &dimension : dimensions)
      key.addConstexpr(dimension.name, dimension.value);
    const auto words = key.copy();
    return {reinterpret_cast<const char *>(words.data()), 8 * words.size()};
  }
  std::string classes(const std::vector<Arg> &args) {
    std::string text;
    for (const language::Argument &argument : state.request(args, {}, {}).args)
      text += argument.type + "=" + argument.value.repr() + " ";
    return text;
  }
  Pointer at(size_t offset, DType type = DType::FP32) {
    return {memory + offset, type};
  }

  alignas(64) char memory[256] = {};
  Kernel::State state{language::Program::load("k.py", launchSource), "k"};
};

} // namespace

// Vectors of 16 bytes are what code of aligned pointers uses: 8 is not enough.
TEST_F(LaunchKeys, AlignmentIsBySixteenBytes) {
  const auto of = [&](size_t offset) {
    return std::vector<Arg>{at(offset), int64_t(7), 2.5};
  };
  for (size_t offset = 0; offset <= 64; ++offset) {
    const bool whole = offset % 16 == 0;
    EXPECT_EQ(key(of(offset)) == key(of(0)), whole) << offset;
    EXPECT_EQ(key(of(offset)) == key(of(1)), !whole) << offset;
    EXPECT_EQ(classes(of(offset)).starts_with("*fp32:16="), whole) << offset;
  }
}

TEST_F(LaunchKeys, IntegersAreOneOrDivisibleBySixteenOrWide) {
  const auto of = [&](int64_t n) { return std::vector<Arg>{at(0), n, 2.5}; };
  // The class that code may rely on, by hand.
  const auto classOf = [](int64_t n) -> std::string {
    if (n == 1)
      return "one";
    return std::string(n >= INT32_MIN && n <= INT32_MAX ? "i32" : "i64") +
           (n % 16 == 0 ? ":16" : "");
  };
  std::vector<int64_t> numbers = {INT32_MAX, INT32_MIN, int64_t(INT32_MAX) + 1,
                                  int64_t(INT32_MIN) - 1, int64_t(1) << 40};
  for (int64_t n = -33; n <= 65; ++n)
    numbers.push_back(n);
  std::map<std::string, std::string> keys, types;
  for (int64_t n : numbers) {
    const std::string wanted = classOf(n);
    const auto [atKey, newKey] = keys.emplace(key(of(n)), wanted);
    EXPECT_EQ(atKey->second, wanted) << n;
    const auto [atType, newType] = types.emplace(classes(of(n)), wanted);
    EXPECT_EQ(atType->second, wanted) << n;
  }
  EXPECT_EQ(keys.size(), 5u);
  EXPECT_EQ(types.size(), 5u);
}

TEST_F(LaunchKeys, IntegersBeyondSixtyThreeBits) {
  const auto of = [&](uint64_t n) { return std::vector<Arg>{at(0), n, 2.5}; };
  const uint64_t even = uint64_t(1) << 63, odd = even + 1;
  EXPECT_TRUE(classes(of(odd)).find(" u64=") != std::string::npos);
  EXPECT_TRUE(classes(of(even)).find(" u64:16=") != std::string::npos);
  EXPECT_NE(key(of(odd)), key(of(even)));
  EXPECT_EQ(key(of(odd)), key(of(UINT64_MAX)));
  EXPECT_NE(key(of(odd)), key({at(0), int64_t(odd), 2.5}));
  EXPECT_NE(textOf(of(odd), {}, {}, {}, true),
            textOf(of(UINT64_MAX), {}, {}, {}, true));
}

TEST_F(LaunchKeys, KindsOfArgumentsAreApart) {
  std::set<std::string> keys;
  for (int type = 0; type <= int(DType::FP64); ++type)
    EXPECT_TRUE(keys.insert(key({at(0, DType(type)), int64_t(7), 2.5})).second);
  for (const Arg &arg : {Arg(true), Arg(nullptr), Arg(2.5), Arg(at(0)),
                         Arg(at(8)), Arg(int64_t(7)), Arg(int64_t(1))})
    EXPECT_TRUE(keys.insert(key({at(4), arg, arg})).second);
  // Values of floats and bools are no class.
  EXPECT_EQ(key({at(0), 1.0, 2.5}), key({at(0), 16.0, 0.0}));
  EXPECT_EQ(key({at(0), true, 2.5}), key({at(0), false, 2.5}));
}

TEST_F(LaunchKeys, ConstexprsByNameKindAndValue) {
  const std::vector<Arg> args = {at(0), int64_t(7), 2.5};
  std::set<std::string> keys = {key(args)};
  for (const Constexprs &given :
       std::vector<Constexprs>{{{"B", int64_t(4)}},
                               {{"B", int64_t(5)}},
                               {{"B", 4.0}},
                               {{"B", true}},
                               {{"B", false}},
                               {{"B", nullptr}},
                               {{"B", std::string("4")}},
                               {{"B", std::string("4"
                                                  "4")}},
                               {{"B", DType::FP32}},
                               {{"B", DType::BF16}},
                               {{"B", EncodedConstexpr{R"({"tuple":[4]})"}}},
                               {{"B", EncodedConstexpr{R"({"tuple":[5]})"}}},
                               {{"B", std::string(R"({"tuple":[4]})")}},
                               // Numbers with the bits of what is above.
                               {{"B", std::bit_cast<int64_t>(4.0)}},
                               {{"B", int64_t(1)}},
                               {{"B", int64_t(0)}},
                               {{"B", int64_t(DType::FP32)}},
                               {{"B", int64_t(DType::BF16)}},
                               {{"B", int64_t(1) << 40}},
                               {{"C", int64_t(4)}},
                               {{"B", int64_t(4)}, {"C", int64_t(4)}}})
    EXPECT_TRUE(keys.insert(key(args, given)).second);
}

TEST_F(LaunchKeys, EveryOption) {
  LaunchOptions usual;
  auto &[numWarps, numStages, device, stream, wideGrid, sequence, tuned] =
      usual;
  static_cast<void>(numWarps), static_cast<void>(numStages);
  static_cast<void>(wideGrid), static_cast<void>(sequence);
  static_cast<void>(tuned);
  device = findDevice("sim:sm_80");
  const std::vector<Arg> args = {at(0), int64_t(7), 2.5};
  const auto with = [&](auto change) {
    LaunchOptions options = usual;
    change(options);
    return options;
  };
  std::set<std::string> keys, requests;
  for (const LaunchOptions &options :
       {usual, with([](auto &o) { o.numWarps = 1; }),
        with([](auto &o) { o.numWarps = 8; }),
        with([](auto &o) { o.numStages = 1; }),
        with([](auto &o) { o.numStages = 8; }),
        with([](auto &o) { o.wideGrid = true; }),
        with([](auto &o) { o.numWarps = o.numStages = 8; }),
        with([](auto &o) { o.device = findDevice("sim:sm_90"); }),
        with([](auto &o) { o.device = findDevice("cpu"); })}) {
    EXPECT_TRUE(keys.insert(key(args, {}, options)).second);
    EXPECT_TRUE(requests.insert(state.request(args, {}, options).key()).second);
  }
  // Code does not depend on where its launches are queued.
  LaunchOptions queued = usual;
  static_cast<void>(stream);
  queued.stream = &queued;
  EXPECT_EQ(key(args, {}, queued), key(args, {}, usual));
}

// Names of any length, and values that could be read as another's name.
TEST_F(LaunchKeys, DimensionsByNameAndValue) {
  const std::vector<Arg> args = {at(0), int64_t(7), 2.5};
  std::set<std::string> keys = {textOf(args, {}, {})};
  std::string name;
  for (int length = 1; length < 40; ++length) {
    name += char('A' + length % 26);
    for (int64_t value : {0, 1, -1, 64})
      EXPECT_TRUE(keys.insert(textOf(args, {}, {{name, value}})).second);
  }
  EXPECT_TRUE(keys.insert(textOf(args, {}, {{"B", 1}, {"C", 2}})).second);
  EXPECT_TRUE(keys.insert(textOf(args, {}, {{"B", 2}, {"C", 1}})).second);
  EXPECT_TRUE(keys.insert(textOf(args, {}, {{"CB", 1}})).second);
  int64_t spelt = 0;
  std::memcpy(&spelt, "EFGHIJKL", 8);
  EXPECT_TRUE(keys.insert(textOf(args, {}, {{"ABCD", spelt}})).second);
  EXPECT_TRUE(keys.insert(textOf(args, {}, {{"ABCDEFGHIJKL", 0}})).second);
  // Given either way they are the same.
  EXPECT_EQ(textOf(args, {{"B", int64_t(64)}}, {}),
            textOf(args, {}, {{"B", 64}}));
}

// Heuristics see numbers, so their kernels' keys hold them, but no address.
TEST_F(LaunchKeys, ValuesWhereHeuristicsSeeThem) {
  const auto of = [&](size_t offset, Arg n, double f) {
    return textOf({at(offset), n, f}, {}, {}, {}, true);
  };
  std::set<std::string> keys;
  for (const auto &[n, f] :
       std::vector<std::pair<Arg, double>>{{int64_t(7), 2.5},
                                           {int64_t(9), 2.5},
                                           {int64_t(7), 2.25},
                                           {true, 2.5},
                                           {false, 2.5},
                                           {nullptr, 2.5}})
    EXPECT_TRUE(keys.insert(of(0, n, f)).second);
  EXPECT_EQ(of(16, int64_t(7), 2.5), of(0, int64_t(7), 2.5));
  EXPECT_NE(of(4, int64_t(7), 2.5), of(0, int64_t(7), 2.5));
}

// The dimensions that do not fit into the words of the key itself.
TEST_F(LaunchKeys, LongKeys) {
  const std::vector<Arg> args = {at(0), int64_t(7), 2.5};
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i)
    names.push_back("NAME" + std::to_string(i));
  std::vector<Dimension> dimensions;
  for (const std::string &name : names)
    dimensions.push_back({name, 1});
  std::set<std::string> keys = {textOf(args, {}, dimensions)};
  for (Dimension &dimension : dimensions) {
    dimension.value = 2;
    EXPECT_TRUE(keys.insert(textOf(args, {}, dimensions)).second);
    dimension.value = 1;
  }
}
