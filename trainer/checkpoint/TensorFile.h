// trainer/checkpoint/TensorFile.h - reads and writes named tensors in the
// safetensors format.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Transformer.h"

#include <string>
#include <string_view>
#include <vector>

namespace tessera::trainer {

/// Returns the bytes of a file with these tensors, stored contiguously in
/// row-major order. Throws tessera::Error for a type that the format lacks.
std::string encodeTensors(const std::vector<models::Parameter> &tensors);

/// Copies the tensors in `bytes` to `tensors`. Names, types and shapes must be
/// equal; otherwise throws tessera::Error, naming `path`, and changes nothing.
void decodeTensors(std::string_view bytes, const std::string &path,
                   const std::vector<models::Parameter> &tensors);

/// Does the same for the bytes of a file.
void readTensors(const std::string &path,
                 const std::vector<models::Parameter> &tensors);

} // namespace tessera::trainer
