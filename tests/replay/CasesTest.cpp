// tests/replay/CasesTest.cpp - tessera replay on recorded launches: all are ok,
// each with one altered value is not.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "replay/Case.h"
#include "support/File.h"
#include "support/Json.h"
#include "support/Process.h"
#include "tests/unit/support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <map>

using namespace tessera;
namespace fs = std::filesystem;

namespace {

struct Replayed {
  int code = 0;
  std::string output, errors;
  std::map<std::string, Json> reports; // by the folder's name
};

Replayed replay(const fs::path &cases, std::vector<std::string> more = {}) {
  TemporaryFolder folder;
  const fs::path json = folder.path() / "report.json";
  std::vector<std::string> command = {TESSERA_PROGRAM, "replay", cases,
                                      "--json", json};
  command.insert(command.end(), more.begin(), more.end());
  const CommandResult result = runCommand(command, std::chrono::seconds(500));
  Replayed replayed{result.status.code, result.output, result.errors, {}};
  if (fs::exists(json))
    for (const Json &report : parseJson(readFile(json), "report"))
      replayed.reports[fs::path(report["case"].get<std::string>()).filename()] =
          report;
  return replayed;
}

std::string statusOf(const Replayed &replayed, const std::string &name) {
  const auto found = replayed.reports.find(name);
  return found == replayed.reports.end()
             ? "no report"
             : found->second["status"].get<std::string>();
}

// A value that no tolerance takes for the recorded one: a float gets another
// exponent, an integer is one off.
void alter(cases::StoredTensor &tensor, int64_t element) {
  const size_t size = cases::storedBytes(tensor.dtype);
  const bool isFloat = tensor.dtype[0] == 'F' || tensor.dtype == "BF16";
  const size_t byte = size_t(element) * size + (isFloat ? size - 1 : 0);
  tensor.bytes[byte] = char(tensor.bytes[byte] ^ (isFloat ? 0x40 : 0x01));
}

void writeTensors(const fs::path &path, const cases::Tensors &tensors) {
  writeFile(path, cases::writeSafetensors(tensors));
}

fs::path copyCase(const fs::path &from, const fs::path &to) {
  fs::create_directories(to);
  for (const char *file :
       {"case.json", "kernel.py", "before.safetensors", "after.safetensors"})
    writeFile(to / file, readFile(from / file));
  return to;
}

// A launch of one program on OUT, 8 elements of i32, all 0 before.
void makeCase(const fs::path &folder, const std::string &body,
              const std::vector<int> &after,
              const Json &changes = Json::object()) {
  fs::create_directories(folder);
  writeFile(folder / "kernel.py",
            "import triton\nimport triton.language as tl\n\n\n"
            "@triton.jit\ndef f(OUT, FAR):\n    i = tl.arange(0, 8)\n" +
                body);
  Json json = {{"name", folder.filename()},
               {"kernel", "f"},
               {"kernel_file", "kernel.py"},
               {"grid", {1}},
               {"constexprs", Json::object()},
               {"args",
                {{{"name", "OUT"},
                  {"kind", "pointer"},
                  {"dtype", "i32"},
                  {"shape", {8}},
                  {"strides", {1}},
                  {"elements", 8}},
                 {{"name", "FAR"},
                  {"kind", "int"},
                  {"dtype", "i64"},
                  {"value", 1ll << 44}}}},
               {"written", {"OUT"}}};
  json.merge_patch(changes);
  writeFile(folder / "case.json", json.dump(1));
  cases::StoredTensor before{"I32", {8}, std::string(32, '\0')};
  cases::StoredTensor result = before;
  for (size_t i = 0; i < after.size(); ++i)
    result.bytes[4 * i] = char(after[i]);
  writeTensors(folder / "before.safetensors", {{"OUT", before}});
  writeTensors(folder / "after.safetensors", {{"OUT", result}});
}

const std::vector<int> counted = {0, 1, 2, 3, 4, 5, 6, 7};

} // namespace

