// tools/gpucheck/Peers.cpp - times of other libraries' attention from Python.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/gpucheck/GpuCheck.h"

#include "support/Error.h"
#include "support/Process.h"

#include <chrono>

namespace tessera::gpucheck {

Json runPeers(const Options &options, double seconds) {
  const auto not_measured = [](const std::string &why) {
    return Json{{"not_measured", why}};
  };
  try {
    const CommandResult result = runCommand(
        {"/usr/bin/env", options.python, options.folder + "/peers.py",
         options.folder, "--seconds", std::to_string(seconds)},
        std::chrono::milliseconds(int64_t(1000 * (seconds + 30))),
        {"PYTHONDONTWRITEBYTECODE=1"});
    if (result.timedOut)
      return not_measured("peers.py had no end");
    if (!result.status.ok())
      return not_measured(options.python + " peers.py ended with " +
                          result.status.text() + ": " +
                          result.errors.substr(0, 1000));
    Json json = parseJson(result.output, "the output of peers.py");
    if (!json.is_object() ||
        (!json.contains("not_measured") && !json.contains("rows")))
      return not_measured("peers.py wrote something else");
    return json;
  } catch (const Error &error) {
    return not_measured(error.message);
  }
}

} // namespace tessera::gpucheck
