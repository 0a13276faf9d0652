// trainer/loop/Determinism.h - the same bits from the same settings.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tessera::trainer {

/// Torch computes with so many threads and with deterministic algorithms alone;
/// an operation that has none is an error. For the whole process.
void computeDeterministically(int threads);

} // namespace tessera::trainer
