// tests/unit/autotune/table/DeviceModelTest.cpp - tests of
// autotune/choice/ThisMachine.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/choice/ThisMachine.h"

#include "autotune/choice/FindTable.h"
#include "support/File.h"
#include "tests/unit/support/TemporaryFolder.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::tune;

namespace {

const DeviceModel a100 = {"NVIDIA A100-SXM4-80GB", "sm_80", 108, 0, 400};

// Two sockets of two cores with two threads each.
std::string cpuinfo() {
  std::string text;
  for (int i = 0; i < 8; ++i)
    text += "processor\t: " + std::to_string(i) +
            "\nmodel name\t: AMD EPYC 7B13 64-Core Processor\nphysical id\t: " +
            std::to_string(i / 2 % 2) +
            "\ncore id\t\t: " + std::to_string(i % 2) + "\n\n";
  return text;
}

} // namespace

TEST(DeviceModel, CountsTheCoresThatMayBeUsed) {
  const DeviceModel all = cpuModel(cpuinfo(), {0, 1, 2, 3, 4, 5, 6, 7}, "cpu");
  EXPECT_EQ(all.name, "AMD EPYC 7B13 64-Core Processor");
  EXPECT_EQ(all.cores, 4);
  EXPECT_EQ(all.threads, 8);
  EXPECT_EQ(fileStem(all), "amd-epyc-7b13-64-core-processor-4c8t");
  const DeviceModel some = cpuModel(cpuinfo(), {1, 5}, "cpu");
  EXPECT_EQ(some.cores, 1);
  EXPECT_EQ(some.threads, 2);
  EXPECT_FALSE(fits(all, some));
}

TEST(DeviceModel, ANameWithoutAModelNumberGetsFamilyModelAndStepping) {
  const auto nameOf = [](const std::string &name) {
    return cpuModel("processor\t: 0\nvendor_id\t: AuthenticAMD\n"
                    "cpu family\t: 25\nmodel\t\t: 17\nmodel name\t: " +
                        name + "\nstepping\t: 1\n\n",
                    {0}, "cpu")
        .name;
  };
  const std::string numbers = " family 25 model 17 stepping 1";
  for (const char *exact :
       {"AMD EPYC 9B14 96-Core Processor", "AMD Ryzen 7 5800X 8-Core Processor",
        "Intel(R) Core(TM) i7-9700K CPU @ 3.60GHz",
        "Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz",
        "Intel(R) Xeon(R) Gold 6140 CPU @ 2.30GHz"})
    EXPECT_EQ(nameOf(exact), exact);
  for (const char *vague :
       {"AMD EPYC", "AMD EPYC-Rome Processor", "AMD EPYC 64-Core Processor",
        "Intel(R) Xeon(R) CPU @ 2.60GHz", "QEMU Virtual CPU version 2.5+",
        "Intel Core Processor (Haswell, no TSX)"})
    EXPECT_EQ(nameOf(vague), vague + numbers);
  EXPECT_EQ(cpuModel("model name : AMD EPYC\n", {0}, "cpu").name, "AMD EPYC");
}

// Tables of the former names, without these numbers, stay in use.
TEST(DeviceModel, ATableOfTheNameAloneStillApplies) {
  const DeviceModel here = {"AMD EPYC family 25 model 17 stepping 1", "cpu", 2,
                            2, 0};
  DeviceModel table = here;
  table.name = "AMD EPYC";
  EXPECT_TRUE(fits(table, here));
  table.name = "AMD EPYC family 25 model 1 stepping 1";
  EXPECT_FALSE(fits(table, here));
  TemporaryFolder folder;
  writeFile(folder.path() / "amd-epyc-2c2t.yaml", "");
  EXPECT_EQ(tableFor(folder.path(), here).filename(), "amd-epyc-2c2t.yaml");
  writeFile(folder.path() / "amd-epyc-4c4t.yaml", "");
  EXPECT_EQ(tableFor(folder.path(), here).filename(), "amd-epyc-2c2t.yaml");
  const std::string exact = "amd-epyc-family-25-model-17-stepping-1-2c2t.yaml";
  writeFile(folder.path() / exact, "");
  EXPECT_EQ(tableFor(folder.path(), here).filename(), exact);
}

TEST(DeviceModel, AMachineWithFewDetailsStillHasAModel) {
  for (const char *text : {"", "nonsense", ":::\n:", "processor\t: 0\n",
                           "processor : x\ncore id : 99999999999999999\n"}) {
    const DeviceModel model = cpuModel(text, {0, 1}, "cpu");
    EXPECT_EQ(model.name, "unknown processor");
    EXPECT_EQ(model.cores, 2);
    EXPECT_EQ(model.threads, 2);
  }
  EXPECT_EQ(cpuModel("model name : A\x1b[31m\n", {}, "cpu").name,
            "unknown processor");
}

TEST(DeviceModel, ThisMachineHasOne) {
  const DeviceModel &here = deviceModel(runtime::findLaunchDevice("cpu"));
  EXPECT_FALSE(here.name.empty());
  EXPECT_EQ(here.target, hostTarget());
  EXPECT_GE(here.threads, here.cores);
  EXPECT_GE(here.cores, 1);
  EXPECT_TRUE(fits(here, here));
}

TEST(DeviceModel, ATableMayLeaveOutTheLastWordsOfAName) {
  const auto with = [](auto member, auto value) {
    DeviceModel model = a100;
    model.*member = value;
    return model;
  };
  EXPECT_TRUE(fits(a100, a100));
  EXPECT_TRUE(fits(with(&DeviceModel::name, "nvidia A100-SXM4"), a100));
  EXPECT_TRUE(fits(with(&DeviceModel::name, "NVIDIA A100"), a100));
  EXPECT_FALSE(fits(with(&DeviceModel::name, "NVIDIA A10"), a100));
  EXPECT_FALSE(fits(with(&DeviceModel::name, "NVIDIA A100-PCIE"), a100));
  EXPECT_FALSE(fits(with(&DeviceModel::name, ""), a100));
  EXPECT_FALSE(fits(with(&DeviceModel::target, "sm_90"), a100));
  EXPECT_FALSE(fits(with(&DeviceModel::cores, 98), a100));
  EXPECT_FALSE(fits(with(&DeviceModel::powerWatts, 300), a100));
  EXPECT_TRUE(fits(with(&DeviceModel::powerWatts, 0), a100));
  EXPECT_EQ(fileStem(a100), "nvidia-a100-sxm4-80gb-108sm");
}

TEST(DeviceModel, TheMostExactFileOfAFolderIsTaken) {
  TemporaryFolder folder;
  EXPECT_EQ(tableFor(folder.path(), a100).string(), "");
  for (const char *name : {"nvidia-a100.yaml", "nvidia-a100-sxm4.yaml",
                           "nvidia-h100.yaml", "nvidia-a100-sxm4-80gb.txt"})
    writeFile(folder.path() / name, "");
  EXPECT_EQ(tableFor(folder.path(), a100).string(),
            (folder.path() / "nvidia-a100-sxm4.yaml").string());
  EXPECT_EQ(tableFor(folder.path() / "none", a100).string(), "");
}
