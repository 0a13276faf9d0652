// autotune/search/Times.cpp - a file with the result of each timed
// configuration.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/Times.h"

#include "autotune/search/TableFile.h"
#include "support/File.h"
#include "support/Json.h"
#include "support/Log.h"
#include "support/Trust.h"

#include <cmath>

namespace tessera::tune {

namespace fs = std::filesystem;

constexpr int version = 1;

static Times parse(const std::string &text, const std::string &name) {
  const Json json = parseJson(text, name);
  checkKeys(json, {"version", "times"}, name);
  if (member<int>(json, "version", name) != version)
    throw Error(name + " is of another version", "tune without --resume");
  Times times;
  const Json entries = member<Json>(json, "times", name);
  if (!entries.is_object())
    throw Error(name + ": `times` is not an object", "tune without --resume");
  for (const auto &item : entries.items()) {
    const std::string what = name + ": " + item.key();
    const Json &entry = item.value();
    checkKeys(entry,
              {"what", "problem", "seconds", "spread", "samples", "entry",
               "text", "bucket", "choice", "own"},
              what);
    KnownTime time;
    time.what = memberOr<std::string>(entry, "what", "", what);
    time.problem = memberOr<std::string>(entry, "problem", "", what);
    time.seconds.median = memberOr<double>(entry, "seconds", 0, what);
    time.seconds.spread = memberOr<double>(entry, "spread", 0, what);
    time.samples = memberOr<int64_t>(entry, "samples", 0, what);
    time.entry = memberOr<std::string>(entry, "entry", "", what);
    time.text = memberOr<std::string>(entry, "text", "", what);
    time.bucket = memberOr<int64_t>(entry, "bucket", 0, what);
    time.choice = memberOr<std::string>(entry, "choice", "", what);
    time.own = memberOr<bool>(entry, "own", false, what);
    if (time.problem.empty() &&
        !(time.seconds.median > 0 && std::isfinite(time.seconds.median) &&
          time.seconds.spread >= 0 && std::isfinite(time.seconds.spread)))
      throw Error(what + ": no time", "tune without --resume");
    times.set(item.key(), std::move(time));
  }
  return times;
}

Times Times::read(const fs::path &file) {
  const auto text = tryReadFile(file);
  if (!text)
    return {};
  try {
    requireTrusted(file, "the file of times " + file.string());
    Times times = parse(*text, file.string());
    times.changed.clear();
    return times;
  } catch (const Error &error) {
    logWarning(error.message + "; every configuration is timed again (HINT: " +
               error.hint + ")");
    return {};
  }
}

void Times::write(const fs::path &file) {
  const ChangingFile changing(file);
  for (auto &[key, time] : read(file).known)
    if (!changed.contains(key))
      known[key] = std::move(time);
  changed.clear();
  Json times = Json::object();
  for (const auto &[key, time] : known) {
    Json &entry = times[key] = {{"what", time.what}};
    if (!time.entry.empty())
      entry.update(Json{{"entry", time.entry},
                        {"text", time.text},
                        {"bucket", time.bucket},
                        {"choice", time.choice},
                        {"own", time.own}});
    if (!time.problem.empty())
      entry["problem"] = time.problem;
    else
      entry.update(Json{{"seconds", time.seconds.median},
                        {"spread", time.seconds.spread},
                        {"samples", time.samples}});
  }
  const Json json = {{"version", version}, {"times", times}};
  writeFile(file,
            json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

const KnownTime *Times::find(const std::string &key) const {
  const auto found = known.find(key);
  return found == known.end() ? nullptr : &found->second;
}

void KnownTime::setCandidate(const TuneKey &key, const TuneChoice &use,
                             bool isOwn) {
  entry = withoutLength(key);
  text = key.textHash;
  bucket = key.bucket;
  choice = describe(use);
  own = isOwn;
}

std::string withoutLength(TuneKey key) {
  key.bucket = 0;
  return describe(key);
}

fs::path timesFile(const fs::path &table) {
  fs::path file = table;
  file += ".times";
  return file;
}

} // namespace tessera::tune
