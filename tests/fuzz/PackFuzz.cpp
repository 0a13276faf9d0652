// tests/fuzz/PackFuzz.cpp - any bytes as a pack.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/pack/PackFile.h"
#include "support/LittleEndian.h"
#include "tests/fuzz/Fuzz.h"

#include <algorithm>
#include <cstring>

using namespace tessera;
using namespace tessera::runtime;

// Every entry of a pack that is read is an artifact or an Error, and what is
// read, written and read again is the same.
static void check(const std::string &bytes) {
  fuzz::expectErrorsOnly([&] {
    const PackIndex index = decodePack(bytes, "fuzz.tpack");
    std::vector<Artifact> artifacts;
    for (const PackEntry &entry : index.entries)
      artifacts.push_back(readPacked(bytes, index, entry, "fuzz.tpack"));
    const std::string written = encodePack(index, artifacts);
    PackIndex again = decodePack(written, "written.tpack");
    for (size_t i = 0; i < index.entries.size(); ++i) {
      fuzz::require(readPacked(written, again, again.entries[i], "w").code ==
                        artifacts[i].code,
                    "code does not survive being written");
      again.entries[i].offset = index.entries[i].offset;
      again.entries[i].bytes = index.entries[i].bytes;
    }
    fuzz::require(again == index, "an index does not survive being written");
  });
}

// Reads the bytes as they are; then with the header of a complete pack whose
// index begins at the first "{" after it, so that the code after the checksum
// is reached.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string bytes = fuzz::text(data, size);
  check(bytes);
  const size_t place = bytes.find("{\"command\"", packHeaderBytes);
  if (size < packHeaderBytes || place == std::string::npos)
    return 0;
  std::string header = "tesspack";
  using Numbers = std::vector<std::pair<uint64_t, int>>;
  for (const auto &[value, width] : Numbers{
           {packVersion, 4}, {0, 4}, {size, 8}, {place, 8}, {size - place, 8}})
    putNumber(header, value, width);
  const Sha256Digest sum = Sha256()
                               .update(header)
                               .update(std::string_view(bytes).substr(place))
                               .finish();
  header.append(reinterpret_cast<const char *>(sum.data()), sum.size());
  check(bytes.replace(0, packHeaderBytes, header));
  return 0;
}
