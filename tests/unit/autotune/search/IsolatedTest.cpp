// tests/unit/autotune/search/IsolatedTest.cpp - tests of
// autotune/search/Isolated.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/Isolated.h"

#include "support/Error.h"

#include <gtest/gtest.h>

#include <csignal>
#include <unistd.h>

using namespace tessera;
using namespace tessera::tune;

namespace {

using Report = std::function<void(const Json &)>;

struct Result {
  Ended ended;
  std::vector<int> numbers;
};

Result run(const std::function<void(const Report &)> &body, double limit = 60,
           bool stopAtOnce = false) {
  Result result;
  std::atomic<bool> stop{stopAtOnce};
  result.ended = runIsolated(
      body, [&](const Json &object) { result.numbers.push_back(object["n"]); },
      [&] { return limit; }, stop);
  return result;
}

} // namespace

TEST(Isolated, ReportsArriveInOrder) {
  const Result done = run([](const Report &report) {
    for (int i = 0; i < 1000; ++i)
      report({{"n", i}});
  });
  EXPECT_EQ(done.ended.how, Ended::How::Done);
  ASSERT_EQ(done.numbers.size(), 1000u);
  EXPECT_EQ(done.numbers[999], 999);
}

TEST(Isolated, ADeadChildIsSaidAndItsReportsStay) {
  const Result crashed = run([](const Report &report) {
    report({{"n", 7}});
    ::raise(SIGKILL);
  });
  EXPECT_EQ(crashed.ended.how, Ended::How::Crashed);
  EXPECT_NE(crashed.ended.text.find("signal 9"), std::string::npos)
      << crashed.ended.text;
  EXPECT_EQ(crashed.numbers, std::vector<int>{7});
  const Result left = run([](const Report &) { ::_exit(3); });
  EXPECT_EQ(left.ended.how, Ended::How::Crashed);
  EXPECT_NE(left.ended.text.find("status 3"), std::string::npos);
}

TEST(Isolated, AnErrorOfTheBodyIsItsText) {
  const Result failed =
      run([](const Report &) { throw Error("no such tensor"); });
  EXPECT_EQ(failed.ended.how, Ended::How::Failed);
  EXPECT_EQ(failed.ended.text, "no such tensor");
}

TEST(Isolated, WhatNeverEndsIsStopped) {
  const Result endless = run(
      [](const Report &report) {
        report({{"n", 1}});
        while (true)
          ::pause();
      },
      0.2);
  EXPECT_EQ(endless.ended.how, Ended::How::Endless);
  EXPECT_EQ(endless.numbers, std::vector<int>{1});
}

TEST(Isolated, AnInterruptEndsIt) {
  const Result stopped = run(
      [](const Report &) {
        while (true)
          ::pause();
      },
      60, true);
  EXPECT_EQ(stopped.ended.how, Ended::How::Interrupted);
}
