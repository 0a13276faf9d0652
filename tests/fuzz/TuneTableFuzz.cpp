// tests/fuzz/TuneTableFuzz.cpp - a table of tuned configurations.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/table/TuneTable.h"
#include "tests/fuzz/Fuzz.h"

using namespace tessera;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string text = fuzz::text(data, size);
  fuzz::expectErrorsOnly([&] {
    const tune::TuneTable table = tune::parseTable(text, "t.yaml");
    for (const tune::TuneEntry &entry : table.entries())
      fuzz::require(table.find(entry.key) == &entry,
                    "an entry that is not found under its key");
    const std::string written = tune::printTable(table);
    const tune::TuneTable again = tune::parseTable(written, "written.yaml");
    fuzz::require(again == table, "a table does not survive being written");
    fuzz::require(tune::printTable(again) == written,
                  "a table is not always written alike");
    fuzz::require(tune::merge(table, again) == table,
                  "a table merged with itself is another one");
  });
  return 0;
}
