// trainer/TensorFile.h - named tensors in a file (the safetensors format).
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Transformer.h"

#include <string>
#include <vector>

namespace tessera::trainer {

/// Writes fp32 tensors; the file appears whole or not at all.
void writeTensors(const std::string &path,
                  const std::vector<models::Parameter> &tensors);

/// Copies the file's tensors into `tensors`, which must have the same names and
/// shapes; anything else throws tessera::Error and changes nothing.
void readTensors(const std::string &path,
                 const std::vector<models::Parameter> &tensors);

} // namespace tessera::trainer
