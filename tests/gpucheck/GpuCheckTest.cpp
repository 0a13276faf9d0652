// tests/gpucheck/GpuCheckTest.cpp - packed cases run through a driver whose GPU
// is the simulator: results, times, and every way in which a kernel, a driver
// or a folder can be wrong.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/gpucheck/Fixture.h"

using namespace tessera;

namespace {

TEST_F(GpuCheck, WithoutAGpuItReportsThatAndSucceeds) {
  makeCase("add");
  for (const auto &[driver, mode] : {std::pair{"/nonexistent/libcuda.so.1", ""},
                                     {TESSERA_SIM_CUDA, "SIM_CUDA=none"}}) {
    const CommandResult result =
        check({}, {*mode ? mode : "SIM_CUDA="}, driver);
    EXPECT_TRUE(result.status.ok()) << result.errors;
    expectHas(result.output, "no NVIDIA GPU");
    expectHas(result.output, "nothing was run");
  }
}

// What is there and does not work is not a pass.
TEST_F(GpuCheck, ABrokenDriverIsAFailure) {
  makeCase("add");
  const CommandResult broken = check({}, {"SIM_CUDA=broken"});
  EXPECT_EQ(broken.status.code, 1);
  expectHas(broken.errors, "starting the driver");
  const CommandResult other = check({}, {}, "libm.so.6");
  EXPECT_EQ(other.status.code, 1);
  expectHas(other.errors, "has no function cuInit");
  auto rows = rowsOf("0 of 1", {}, {"SIM_CUDA=old"});
  expectFailed(rows["add"], "error",
               "the driver for CUDA 11.4 is too old for the PTX");
}

TEST_F(GpuCheck, RunsComparesAndTimes) {
  makeCase("good");
  makeCase("wrong", ptx(), 18);
  auto rows = rowsOf("1 of 2 cases are ok", {"--repeat", "3"});
  EXPECT_EQ(rows["good"]["status"], "ok");
  EXPECT_EQ(rows["good"]["us"], 250.0);
  EXPECT_EQ(rows["good"]["target"], "sm_80"); // runs on the newer GPU
  EXPECT_DOUBLE_EQ(rows["good"]["bytes_per_s"].get<double>(), 800 / 250e-6);
  EXPECT_NEAR(rows["good"]["flop_per_s_of_peak"].get<double>(),
              4e6 / 250e-6 / (1.98e9 * 132 * 4096), 1e-12);
  expectFailed(rows["wrong"], "mismatch", "17.5 instead of 18");
  const Json result = parseJson(readFile(path("result.json")), "result");
  EXPECT_EQ(result["gpu"], "Simulated GPU");
  EXPECT_EQ(result["compute_capability"], 90);
  EXPECT_EQ(result["ok"], 1);
  EXPECT_EQ(result["date"].get<std::string>().size(), 20u);
  // A case by itself.
  expectHas(check({}, {}, TESSERA_SIM_CUDA, "packed/good").output,
            "1 of 1 cases are ok");
}

TEST_F(GpuCheck, ARateAboveThePeakIsNoFigure) {
  makeCase("add");
  auto rows = rowsOf("1 of 1", {"--repeat", "1"}, {"SIM_CUDA_US=0.0001"});
  EXPECT_FALSE(rows["add"].contains("bytes_per_s"));
  EXPECT_FALSE(rows["add"].contains("flop_per_s"));
  EXPECT_EQ(rows["add"]["above_peak"],
            (std::vector<std::string>{"bytes_per_s", "flop_per_s"}));
}

TEST_F(GpuCheck, WritesOutsideOfArgumentsAreFound) {
  makeCase("behind", ptx(), 17.5f, 102);
  const std::string before = "st.global.u32 [%d2+-8], %r4;\n";
  makeCase("before", ptx("setp.ne.s32 %p1, %r4, 0;\n@!%p1 " + before));
  auto rows = rowsOf("0 of 2");
  expectFailed(rows["behind"], "mismatch", "`y`: wrote 0 bytes past its end");
  expectFailed(rows["before"], "mismatch",
               "`y`: wrote 5 bytes before its beginning");
}

TEST_F(GpuCheck, OtherBytesOnTheSecondLaunchAreFound) {
  makeCase("add");
  auto rows = rowsOf("0 of 1", {}, {"SIM_CUDA=noisy"});
  expectFailed(rows["add"], "mismatch",
               "launched again on the same memory it wrote other bytes: `y`");
}

TEST_F(GpuCheck, AKernelWithoutEndIsEndedAndTheRestRuns) {
  makeCase("a");
  makeCase("b", ptx("AGAIN:\nbra AGAIN;\n"));
  makeCase("c");
  auto rows = rowsOf("2 of 3", {"--timeout", "8", "--repeat", "1"});
  expectFailed(rows["b"], "error", "no end after 8 s of running");
  EXPECT_EQ(rows["c"]["status"], "ok");
}

TEST_F(GpuCheck, AFaultOrACrashEndsItsCaseOnly) {
  makeCase("a");
  makeCase("b", ptx("mov.u64 %d2, 64;\n"));
  makeCase("c");
  auto rows = rowsOf("2 of 3", {"--repeat", "1"});
  expectFailed(rows["b"], "error", "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_EQ(rows["c"]["status"], "ok"); // by another process
  fs::remove_all(path("packed/b"));
  rows =
      rowsOf("1 of 2", {"--repeat", "0", "--again", "0"}, {"SIM_CUDA=crash"});
  EXPECT_EQ(rows["a"]["status"], "ok");
  expectFailed(rows["c"], "error", "the process ended with signal 6");
}

TEST_F(GpuCheck, AnotherCompilersCodeIsCheckedAndTimed) {
  addPeer(makeCase("right"));
  addPeer(makeCase("wrong"), "mov.u32 %r1, 50;\n");
  auto rows = rowsOf("geometric mean of 2 times: 1.000 x", {"--repeat", "2"},
                     {"SIM_CUDA_US=5"});
  EXPECT_EQ(rows["right"]["peer"], "Other 1.0");
  EXPECT_EQ(rows["right"]["peer_status"], "ok");
  EXPECT_EQ(rows["right"]["peer_us"], rows["right"]["us"]);
  EXPECT_EQ(rows["wrong"]["status"], "ok"); // ours
  EXPECT_EQ(rows["wrong"]["peer_status"], "mismatch");
}

TEST_F(GpuCheck, TheFormatReadsBack) {
  const fs::path at = makeCase("both");
  runtime::CompiledKernel other = compiled();
  other.code.clear(); // no ptxas
  other.meta.sharedBytes = 4096;
  cases::packTarget(at, "sm_90", other, true);
  EXPECT_EQ(cases::packedTargets(at),
            (std::vector<std::string>{"sm_80", "sm_90"}));
  const runtime::CompiledKernel first = cases::readPacked(at, "sm_80"),
                                second = cases::readPacked(at, "sm_90");
  EXPECT_EQ(first.code, compiled().code);
  EXPECT_EQ(first.meta.symbol, "add");
  EXPECT_EQ(first.meta.threads, 64u);
  EXPECT_EQ(first.meta.params.size(), 3u);
  EXPECT_EQ(second.code, "");
  EXPECT_EQ(second.stages.at("ptx"), ptx());
  EXPECT_EQ(second.meta.sharedBytes, 4096u);
  EXPECT_TRUE(cases::packedTf32(at));
  EXPECT_FALSE(cases::readPeer(at, "sm_80"));
  addPeer(at);
  EXPECT_EQ(cases::readPeer(at, "sm_80")->appended, 2u);
  EXPECT_THROW(cases::readPacked(at, "sm_86"), Error);
  const cases::LoadedCase loaded = cases::loadPacked(at);
  EXPECT_EQ(loaded.before.at("x").bytes, tensor(1).bytes);
  EXPECT_EQ(loaded.after.at("y").shape, std::vector<int64_t>{100});
  EXPECT_EQ(loaded.recorded.work->bytes, 800);
}

TEST_F(GpuCheck, TensorsAreThereOnceAndDamageIsNoticed) {
  const fs::path one = makeCase("one");
  const fs::path two = makeCase("two");
  std::vector<float> values(1000);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = float(i % 7);
  for (const fs::path &at : {one, two}) {
    cases::LoadedCase loaded = cases::loadPacked(at);
    loaded.before["x"] = {
        "F32", {1000}, {reinterpret_cast<const char *>(values.data()), 4000}};
    cases::packTensors(loaded, at);
  }
  const fs::path blobs = path("packed/blobs");
  // Cubin, PTX, and the three tensors of equal numbers, of both cases.
  EXPECT_EQ(std::distance(fs::directory_iterator(blobs), {}), 6);
  const fs::path blob = blobs / parseJson(readFile(one / "tensors.json"),
                                          "t")["before"]["x"]["blob"]
                                    .get<std::string>();
  EXPECT_LT(fs::file_size(blob), 400u);
  EXPECT_EQ(cases::loadPacked(two).before.at("x").bytes.size(), 4000u);
  const auto failure = [&] {
    try {
      cases::loadPacked(one);
      return std::string("none");
    } catch (const Error &error) {
      return std::string(error.what());
    }
  };
  const std::string good = readFile(blob);
  writeFile(blob, good.substr(0, good.size() / 2));
  expectHas(failure(), "is damaged");
  values[5] = 99;
  writeFile(blob, cases::deflated(
                      {reinterpret_cast<const char *>(values.data()), 4000}));
  expectHas(failure(), "is damaged");
  fs::remove(blob);
  expectHas(failure(), blob.filename());
  edit((one / "tensors.json").string(), blob.filename(), "../../x");
  expectHas(failure(), "is not a hexadecimal number");
}

TEST_F(GpuCheck, BadFoldersAreRefused) {
  expectRefused(check({}), "no case in");
  const fs::path at = makeCase("bad");
  const std::string good = readFile(at / "gpu.json");
  const auto refused = [&](const std::string &text, const std::string &part) {
    writeFile(at / "gpu.json", text);
    expectRefused(check({}), part);
  };
  refused("{", "gpu.json");
  refused(R"({"version": 2, "targets": {}})", "is of another version");
  refused(R"({"version": 1, "targets": []})", "is not an object");
  refused(R"({"version": 1, "targets": {"../x": {}}})", "`../x`");
  refused(R"({"version": 1, "targets": {}})", "has no gpu.json, so no code");
  fs::remove(at / "gpu.json");
  expectRefused(check({}), "make it with tessera pack-cases");
  writeFile(at / "gpu.json", good);
  // What is wrong with one case is an error of that case.
  const auto blob = [&](const char *form) {
    return folder.path() / "packed/blobs" /
           parseJson(readFile(at / "gpu.json"), "g")["targets"]["sm_80"][form]
               .get<std::string>();
  };
  fs::remove(blob("ptx"));
  auto rows = rowsOf("0 of 1");
  expectFailed(rows["bad"], "error", blob("ptx").filename());
  runtime::CompiledKernel noPtx = compiled("no PTX");
  cases::packTarget(at, "sm_80", noPtx);
  rows = rowsOf("0 of 1");
  expectFailed(rows["bad"], "error", "CUDA_ERROR_NO_BINARY_FOR_GPU");
  writeFile(blob("cubin"), "no zlib stream");
  rows = rowsOf("0 of 1");
  expectFailed(rows["bad"], "error",
               blob("cubin").filename().string() + " is damaged");
}

// Record, pack, carry, run: nothing but the packed folder takes part in the
// last step, and the program there needs no library but libc's.
TEST_F(GpuCheck, APackedFolderRunsByItself) {
  expectFine(
      run({"pack-cases", TESSERA_SOURCE "/tests/replay/vector_add",
           TESSERA_SOURCE "/tests/replay/own_matmul-fp32.matmul_plain", "-o",
           path("packed"), "--target", "sm_80", "--commit", "abc"}));
  const fs::path at = path("packed/vector_add");
  EXPECT_EQ(cases::packedTargets(at), std::vector<std::string>{"sm_80"});
  const runtime::CompiledKernel packed = cases::readPacked(at, "sm_80");
  expectHas(packed.stages.at("ptx"), ".visible .entry " + packed.meta.symbol);
  EXPECT_TRUE(cases::packedTf32(path("packed/own_matmul-fp32.matmul_plain")));
  fs::rename(path("packed"), path("carried"));
  const std::string program = path("carried/tessera-gpu-check");
#ifndef __SANITIZE_ADDRESS__ // whose code is several times as large
  EXPECT_LT(fs::file_size(program), 32u << 20);
#endif
  const CommandResult result = runCommand(
      {"/usr/bin/env", "-i", "TESSERA_CUDA_DRIVER=" TESSERA_SIM_CUDA, program,
       path("carried"), "--json", path("result.json"), "--repeat", "1"},
      std::chrono::seconds(300));
  expectHas(result.output, "2 of 2 cases are ok");
  EXPECT_EQ(parseJson(readFile(path("result.json")), "r")["pack"]["commit"],
            "abc");
#if !TESSERA_SANITIZED
  const CommandResult libraries = runCommand(
      {program}, std::chrono::seconds(60), {"LD_TRACE_LOADED_OBJECTS=1"});
  expectHas(libraries.output, "libc.so");
  for (const char *unwanted : {"libstdc++", "libfmt", "libspdlog", "libz"})
    expectHasNot(libraries.output, unwanted);
#endif
  expectRefused(run({"pack-cases", path("carried"), "--target", "sm_8"}),
                "sm_8");
}

// What is not a regular file stays what it is.
TEST_F(GpuCheck, PackWritesThroughLinksAndDevices) {
  const fs::path packed = path("packed"), at = packed / "vector_add";
  fs::create_directories(at);
  const auto elsewhere = [&](const std::string &name) {
    return folder.path() / ("elsewhere_" + name);
  };
  const std::vector<fs::path> linked = {
      packed / "pack.json", packed / "tessera-gpu-check", at / "case.json",
      at / "gpu.json", at / "tensors.json"};
  for (const fs::path &link : linked)
    fs::create_symlink(elsewhere(link.filename()), link);
  fs::create_symlink("/dev/null", at / "kernel.py");
  const std::vector<std::string> pack = {
      "pack-cases", TESSERA_SOURCE "/tests/replay/vector_add",
      "-o",         packed,
      "--target",   "sm_80"};
  expectFine(run(pack));
  for (const fs::path &link : linked) {
    EXPECT_TRUE(fs::is_symlink(link)) << link;
    EXPECT_GT(fs::file_size(elsewhere(link.filename())), 0u) << link;
  }
  EXPECT_TRUE(fs::is_symlink(at / "kernel.py"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  // The program that a link points to is made executable, a device is left
  // alone.
  EXPECT_NE(fs::status(linked[1]).permissions() & fs::perms::owner_exec,
            fs::perms::none);
  fs::remove(linked[1]);
  fs::create_symlink("/dev/null", linked[1]);
  const fs::perms before = fs::status("/dev/null").permissions();
  expectFine(run(pack));
  EXPECT_EQ(fs::status("/dev/null").permissions(), before);
  // A folder where a file belongs is refused.
  fs::remove(at / "gpu.json");
  fs::create_directory(at / "gpu.json");
  const CommandResult refused = run(pack);
  EXPECT_EQ(refused.status.code, 1);
  expectHas(refused.errors, "it is a folder");
  // `tessera new` refuses any existing file as well.
  for (const char *name : {"mine.py", "mine_test.py"}) {
    fs::create_symlink("/dev/null", path(name));
    expectRefused(run({"new", "kernel", "mine", "--dir", folder.path()}),
                  std::string(name) + " exists");
    EXPECT_TRUE(fs::is_symlink(path(name)));
    fs::remove(path(name));
  }
}

TEST_F(GpuCheck, TheTableIsMadeFromTheResult) {
  addPeer(makeCase("first"));
  makeCase("second", ptx(), 18);
  rowsOf("1 of 2", {"--repeat", "1"});
  const CommandResult result = runCommand(
      {"/usr/bin/env", "python3", TESSERA_SOURCE "/tools/gpucheck/table.py",
       path("result.json")},
      std::chrono::seconds(60));
  EXPECT_TRUE(result.status.ok()) << result.errors;
  const std::string &page = result.output;
  expectHas(page, "Simulated GPU, driver for CUDA 13.0");
  expectHas(page, "| add | 1 of 2 | 1.00 | 250.0 |");
  expectHas(page, "Not ok: second.");
}

// The script on a machine without a GPU, and its bad options.
TEST_F(GpuCheck, Script) {
  makeCase("add");
  const std::string script = TESSERA_SOURCE "/scripts/gpu-check";
  const auto start = [&](std::vector<std::string> arguments,
                         const std::string &driver) {
    arguments.insert(arguments.begin(), script);
    return runCommand(arguments, std::chrono::seconds(120),
                      {"BUILD=" TESSERA_BUILD, "TESSERA_CUDA_DRIVER=" + driver,
                       "TESSERA_PYTHON=/nonexistent",
                       "RESULT=" + path("out/result.json")});
  };
  const std::string none = "/nonexistent/libcuda.so.1";
  for (const auto &arguments :
       {std::vector<std::string>{"--quick", path("packed")}, {"--quick"}}) {
    const CommandResult result = start(arguments, none);
    EXPECT_TRUE(result.status.ok()) << result.output << result.errors;
    expectHas(result.output, "no NVIDIA GPU");
    expectHas(result.output, "nothing was run");
  }
  const CommandResult result =
      start({"--quick", path("packed")}, TESSERA_SIM_CUDA);
  expectFine(result);
  expectHas(result.output, "1 of 1 cases are ok");
  EXPECT_TRUE(fs::exists(path("out/result.json")));
  const CommandResult wrong = start({"--quik"}, none);
  EXPECT_EQ(wrong.status.code, 2);
  expectHas(wrong.errors, "no option --quik");
}

} // namespace
