// tools/bench/Isolated.cpp - runs benchmarks on a GPU in a separate process,
// because they may crash it.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/Isolated.h"

#include "support/Error.h"
#include "support/Isolated.h"
#include "support/StopSignals.h"

#include <cstdio>

namespace tessera::bench {

namespace {

// The verb is the only item, and each measurement is a part of it.
class IsolatedVerb : public IsolatedItems {
public:
  IsolatedVerb(const Options &options, int (*verb)(Run &))
      : options(options), verb(verb) {}

  std::optional<int> status;

private:
  std::optional<size_t> next(size_t from) const override {
    return status || from ? std::nullopt : std::optional<size_t>(0);
  }
  double limit() const override { return double(options.timeout); }

  Json run(size_t, const Say &say) override {
    Options mine = options;
    mine.measuring = [&](const std::string &what) {
      say({what, what.empty() ? std::nullopt : std::optional<size_t>(0)});
    };
    Run run(mine);
    return verb(run);
  }

  void done(size_t, Json row) override { status = row.get<int>(); }

  void failed(size_t, const Phase &phase, const Ended &how) override {
    if (how.how == Ended::How::Failed)
      throw Error(how.text, how.hint);
    const std::string why =
        how.how == Ended::How::Crashed ? "ended with " + how.text : how.text;
    if (!phase.part)
      throw Error("the benchmark, not one of its measurements: " + why,
                  "look at the GPU with nvidia-smi");
    std::fprintf(stderr, "tessera: %s: %s; the rest is measured again\n",
                 phase.what.c_str(), why.c_str());
    options.broken[phase.what] = why;
  }

  Options options;
  int (*const verb)(Run &);
};

} // namespace

int runIsolatedVerb(const Options &options, int (*verb)(Run &)) {
  IsolatedVerb work(options, verb);
  work.runAll(StopSignals::isSet());
  return work.status.value_or(1); // interrupted
}

} // namespace tessera::bench
