// replay/packed/PackedTensors.cpp - the tensors of packed cases, each stored
// once.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "replay/packed/PackedTensors.h"

#include "replay/packed/Packed.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Hash.h"
#include "support/Json.h"

#include <zlib.h>

namespace tessera::cases {

namespace fs = std::filesystem;

namespace {

constexpr const char *tensorsName = "tensors.json";
constexpr size_t nameDigits = 32;
constexpr uint64_t mostBytes = uint64_t(1) << 34; // of a tensor
constexpr size_t mostUnknown = 256 << 20;         // of code

bool isHex(const std::string &text) {
  return !text.empty() && text.size() % 2 == 0 &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Json packed(const Tensors &tensors, const fs::path &blobs) {
  Json json = Json::object();
  for (const auto &[name, tensor] : tensors)
    json[name] = {{"dtype", tensor.dtype},
                  {"shape", tensor.shape},
                  {"blob", writeBlob(blobs, tensor.bytes)}};
  return json;
}

StoredTensor unpacked(const Json &entry, const fs::path &blobs,
                      const std::string &what) {
  checkKeys(entry, {"dtype", "shape", "blob"}, what);
  StoredTensor tensor;
  tensor.dtype = member<std::string>(entry, "dtype", what);
  tensor.shape = member<std::vector<int64_t>>(entry, "shape", what);
  const size_t size = storedBytes(tensor.dtype);
  uint64_t count = 1;
  for (const int64_t extent : tensor.shape) {
    if (extent < 0 || (extent && count > mostBytes / uint64_t(extent)))
      throw Error(what + ": a shape is not valid", packAgain);
    count *= uint64_t(extent);
  }
  if (!size || count > mostBytes / size)
    throw Error(what + ": its dtype or shape is wrong", packAgain);
  tensor.bytes = readBlob(blobs, member<std::string>(entry, "blob", what),
                          count * size, what);
  return tensor;
}

Tensors unpackedAll(const Json &json, const char *key, const fs::path &blobs,
                    const std::string &where) {
  Tensors tensors;
  const Json all = member<Json>(json, key, where);
  if (!all.is_object())
    throw Error(where + ": `" + key + "` is not an object", packAgain);
  for (const auto &[name, entry] : all.items())
    tensors[name] =
        unpacked(entry, blobs, where + ": " + key + " `" + name + "`");
  return tensors;
}

} // namespace

fs::path blobsOf(const fs::path &folder) {
  return fs::absolute(folder).lexically_normal().parent_path() / "blobs";
}

std::string writeBlob(const fs::path &blobs, std::string_view bytes) {
  const std::string name = sha256Hex(bytes).substr(0, nameDigits);
  std::error_code error;
  fs::create_directories(blobs, error);
  if (!fs::exists(blobs / name, error))
    writeOutput(blobs / name, deflated(bytes));
  return name;
}

std::string readBlob(const fs::path &blobs, const std::string &name,
                     std::optional<size_t> bytes, const std::string &what) {
  if (!isHex(name)) // used as a file name
    throw Error(what + ": `" + name + "` is not a hexadecimal number",
                packAgain);
  const fs::path path = blobs / name;
  std::string result = inflated(readFile(path), bytes, path.string());
  if (sha256Hex(result).substr(0, nameDigits) != name)
    throw Error(path.string() + " is damaged",
                "copy the folder again, or " + std::string(packAgain));
  return result;
}

std::string deflated(std::string_view text) {
  uLongf size = ::compressBound(text.size());
  std::string result(size, '\0');
  // Fails only if memory is exhausted.
  if (::compress2(reinterpret_cast<Bytef *>(result.data()), &size,
                  reinterpret_cast<const Bytef *>(text.data()), text.size(),
                  Z_BEST_COMPRESSION) != Z_OK)
    throw Error("no memory to compress " + std::to_string(text.size()) +
                    " bytes",
                "pack on a machine with more memory");
  result.resize(size);
  return result;
}

std::string inflated(std::string_view text, std::optional<size_t> bytes,
                     const std::string &what) {
  size_t room = bytes.value_or(4 * text.size() + 64);
  while (true) {
    std::string result(room, '\0');
    uLongf size = room;
    const int status =
        ::uncompress(reinterpret_cast<Bytef *>(result.data()), &size,
                     reinterpret_cast<const Bytef *>(text.data()), text.size());
    if (status == Z_BUF_ERROR && !bytes && room < mostUnknown) {
      room *= 4;
      continue;
    }
    if (status != Z_OK || size != bytes.value_or(size))
      throw Error(what + " is damaged",
                  "copy the folder again, or " + std::string(packAgain));
    result.resize(size);
    return result;
  }
}

void packTensors(const LoadedCase &loaded, const fs::path &folder) {
  const fs::path blobs = blobsOf(folder);
  const Json json = {{"version", 1},
                     {"before", packed(loaded.before, blobs)},
                     {"after", packed(loaded.after, blobs)}};
  writeOutput(folder / tensorsName, json.dump(1) + "\n");
}

LoadedCase loadPacked(const fs::path &folder) {
  const auto text = tryReadFile(folder / tensorsName);
  if (!text)
    return loadCase(folder);
  LoadedCase loaded = loadCaseText(folder);
  const std::string where = (folder / tensorsName).string();
  const Json json = parseJson(*text, where);
  checkKeys(json, {"version", "before", "after"}, where);
  if (member<int64_t>(json, "version", where) != 1)
    throw Error(where + " is of another version", packAgain);
  const fs::path blobs = blobsOf(folder);
  loaded.before = unpackedAll(json, "before", blobs, where);
  loaded.after = unpackedAll(json, "after", blobs, where);
  return loaded;
}

} // namespace tessera::cases
