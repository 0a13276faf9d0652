// trainer/parallel/SameStart.h - refuses a run whose nodes have different
// programs, settings or run folders.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/parallel/DataParallel.h"
#include "trainer/settings/Config.h"

namespace tessera::trainer {

/// Throws tessera::Error in all processes, with the name of a node, if the
/// processes do not run the same program, if their settings differ, or if a
/// process finds a newer checkpoint in its run folder than process 0: on nodes
/// without a shared folder, only the node of process 0 has checkpoints.
void requireSameStart(const Config &given, DataParallel &parallel);

} // namespace tessera::trainer
