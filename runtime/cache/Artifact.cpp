// runtime/cache/Artifact.cpp - encoding and checking of artifact files.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/Artifact.h"

#include "support/LittleEndian.h"

#include <cstring>

namespace tessera::runtime {

static constexpr std::string_view magic = "tessera\n";
static constexpr size_t keyOffset = 40;
static constexpr size_t checksumOffset = 72;

static std::string_view text(const Sha256Digest &digest) {
  return {reinterpret_cast<const char *>(digest.data()), digest.size()};
}

static Sha256Digest checksum(std::string_view bytes) {
  return Sha256()
      .update(bytes.substr(0, checksumOffset))
      .update(bytes.substr(artifactHeaderBytes))
      .finish();
}

std::string encodeArtifact(const Artifact &artifact, const Sha256Digest &key) {
  const std::string meta = canonicalJson(artifact.meta);
  const std::string stages =
      artifact.stages.empty() ? "" : canonicalJson(Json(artifact.stages));
  std::string bytes(magic);
  putNumber(bytes, artifactVersion, 4);
  putNumber(bytes, 0, 4);
  putNumber(bytes, artifact.code.size(), 8);
  putNumber(bytes, meta.size(), 8);
  putNumber(bytes, stages.size(), 8);
  bytes += text(key);
  bytes.append(artifactHeaderBytes - checksumOffset, '\0');
  bytes += artifact.code;
  bytes += meta;
  bytes += stages;
  const Sha256Digest sum = checksum(bytes);
  std::memcpy(bytes.data() + checksumOffset, sum.data(), sum.size());
  return bytes;
}

std::optional<Artifact> decodeArtifact(std::string_view bytes,
                                       const Sha256Digest &key,
                                       std::string &reason) {
  auto bad = [&](const char *what) {
    reason = what;
    return std::nullopt;
  };
  if (bytes.size() < artifactHeaderBytes)
    return bad("shorter than its header");
  if (bytes.substr(0, magic.size()) != magic)
    return bad("not an artifact of tessera");
  if (takeNumber(bytes, 8, 4) != artifactVersion)
    return bad("of another version");
  const uint64_t code = takeNumber(bytes, 16, 8);
  const uint64_t meta = takeNumber(bytes, 24, 8);
  const uint64_t stages = takeNumber(bytes, 32, 8);
  uint64_t left = bytes.size() - artifactHeaderBytes;
  for (uint64_t part : {code, meta, stages}) {
    if (part > left)
      return bad("truncated");
    left -= part;
  }
  if (left)
    return bad("longer than its lengths say");
  if (bytes.substr(checksumOffset, 32) != text(checksum(bytes)))
    return bad("damaged: its checksum does not match");
  if (bytes.substr(keyOffset, 32) != text(key))
    return bad("of another key");
  // What passed the checksum was written by encodeArtifact; JSON that does not
  // parse would still only be a bad entry.
  try {
    Artifact artifact;
    std::string_view body = bytes.substr(artifactHeaderBytes);
    artifact.code = body.substr(0, code);
    artifact.meta = parseJson(body.substr(code, meta), "metadata");
    if (stages)
      artifact.stages = parseJson(body.substr(code + meta), "stages")
                            .get<std::map<std::string, std::string>>();
    return artifact;
  } catch (const std::exception &) {
    return bad("damaged: its metadata does not parse");
  }
}

} // namespace tessera::runtime
