// trainer/checkpoint/WeightFile.h - exports weights to files of other programs
// and imports them.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Transformer.h"

#include <string>
#include <vector>

namespace tessera::trainer {

/// Names of weights: Own are those of Transformer::parameters(), HuggingFace
/// those of a Llama model (`model.layers.0.self_attn.q_proj.weight`).
enum class WeightNames : int { Own, HuggingFace };

struct ExportOptions {
  std::string run = "runs/quickstart"; ///< Run folder; its newest checkpoint.
  std::string file;                    ///< "*.pt" or "*.safetensors".
  WeightNames names = WeightNames::Own;
  std::vector<std::string> overrides;
};

/// Writes the fp32 weights of a run as a dictionary for torch.load or as
/// safetensors. Throws tessera::Error for another file extension. Hugging
/// Face's names require a Llama model (dense attention, SwiGLU, equal widths of
/// keys and values); otherwise throws tessera::Error. Returns the note of
/// TrainedModel.
std::string exportWeights(const ExportOptions &options);

/// Sets the model's parameters from a file of either format and with either
/// names, in fp32, bf16 or fp16. Throws tessera::Error, without a change, if a
/// tensor is missing, unexpected or of another shape.
void importWeights(const std::string &file, models::Transformer &model);

} // namespace tessera::trainer
