// runtime/pack/PackFile.cpp - the bytes of a pack.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/pack/PackFile.h"

#include "runtime/cache/Keys.h"
#include "support/Error.h"
#include "support/LittleEndian.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace tessera::runtime {

namespace {

constexpr std::string_view magic = "tesspack";
constexpr size_t checksumOffset = 40;
constexpr const char *copyAgain = "copy the file again, or make it again: "
                                  "tessera pack --config RUN.yaml -o FILE";
constexpr const char *makeAgain =
    "make it again with this tessera: tessera pack --config RUN.yaml -o FILE";

Sha256Digest checksum(std::string_view header, std::string_view index) {
  return Sha256()
      .update(header.substr(0, checksumOffset))
      .update(index)
      .finish();
}

bool isHash(const std::string &text) {
  return text.size() == 64 &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Json toJson(const PackIndex &index) {
  Json kernels = Json::array(), entries = Json::array();
  for (const PackKernel &kernel : index.kernels)
    kernels.push_back({{"file", kernel.file},
                       {"name", kernel.name},
                       {"text", kernel.text},
                       {"manifest", kernel.manifest}});
  for (const PackEntry &entry : index.entries)
    entries.push_back({{"request", entry.request},
                       {"kernel", entry.kernel},
                       {"target", entry.target},
                       {"configuration", entry.configuration},
                       {"assembler", entry.assembler},
                       {"offset", entry.offset},
                       {"bytes", entry.bytes}});
  return {{"version", index.version},   {"commit", index.commit},
          {"compiler", index.compiler}, {"command", index.command},
          {"kernels", kernels},         {"entries", entries},
          {"tables", index.tables}};
}

PackKernel kernelFrom(const Json &json, const std::string &what) {
  checkKeys(json, {"file", "name", "text", "manifest"}, what);
  PackKernel kernel;
  kernel.file = member<std::string>(json, "file", what);
  kernel.name = member<std::string>(json, "name", what);
  kernel.text = member<std::string>(json, "text", what);
  kernel.manifest = member<Json>(json, "manifest", what);
  if (!isHash(kernel.text))
    throw Error(what + ": `text` is not a hash", copyAgain);
  return kernel;
}

PackEntry entryFrom(const Json &json, const std::string &what) {
  checkKeys(json,
            {"request", "kernel", "target", "configuration", "assembler",
             "offset", "bytes"},
            what);
  PackEntry entry;
  entry.request = member<std::string>(json, "request", what);
  entry.target = member<std::string>(json, "target", what);
  entry.configuration = member<std::string>(json, "configuration", what);
  entry.assembler = member<std::string>(json, "assembler", what);
  for (const char *number : {"kernel", "offset", "bytes"})
    if (!json.contains(number) || !json[number].is_number_unsigned())
      throw Error(what + ": `" + number + "` is not a size", copyAgain);
  entry.kernel = json["kernel"].get<uint64_t>();
  entry.offset = json["offset"].get<uint64_t>();
  entry.bytes = json["bytes"].get<uint64_t>();
  if (!isHash(entry.request))
    throw Error(what + ": `request` is not a hash", copyAgain);
  return entry;
}

Json listOf(const Json &json, const char *name, const std::string &what) {
  Json list = member<Json>(json, name, what);
  if (!list.is_array())
    throw Error(what + ": `" + name + "` is not a list", copyAgain);
  return list;
}

// Parses the index. `end` is the end offset of the artifacts.
PackIndex fromJson(const Json &json, uint64_t end, const std::string &what) {
  checkKeys(json,
            {"version", "commit", "compiler", "command", "kernels", "entries",
             "tables"},
            what);
  PackIndex index;
  index.version = member<std::string>(json, "version", what);
  index.commit = member<std::string>(json, "commit", what);
  index.compiler = member<std::string>(json, "compiler", what);
  index.command = member<std::string>(json, "command", what);
  index.tables = member<std::vector<std::string>>(json, "tables", what);
  for (const Json &kernel : listOf(json, "kernels", what))
    index.kernels.push_back(kernelFrom(kernel, what + ": kernel"));
  std::set<std::string> known;
  for (const Json &element : listOf(json, "entries", what)) {
    PackEntry entry = entryFrom(element, what + ": entry");
    if (entry.kernel >= index.kernels.size() ||
        entry.offset < packHeaderBytes || entry.offset > end ||
        entry.bytes > end - entry.offset)
      throw Error(what + ": an entry is outside of the file", copyAgain);
    if (!known.insert(entry.request).second)
      throw Error(what + ": an entry is there twice", copyAgain);
    index.entries.push_back(std::move(entry));
  }
  return index;
}

} // namespace

std::string encodePack(PackIndex index,
                       const std::vector<Artifact> &artifacts) {
  std::string bytes(packHeaderBytes, '\0');
  for (size_t i = 0; i < index.entries.size(); ++i) {
    PackEntry &entry = index.entries[i];
    const std::string artifact = encodeArtifact(
        artifacts.at(i),
        artifactKey(entry.request, index.compiler, {}, entry.assembler));
    entry.offset = bytes.size();
    entry.bytes = artifact.size();
    bytes += artifact;
  }
  const std::string text = canonicalJson(toJson(index));
  std::string header(magic);
  putNumber(header, packVersion, 4);
  putNumber(header, 0, 4);
  putNumber(header, bytes.size() + text.size(), 8);
  putNumber(header, bytes.size(), 8);
  putNumber(header, text.size(), 8);
  const Sha256Digest sum = checksum(header, text);
  header.append(reinterpret_cast<const char *>(sum.data()), sum.size());
  bytes.replace(0, packHeaderBytes, header);
  return bytes + text;
}

PackIndex decodePack(std::string_view bytes, const std::string &name) {
  if (bytes.substr(0, magic.size()) != magic.substr(0, bytes.size()) ||
      bytes.empty())
    throw Error(name + " is not a pack of tessera",
                "name a file that tessera pack wrote");
  if (bytes.size() < packHeaderBytes)
    throw Error(name + " is cut: it has " + std::to_string(bytes.size()) +
                    " bytes, less than a header",
                copyAgain);
  if (const uint64_t version = takeNumber(bytes, 8, 4); version != packVersion)
    throw Error(name + " is a pack of version " + std::to_string(version) +
                    "; this tessera reads version " +
                    std::to_string(packVersion),
                makeAgain);
  const uint64_t total = takeNumber(bytes, 16, 8),
                 place = takeNumber(bytes, 24, 8),
                 length = takeNumber(bytes, 32, 8);
  if (bytes.size() != total)
    throw Error(name + " is " + (bytes.size() < total ? "cut" : "too long") +
                    ": it has " + std::to_string(bytes.size()) + " bytes of " +
                    std::to_string(total),
                copyAgain);
  if (place < packHeaderBytes || place > total || length != total - place)
    throw Error(name + " is damaged: its index is outside of the file",
                copyAgain);
  const std::string_view text = bytes.substr(place);
  const Sha256Digest sum = checksum(bytes, text);
  if (std::memcmp(bytes.data() + checksumOffset, sum.data(), sum.size()) != 0)
    throw Error(name + " is damaged: the checksum of its index does not match",
                copyAgain);
  return fromJson(parseJson(text, name), place, name);
}

Artifact readPacked(std::string_view bytes, const PackIndex &index,
                    const PackEntry &entry, const std::string &name) {
  std::string reason;
  auto artifact = decodeArtifact(
      bytes.substr(entry.offset, entry.bytes),
      artifactKey(entry.request, index.compiler, {}, entry.assembler), reason);
  if (!artifact)
    throw Error(name + ": the code of `" + index.kernels[entry.kernel].name +
                    "` for " + entry.target + " is " + reason,
                copyAgain);
  return std::move(*artifact);
}

} // namespace tessera::runtime