TEST(Cases, AllAreOk) {
  TemporaryFolder folder;
  for (const std::vector<std::string> &more :
       {std::vector<std::string>{},
        {"--serial", "--out", (folder.path() / "out").string()}}) {
    const Replayed replayed = replay(TESSERA_CASES, more);
    EXPECT_EQ(replayed.code, 0) << replayed.output << replayed.errors;
    EXPECT_GE(replayed.reports.size(), 35u);
    for (const auto &[name, report] : replayed.reports)
      EXPECT_EQ(report["status"], "ok") << report;
  }
  // What --out keeps has the names and shapes of the recording.
  for (const fs::path &path : cases::findCases(TESSERA_CASES)) {
    const cases::LoadedCase loaded = cases::loadCase(path);
    const fs::path out =
        folder.path() / "out" / (loaded.folderName() + ".safetensors");
    const cases::Tensors produced =
        cases::readSafetensors(readFile(out), out.string());
    ASSERT_EQ(produced.size(), loaded.after.size()) << path;
    for (const auto &[name, tensor] : loaded.after) {
      EXPECT_EQ(produced.at(name).shape, tensor.shape) << path << name;
      EXPECT_EQ(produced.at(name).dtype, tensor.dtype) << path << name;
    }
  }
}

// The first, a middle and the last element of every written argument.
TEST(Cases, OneAlteredValueFails) {
  TemporaryFolder folder;
  std::vector<std::string> altered;
  for (const fs::path &path : cases::findCases(TESSERA_CASES)) {
    const cases::LoadedCase loaded = cases::loadCase(path);
    for (const std::string &name : loaded.recorded.written) {
      const int64_t count = loaded.after.at(name).count();
      for (int64_t element : {int64_t(0), count / 2, count - 1}) {
        const std::string copy =
            loaded.folderName() + "." + name + "." + std::to_string(element);
        cases::Tensors after = loaded.after;
        alter(after.at(name), element);
        writeTensors(copyCase(path, folder.path() / copy) / "after.safetensors",
                     after);
        altered.push_back(copy);
      }
    }
  }
  ASSERT_GE(altered.size(), 60u);
  const Replayed replayed = replay(folder.path());
  EXPECT_EQ(replayed.code, 1);
  for (const std::string &name : altered)
    EXPECT_EQ(statusOf(replayed, name), "mismatch") << name;
}

// An argument that is not among the written ones must not change.
TEST(Cases, UnlistedWritesFail) {
  TemporaryFolder folder;
  for (const fs::path &path : cases::findCases(TESSERA_CASES)) {
    const cases::LoadedCase loaded = cases::loadCase(path);
    for (const std::string &name : loaded.recorded.written) {
      const fs::path copy =
          copyCase(path, folder.path() / (loaded.folderName() + "." + name));
      Json json = parseJson(readFile(copy / "case.json"), "case.json");
      json["written"].erase(
          std::find(json["written"].begin(), json["written"].end(), name));
      writeFile(copy / "case.json", json.dump());
    }
  }
  const Replayed replayed = replay(folder.path());
  EXPECT_EQ(replayed.code, 1);
  EXPECT_GE(replayed.reports.size(), 35u);
  for (const auto &[name, report] : replayed.reports) {
    EXPECT_EQ(report["status"], "mismatch") << name;
    EXPECT_NE(report["message"].get<std::string>().find("was changed"),
              std::string::npos)
        << report;
  }
}

TEST(Cases, WritesOutsideOfArgumentsFail) {
  TemporaryFolder folder;
  const fs::path at = folder.path();
  makeCase(at / "good", "    tl.store(OUT + i, i)\n", counted);
  makeCase(at / "behind",
           "    tl.store(OUT + i, i)\n    tl.store(OUT + 9, 7)\n", counted);
  makeCase(at / "before",
           "    tl.store(OUT + i, i)\n    tl.store(OUT - 2, 7)\n", counted);
  makeCase(at / "far", "    tl.store(OUT + i + FAR, i)\n", counted);
  // Every second element is the tensor; the others belong to no argument.
  const Json second = {
      {"args",
       {{{"name", "OUT"},
         {"kind", "pointer"},
         {"dtype", "i32"},
         {"shape", {4}},
         {"strides", {2}},
         {"elements", 7}},
        {{"name", "FAR"}, {"kind", "int"}, {"dtype", "i32"}, {"value", 5}}}}};
  makeCase(at / "between", "    tl.store(OUT + i, i, mask=i < 7)\n",
           {0, 0, 2, 0, 4, 0, 6}, second);
  makeCase(at / "not_between",
           "    tl.store(OUT + i, i, mask=(i < 7) & (i % 2 == 0))\n",
           {0, 0, 2, 0, 4, 0, 6}, second);
  const Replayed replayed = replay(at);
  EXPECT_EQ(statusOf(replayed, "good"), "ok");
  EXPECT_EQ(statusOf(replayed, "not_between"), "ok") << replayed.output;
  auto expect = [&](const std::string &name, const std::string &status,
                    const std::string &part) {
    EXPECT_EQ(statusOf(replayed, name), status) << replayed.output;
    EXPECT_NE(replayed.output.find(part), std::string::npos) << replayed.output;
  };
  expect("behind", "mismatch", "wrote 4 bytes past its end");
  expect("before", "mismatch", "wrote 5 bytes before its beginning");
  expect("between", "mismatch", "which is not part of the tensor");
  expect("far", "error", "kernel `f`: program (0, 0, 0) ");
}

