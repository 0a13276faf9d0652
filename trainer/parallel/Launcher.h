// trainer/parallel/Launcher.h - starts the processes of a run on this machine,
// for `tessera train --nproc N`.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::trainer {

/// Runs this program `processes` times with `arguments`, and waits. Each
/// process gets the environment variables that trainer/parallel/World.h reads.
/// The launcher prefixes the lines of their standard error with the rank, and
/// forwards SIGINT, SIGTERM, SIGUSR1 and SIGHUP to all of them. If a process
/// fails, the others have 20 seconds to exit; then the launcher kills them.
/// They also exit when the launcher dies.
/// Returns 0 if all succeed, or 128 + the signal if the run stopped on SIGINT
/// or SIGTERM. Throws tessera::Error if a process fails or cannot be started.
int launch(int64_t processes, const std::vector<std::string> &arguments);

/// In a process that launch() has started: exits as soon as the launcher has
/// died. Does nothing in any other process.
void endWithLauncher();

} // namespace tessera::trainer
