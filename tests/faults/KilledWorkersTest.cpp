// tests/faults/KilledWorkersTest.cpp - workers killed after a seeded number of
// bytes that they read or write.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/Fixture.h"

#include <random>

using namespace tessera;
using namespace tessera::runtime;

namespace {
constexpr size_t helloBytes = 4 + 11;        // {"hello":1}
constexpr size_t greetingBytes = 4 + 20 + 4; // {"build_id":"build"} and nothing

class KilledWorkers : public Faults {
protected:
  KilledWorkers() { ::setenv("FAKE_WORKER_NAMED", "1", 1); }

  size_t requestBytes(const std::string &kernel) {
    return 4 + request(kernel).toJson().size();
  }
  size_t replyBytes(const std::string &kernel) {
    // At least: the JSON's length is the worker's business.
    return 4 + 200 + 4 + expectedCode(kernel).size();
  }

  // A process whose workers die there, then one whose workers live.
  void killAt(const std::string &kernel, const std::string &place) {
    ::setenv("FAKE_WORKER_DIE", place.c_str(), 1);
    auto one = settings();
    one.workers = 1;
    {
      CompileService service(one);
      attempt(service, kernel, outcomes);
      countWork(service, outcomes);
    }
    ::unsetenv("FAKE_WORKER_DIE");
    CompileService service(one);
    auto got = service.get(request(kernel));
    EXPECT_EQ(got->code, expectedCode(kernel)) << place;
    // An entry is complete or missing: nothing of the dead worker was kept.
    EXPECT_EQ(service.cache().badEntries(), 0u) << place;
    EXPECT_EQ(service.cache().leftovers().temporaries, 0u) << place;
  }

  std::mt19937 random{100};
  Outcomes outcomes;
};
} // namespace

TEST_F(KilledWorkers, WhileTheyRead) {
  for (int i = 0; i < 34; ++i) {
    const std::string kernel = "in" + std::to_string(i);
    const size_t all = helloBytes + requestBytes(kernel);
    killAt(kernel,
           "in:" + std::to_string(i < 17 ? size_t(i) : 1 + random() % all));
  }
  EXPECT_EQ(outcomes["error"], 34u);
  outcomes.report("worker killed while it reads its request");
}

TEST_F(KilledWorkers, WhileTheyAnswer) {
  for (int i = 0; i < 33; ++i) {
    const std::string kernel = "out" + std::to_string(i);
    const size_t all = greetingBytes + replyBytes(kernel);
    killAt(kernel, "out:" + std::to_string(i < 11 ? 3 * size_t(i)
                                                  : 1 + random() % all));
  }
  EXPECT_EQ(outcomes["error"], 33u);
  outcomes.report("worker killed while it writes its answer");
}

// A worker that has answered before is replaced, and the request goes to the
// next: being killed from outside is not a fault of the kernel.
TEST_F(KilledWorkers, AtTheirSecondRequest) {
  auto one = settings();
  one.workers = 1;
  for (int i = 0; i < 33; ++i) {
    const std::string first = "first" + std::to_string(i);
    const std::string second = "second" + std::to_string(i);
    const bool in = i % 2;
    const size_t before = in ? helloBytes + requestBytes(first)
                             : greetingBytes + replyBytes(first) + 200;
    const size_t more = in ? requestBytes(second) : replyBytes(second);
    ::setenv(
        "FAKE_WORKER_DIE",
        ((in ? "in:" : "out:") + std::to_string(before + 1 + random() % more))
            .c_str(),
        1);
    CompileService service(one);
    attempt(service, first, outcomes);
    attempt(service, second, outcomes);
    countWork(service, outcomes);
    EXPECT_LE(service.workers().started(), 2u);
  }
  EXPECT_EQ(outcomes["right"], 66u);
  outcomes.report("worker killed at its second request");
}