// 8-bit floats are arguments like others, and their values are compared.
TEST(Cases, EightBitFloats) {
  TemporaryFolder folder;
  const fs::path at = folder.path();
  const Json small = {
      {"args",
       {{{"name", "OUT"},
         {"kind", "pointer"},
         {"dtype", "fp8e4nv"},
         {"shape", {8}},
         {"strides", {1}},
         {"elements", 8}},
        {{"name", "FAR"}, {"kind", "int"}, {"dtype", "i32"}, {"value", 5}}}}};
  // 0 to 7 in the bits of float8_e4m3fn; the last is off by one ulp.
  const std::string right("\x00\x38\x40\x44\x48\x4a\x4c\x4e", 8);
  const std::string wrong("\x00\x38\x40\x44\x48\x4a\x4c\x4f", 8);
  for (const auto &[name, after] :
       {std::pair{"right", right}, {"wrong", wrong}}) {
    makeCase(at / name,
             "    tl.store(OUT + i, i.to(tl.float32).to(tl.float8e4nv))\n",
             counted, small);
    writeTensors(at / name / "before.safetensors",
                 {{"OUT", {"F8_E4M3", {8}, std::string(8, '\0')}}});
    writeTensors(at / name / "after.safetensors",
                 {{"OUT", {"F8_E4M3", {8}, after}}});
  }
  const Replayed replayed = replay(at);
  EXPECT_EQ(statusOf(replayed, "right"), "ok") << replayed.output;
  EXPECT_EQ(statusOf(replayed, "wrong"), "mismatch") << replayed.output;
}

// Two names that may be one tensor: what is stored through one of them is what
// the other holds. A value that is stored wrong stays wrong.
TEST(Cases, SharedMemoryExplainsNoWrongValue) {
  TemporaryFolder folder;
  const fs::path at = folder.path();
  Json args = Json::array();
  for (const char *name : {"OUT", "FAR"})
    args.push_back({{"name", name},
                    {"kind", "pointer"},
                    {"dtype", "i32"},
                    {"shape", {8}},
                    {"strides", {1}},
                    {"elements", 8}});
  const Json both = {{"args", args}, {"written", {"OUT", "FAR"}}};
  auto make = [&](const std::string &name, const std::string &body) {
    makeCase(at / name, body, counted, both);
    for (const char *file : {"before.safetensors", "after.safetensors"}) {
      cases::Tensors tensors =
          cases::readSafetensors(readFile(at / name / file), file);
      tensors["FAR"] = tensors.at("OUT");
      writeTensors(at / name / file, tensors);
    }
  };
  make("apart", "    tl.store(OUT + i, i)\n    tl.store(FAR + i, i)\n");
  make("in_place", "    tl.store(OUT + i, i + tl.load(FAR + i))\n");
  // As one tensor the later store would hide the wrong value of the earlier.
  make("wrong", "    tl.store(FAR + i, i + 1)\n    tl.debug_barrier()\n"
                "    tl.store(OUT + i, i)\n");
  make("half", "    tl.store(FAR + i, i, mask=i < 4)\n"
               "    tl.debug_barrier()\n    tl.store(OUT + i, i)\n");
  const Replayed replayed = replay(at);
  EXPECT_EQ(statusOf(replayed, "apart"), "ok") << replayed.output;
  EXPECT_EQ(statusOf(replayed, "in_place"), "ok") << replayed.output;
  EXPECT_EQ(statusOf(replayed, "wrong"), "mismatch") << replayed.output;
  EXPECT_EQ(statusOf(replayed, "half"), "mismatch") << replayed.output;
}

