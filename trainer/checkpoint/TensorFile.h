// trainer/checkpoint/TensorFile.h - named tensors in a file (the safetensors
// format).
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Transformer.h"

#include <string>
#include <string_view>
#include <vector>

namespace tessera::trainer {

/// The bytes of a file that holds these tensors, of any type the format has;
/// strided ones row by row. Throws tessera::Error for another type.
std::string encodeTensors(const std::vector<models::Parameter> &tensors);

/// Copies the tensors of a file's bytes into `tensors`, which must have the
/// same names, types and shapes; anything else throws tessera::Error, naming
/// `path`, and changes nothing.
void decodeTensors(std::string_view bytes, const std::string &path,
                   const std::vector<models::Parameter> &tensors);

/// The same from a file.
void readTensors(const std::string &path,
                 const std::vector<models::Parameter> &tensors);

} // namespace tessera::trainer
