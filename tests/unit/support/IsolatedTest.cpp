// tests/unit/support/IsolatedTest.cpp - tests of support/Isolated.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Isolated.h"

#include "support/Error.h"

#include <gtest/gtest.h>

#include <csignal>
#include <unistd.h>

using namespace tessera;

namespace {

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

TEST(Isolated, ReportsOfADeadChildStay) {
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

// The error of a handler ends the child, too.
TEST(Isolated, AnErrorOfTheEventEndsTheChild) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::atomic<bool> stop{false};
  EXPECT_THROW(runIsolated(
                   [&](const Report &report) {
                     report({{"n", 1}});
                     while (true)
                       ::pause();
                   },
                   [](const Json &) { throw Error("no"); }, [] { return 60.0; },
                   stop),
               Error);
  ::close(ends[1]);
  char byte;
  EXPECT_EQ(::read(ends[0], &byte, 1), 0); // the child's end is closed
  ::close(ends[0]);
}

namespace {

// Items by what they do.
class Items : public IsolatedItems {
public:
  explicit Items(std::string what) : what(std::move(what)) {}

  std::string what; // of each item: one letter
  std::atomic<bool> stop{false};
  std::string openFails;
  bool reuse = true;
  std::vector<std::string> results = std::vector<std::string>(what.size());
  int opens = 0;

protected:
  std::optional<size_t> next(size_t from) const override {
    for (size_t i = from; i < results.size(); ++i)
      if (results[i].empty())
        return i;
    return std::nullopt;
  }
  Json open() override {
    if (openFails == "throws")
      throw Error("no device");
    if (openFails == "crashes")
      ::raise(SIGKILL);
    return ::getpid();
  }
  bool usable() const override { return reuse && !spoiled; }
  double limit() const override { return 0.5; }
  Json run(size_t item, const Say &say) override {
    ++ran;
    if (what[item] == 'n') // between items
      ::_exit(4);
    say({"working", item + 10});
    switch (what[item]) {
    case 'k':
      ::raise(SIGKILL);
      break;
    case 'h':
      while (true)
        ::pause();
    case 'e':
      throw Error("bad item");
    case 'l':
      spoiled = true;
      throw LostProcess{7, "lost"};
    }
    return ran;
  }
  void opened(const Json &) override { ++opens; }
  void done(size_t item, Json row) override { results[item] = row.dump(); }
  void failed(size_t item, const Phase &phase, const Ended &how) override {
    results[item] = phase.what +
                    (phase.part ? std::to_string(*phase.part) : "") + ": " +
                    how.text;
  }

private:
  int ran = 0; // in this process
  bool spoiled = false;
};

} // namespace

TEST(IsolatedItems, WhatBreaksTheProcessDoesNotTakeOthersAlong) {
  Items items("..k.h.l.e.");
  items.runAll(items.stop);
  const std::vector<std::string> wanted = {"1",
                                           "2",
                                           "working12: signal 9 (Killed)",
                                           "1",
                                           "working14: no end after 0 s",
                                           "1",
                                           "7: lost",
                                           "1",
                                           ": bad item",
                                           "3"};
  EXPECT_EQ(items.results, wanted);
  EXPECT_EQ(items.opens, 4);
}

TEST(IsolatedItems, EachItemHasAProcessUnlessThatIsUsable) {
  Items items("...");
  items.reuse = false;
  items.runAll(items.stop);
  EXPECT_EQ(items.results, std::vector<std::string>(3, "1"));
  EXPECT_EQ(items.opens, 3);
}

TEST(IsolatedItems, AnInterruptionStopsThem) {
  Items items("..");
  items.stop = true;
  items.runAll(items.stop);
  EXPECT_EQ(items.results, std::vector<std::string>(2, ""));
}

TEST(IsolatedItems, ADeviceThatDoesNotOpenIsAnError) {
  for (const auto &[how, text] :
       {std::pair{"throws", "no device"},
        {"crashes", "the device does not open: signal 9"}}) {
    Items items(".");
    items.openFails = how;
    try {
      items.runAll(items.stop);
      FAIL() << how;
    } catch (const Error &error) {
      EXPECT_NE(error.message.find(text), std::string::npos) << error.message;
    }
  }
}

// Two processes in a row that end without a result.
TEST(IsolatedItems, AProcessThatEndsBetweenItemsIsTriedTwice) {
  Items items("n");
  EXPECT_THROW(items.runAll(items.stop), Error);
  EXPECT_EQ(items.opens, 2);
  // The item before is not blamed.
  Items two(".n");
  EXPECT_THROW(two.runAll(two.stop), Error);
  EXPECT_EQ(two.results, (std::vector<std::string>{"1", ""}));
}
