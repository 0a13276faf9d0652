// models/SelectionCheck.h - compares a pattern that selects blocks with plain
// torch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tessera::models {

/// A comparison of tessera::attention with plain torch for one type and one
/// number of query heads for each key head.
struct SelectionCheck {
  std::string name; ///< "bf16, 16 query heads of a key head"
  /// Relative RMS error of each result: of the scores of the selected blocks,
  /// fp32, and of the output and the gradients, fp64.
  std::vector<std::pair<std::string, double>> errors;
  double limit;

  bool isRight() const;
};

/// Runs the pattern `file` with small blocks over packed sequences, empty ones
/// among them, on the device that TESSERA_DEVICE names. `parameters` receives
/// the parameters of the comparison: "block=16, top=4". Throws tessera::Error
/// if the file is not a pattern with select(...).
std::vector<SelectionCheck> checkSelection(const std::string &file,
                                           std::string &parameters);

} // namespace tessera::models