TEST(Cases, TroubleIsTold) {
  TemporaryFolder folder;
  const fs::path at = folder.path();
  makeCase(at / "wrong", "    tl.store(OUT + i, j)\n", counted);
  makeCase(at / "endless", "    tl.store(OUT + i, i)\n", counted,
           {{"grid", {1 << 30, 1 << 15, 4}}});
  makeCase(at / "missing", "    tl.store(OUT + i, i)\n", counted);
  writeTensors(at / "missing" / "before.safetensors",
               {{"OTU", {"I32", {8}, std::string(32, '\0')}}});
  makeCase(at / "fp8", "    tl.store(OUT + i, i)\n", counted,
           {{"args",
             {{{"name", "OUT"},
               {"kind", "pointer"},
               {"dtype", "fp8e4b8"},
               {"shape", {8}},
               {"strides", {1}}}}}});
  makeCase(at / "parameter", "    tl.store(OUT + i, i)\n", counted,
           {{"constexprs", {{"OTU", 3}}}});
  // Words that the language does not have.
  makeCase(at / "function", "    tl.store(OUT + i, tl.no_such(i))\n", counted);
  makeCase(at / "method", "    tl.store(OUT + i, i.no_such())\n", counted);
  makeCase(at / "keyword", "    tl.store(OUT + i, i, no_such=1)\n", counted);
  makeCase(at / "python", "    tl.store(OUT + i, sorted((i, i))[0])\n",
           counted);
  makeCase(at / "asm",
           "    tl.store(OUT + i, tl.inline_asm_elementwise('', '', [i], "
           "tl.int32, True, 1))\n",
           counted);
  makeCase(at / "type", "    tl.store(OUT + i, i.to(tl.float8e4b15))\n",
           counted);
  makeCase(at / "constant", "    tl.store(OUT + i, i + UNREAD)\n", counted);
  writeFile(at / "constant" / "kernel.py",
            readFile(at / "constant" / "kernel.py") +
                "\n\nUNREAD = max({n for n in (1, 2)})\n");
  makeCase(at / "statement", "    with OUT:\n        pass\n", counted);
  makeCase(at / "class", "    tl.store(OUT + i, Known(i))\n", counted);
  writeFile(at / "class" / "kernel.py", readFile(at / "class" / "kernel.py") +
                                            "\n\nclass Known:\n    pass\n");
  makeCase(at / "good", "    tl.store(OUT + i, i)\n", counted);
  const Replayed replayed = replay(at, {"--timeout", "1"});
  EXPECT_EQ(replayed.code, 1);
  EXPECT_EQ(statusOf(replayed, "good"), "ok");
  for (const char *name : {"wrong", "endless", "missing", "parameter"})
    EXPECT_EQ(statusOf(replayed, name), "error") << replayed.output;
  for (const char *name : {"fp8", "function", "method", "keyword", "python",
                           "statement", "asm", "type", "class", "constant"})
    EXPECT_EQ(statusOf(replayed, name), "unsupported") << name << "\n"
                                                       << replayed.output;
  for (const char *part :
       {"kernel.py:8:23: error", "no end after 1 s", "did you mean `OTU`?",
        "fp8e4b8", "`OTU` is not a parameter", "did you mean `OUT`?"})
    EXPECT_NE(replayed.output.find(part), std::string::npos) << part << "\n"
                                                             << replayed.output;
}

TEST(Cases, Devices) {
  TemporaryFolder folder;
  makeCase(folder.path() / "good", "    tl.store(OUT + i, i)\n", counted);
  const Replayed cuda = replay(folder.path(), {"--device", "cuda"});
  EXPECT_EQ(statusOf(cuda, "good"), "unsupported") << cuda.output;
  EXPECT_EQ(cuda.code, 1);
  // Without --ptx our own compiler makes the code.
  const Replayed simulated = replay(folder.path(), {"--device", "sim:sm_80"});
  EXPECT_EQ(statusOf(simulated, "good"), "ok") << simulated.output;
  // What the simulator finds is a mismatch: 32 elements are there.
  TemporaryFolder wrong;
  makeCase(wrong.path() / "beyond", "    tl.store(OUT + 9 * i, i)\n", counted);
  const Replayed beyond = replay(wrong.path(), {"--device", "sim:sm_80", "-v"});
  EXPECT_EQ(statusOf(beyond, "beyond"), "mismatch") << beyond.output;
  EXPECT_NE((beyond.output + beyond.errors).find("out-of-bounds"),
            std::string::npos)
      << beyond.output << beyond.errors;
  const Replayed near = replay(folder.path(), {"--device", "sim:sm_8"});
  EXPECT_EQ(near.code, 1);
  EXPECT_NE(near.errors.find("did you mean `sim:sm_80`?"), std::string::npos)
      << near.errors;
  const Replayed unknown = replay(folder.path(), {"--device", "cdua"});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_NE(unknown.errors.find("did you mean `cuda`?"), std::string::npos);
  const Replayed empty = replay(folder.path() / "none");
  EXPECT_EQ(empty.code, 1);
  EXPECT_NE(empty.errors.find("no case in"), std::string::npos);
}
