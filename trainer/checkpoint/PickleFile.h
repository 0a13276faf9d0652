// trainer/checkpoint/PickleFile.h - dictionaries of tensors as torch.save
// writes them.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Transformer.h"

#include <ATen/core/Tensor.h>
#include <map>
#include <string>
#include <vector>

namespace tessera::trainer {

/// The bytes of a file that torch.load reads as a dictionary, with
/// weights_only=True, too.
std::string encodePickle(const std::vector<models::Parameter> &tensors);

/// The tensors, on the CPU, of a file of torch.save(model.state_dict(), FILE),
/// or of another dictionary from names to tensors: dense ones of real types.
/// Nothing that a pickle can name is executed. Throws tessera::Error for
/// another content, for a damaged file and for torch's format before 1.6.
std::map<std::string, at::Tensor> readPickle(const std::string &file);

} // namespace tessera::trainer
