// tests/unit/autotune/table/Entries.h - entries for tests of tables.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/table/TuneTable.h"
#include "support/Error.h"

#include <gtest/gtest.h>

#include <string>

namespace tessera::tune {

inline TuneEntry someEntry() {
  TuneEntry entry;
  entry.key.kernel = "kernels/nsa/select_fwd.py:select_fwd";
  entry.key.textHash = "0123456789abcdef0123456789abcdef";
  entry.key.dtypes = {"bf16", "none", "i32"};
  entry.key.constexprs = {{"D", int64_t(64)}, {"CAUSAL", true}};
  entry.key.bucket = 4096;
  entry.use.constexprs = {{"BM", int64_t(64)}, {"BN", int64_t(32)}};
  entry.timeUs = 812.4;
  entry.spread = 0.013;
  entry.defaultUs = 1010;
  entry.date = "2026-11-22";
  return entry;
}

inline TuneTable someTable() {
  TuneTable table;
  table.device = {"NVIDIA A100-SXM4-80GB", "sm_80", 108, 0, 400};
  table.provenance = {"b40fb21", "c0ffee", "580.65", "12.8",
                      "tessera tune --config \"my run.yaml\""};
  table.set(someEntry());
  return table;
}

// Message and hint of what a function throws.
template <typename F>
std::string refusal(F &&function) {
  try {
    function();
  } catch (const Error &error) {
    EXPECT_FALSE(error.hint.empty()) << error.message;
    return error.message + "\n" + error.hint;
  }
  return "accepted";
}

inline bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

} // namespace tessera::tune
