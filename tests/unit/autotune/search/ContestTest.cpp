// tests/unit/autotune/search/ContestTest.cpp - the fastest configuration among
// made-up times.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/Contest.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace tessera::tune;

namespace {

// Candidate i takes `base[i]` seconds, in turn t times `noise(i, t)`.
class Planted : public Contest {
public:
  explicit Planted(std::vector<double> base) : base(std::move(base)) {
    for (size_t i = 0; i < this->base.size(); ++i)
      uses.push_back({{{"BM", int64_t(i)}}, std::nullopt, std::nullopt});
    seconds.resize(uses.size());
    right.assign(uses.size(), true);
  }

  std::vector<double> base;
  std::vector<TuneChoice> uses;
  std::vector<std::vector<double>> seconds;
  std::vector<bool> right;
  std::function<double(size_t, size_t)> noise = [](size_t, size_t) {
    return 1.0;
  };
  size_t turnsLeft = 100000;
  bool wrongOnceTimed = false; // candidate 1
  int forgotten = 0;

  int64_t winner() const {
    return std::get<int64_t>(entry({})->use.constexprs.at("BM"));
  }

protected:
  size_t size() const override { return uses.size(); }
  Standing at(size_t i) const override {
    Standing one{&uses[i], right[i], false, &seconds[i], {}, false};
    if ((one.timed = !seconds[i].empty()))
      one.sample = sampleOf(seconds[i]);
    return one;
  }
  void time(const std::vector<size_t> &which, int rounds) override {
    for (int round = 0; round < rounds; ++round)
      for (size_t i : which) {
        if (!right[i] || !turnsLeft)
          continue;
        --turnsLeft;
        if (wrongOnceTimed && i == 1)
          right[i] = false;
        else
          seconds[i].push_back(base[i] * noise(i, seconds[i].size()));
      }
  }
  void forget(const std::vector<size_t> &which) override {
    for (size_t i : which)
      seconds[i].clear();
    ++forgotten;
  }
  bool over() const override { return !turnsLeft; }
};

} // namespace

TEST(TuneContest, TheFastestWinsAndTheSlowAreTimedLess) {
  Planted contest({5, 9, 3, 8, 4, 7, 6, 10});
  contest.run();
  EXPECT_EQ(contest.winner(), 2);
  const auto entry = contest.entry({});
  EXPECT_EQ(entry->timeUs, 3e6);
  EXPECT_EQ(entry->defaultUs, 5e6);
  EXPECT_EQ(entry->runnerUpUs, 4e6);
  EXPECT_EQ(entry->why, "the fastest of 8 timed candidates, 66.7% faster than "
                        "the kernel's default configuration");
  EXPECT_EQ(contest.seconds[7].size(), 3u); // dropped at once
  EXPECT_GT(contest.seconds[2].size(), 20u);
  EXPECT_GT(contest.seconds[0].size(), 20u); // never dropped
}

// Times that differ by less than they vary from turn to turn decide nothing.
TEST(TuneContest, WhatIsWithinTheSpreadKeepsTheOwnChoice) {
  // Faster by 2% in two turns of three, slower by 4% in the third.
  Planted contest({1, 1});
  contest.noise = [](size_t i, size_t turn) {
    return i == 0 ? 1.0 : turn % 3 ? 0.98 : 1.04;
  };
  contest.run();
  EXPECT_EQ(contest.winner(), 0);
  EXPECT_NE(contest.entry({})->why.find("within the spread"), std::string::npos)
      << contest.entry({})->why;
  EXPECT_GE(contest.seconds[0].size(), 36u); // 3 + 11 + 22: near ties again
}

// Three slow turns do not drop what is the fastest in all later ones.
TEST(TuneContest, FirstTurnsDoNotDropANearTie) {
  Planted contest({2, 1.06, 1.06, 1, 1.06, 1.06, 1.06, 1.06});
  contest.noise = [](size_t i, size_t turn) {
    return i == 3 && turn < 3 ? 1.07 : 1.0;
  };
  contest.run();
  EXPECT_EQ(contest.winner(), 3);
}

