// trainer/checkpoint/PickleFile.h - reads and writes dictionaries of tensors in
// the format of torch.save.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Transformer.h"

#include <ATen/core/Tensor.h>
#include <map>
#include <string>
#include <vector>

namespace tessera::trainer {

/// Returns the bytes of a file that torch.load reads as a dictionary, also with
/// weights_only=True.
std::string encodePickle(const std::vector<models::Parameter> &tensors);

/// Returns the tensors, on the CPU, of torch.save(model.state_dict(), FILE) or
/// of another dictionary from names to dense tensors of real types. Never
/// executes code that a pickle names. Throws tessera::Error for other contents,
/// for a damaged file and for torch's format before 1.6.
std::map<std::string, at::Tensor> readPickle(const std::string &file);

} // namespace tessera::trainer
