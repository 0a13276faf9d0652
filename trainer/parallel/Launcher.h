// trainer/parallel/Launcher.h - starts the processes of a run on this machine.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::trainer {

/// Runs this program `processes` times with `arguments`, each with the
/// variables that trainer/parallel/World.h reads. Their lines on standard error
/// get the number of their process in front; SIGINT, SIGTERM, SIGUSR1 and
/// SIGHUP go to all of them. When one fails the others have some seconds to end
/// by themselves, then they are killed; they also die with this process.
/// Returns the exit status for the whole: that of the first that failed, 0 when
/// none did. Throws tessera::Error when they cannot be started.
int launch(int64_t processes, const std::vector<std::string> &arguments);

/// In a process that launch() has started: ends it when the launcher is gone.
/// Does nothing in any other.
void endWithLauncher();

} // namespace tessera::trainer