// Two that beat the default configuration are compared with each other, too.
TEST(TuneContest, TwoFastOnesAreComparedUntilOneIsClear) {
  Planted contest({2, 1.015, 1});
  contest.noise = [](size_t i, size_t turn) {
    // The second leads while its turns vary, and is the slower one afterwards.
    return i == 2 && turn < 30 ? (turn % 3 ? 1.03 : 0.97) : 1.0;
  };
  contest.run();
  EXPECT_EQ(contest.winner(), 2);
}

// A machine that slows down meets both in the same turns.
TEST(TuneContest, DriftDoesNotHideAWinner) {
  Planted contest({1, 0.97});
  contest.noise = [](size_t, size_t turn) { return 1 + 0.005 * double(turn); };
  contest.run();
  EXPECT_EQ(contest.winner(), 1);
}

TEST(TuneContest, WrongOnesAndTheEndOfTheTimeAreNoWinners) {
  Planted wrong({5, 1, 4});
  wrong.wrongOnceTimed = true;
  wrong.run();
  EXPECT_EQ(wrong.winner(), 2);
  Planted late({5, 1, 4});
  late.turnsLeft = 1;
  late.run();
  EXPECT_EQ(late.winner(), 0);
  EXPECT_EQ(late.entry({})->why, "the only candidate that was timed");
  Planted never({5, 1, 4});
  never.turnsLeft = 0;
  never.run();
  EXPECT_FALSE(never.entry({}));
}

// Alternately fast and slow by a third, without an end: both are measured three
// times more, then the table does not change.
TEST(TuneContest, TimesThatVaryByMoreThanAFifthAreNotAccepted) {
  Planted contest({2, 1});
  contest.noise = [](size_t i, size_t turn) {
    return i == 1 ? turn % 2 ? 0.8 : 1.2 : 1.0;
  };
  contest.run();
  EXPECT_FALSE(contest.entry({}));
  EXPECT_EQ(contest.unsteady(), "the times of BM=1 vary by 33.3%, more than "
                                "20%, after 3 more measurements");
  EXPECT_EQ(contest.forgotten, 3);
  EXPECT_EQ(contest.seconds[1].size(), 11u); // of the last measurement alone
  // The default configuration's times decide, too.
  Planted other({2, 1});
  other.noise = [](size_t i, size_t turn) {
    return i == 0 ? turn % 2 ? 0.8 : 1.2 : 1.0;
  };
  other.run();
  EXPECT_FALSE(other.entry({}));
  EXPECT_EQ(other.unsteady().substr(0, 22), "the times of BM=0 vary");
}

// A disturbance that ends leaves no trace in the entry.
TEST(TuneContest, UnsteadyTimesAreReplacedByTheNextMeasurement) {
  Planted contest({2, 1});
  size_t turns = 0;
  contest.noise = [&](size_t, size_t turn) {
    return ++turns <= 28 ? turn % 2 ? 0.8 : 1.4 : 1.0;
  };
  contest.run();
  EXPECT_EQ(contest.unsteady(), "");
  EXPECT_EQ(contest.winner(), 1);
  EXPECT_EQ(contest.entry({})->timeUs, 1e6);
  EXPECT_EQ(contest.entry({})->spread, 0);
  EXPECT_EQ(contest.forgotten, 1);
}

TEST(TuneContest, ASpreadOfAFifthAndLessIsAccepted) {
  Planted contest({2, 1});
  contest.noise = [](size_t, size_t turn) { return turn % 2 ? 0.91 : 1.09; };
  contest.run();
  EXPECT_EQ(contest.winner(), 1);
  EXPECT_EQ(contest.forgotten, 0);
}

// Without time for more measurements, nothing is accepted either.
TEST(TuneContest, TheEndOfTheTimeLeavesUnsteadyTimesOut) {
  Planted contest({2, 1});
  contest.noise = [](size_t, size_t turn) { return turn % 2 ? 0.7 : 1.3; };
  contest.turnsLeft = 28; // 2 x 3 + 2 x 11
  contest.run();
  EXPECT_FALSE(contest.entry({}));
  EXPECT_NE(contest.unsteady().find("after 0 more"), std::string::npos)
      << contest.unsteady();
}
