// trainer/checkpoint/WeightFile.h - weights to and from files of other
// programs.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Transformer.h"

#include <string>
#include <vector>

namespace tessera::trainer {

/// Ours are those of Transformer::parameters(); Hugging Face's those of a Llama
/// model (`model.layers.0.self_attn.q_proj.weight`), where the model is one.
enum class WeightNames : int { Own, HuggingFace };

struct ExportOptions {
  std::string run = "runs/quickstart"; ///< Run folder; its newest checkpoint.
  std::string file;                    ///< "*.pt" or "*.safetensors".
  WeightNames names = WeightNames::Own;
  std::vector<std::string> overrides;
};

/// Writes the fp32 weights of a run: a dictionary for torch.load, or
/// safetensors. Throws tessera::Error for another ending, or for Hugging
/// Face's names of a model that is not a Llama: those have dense attention,
/// SwiGLU and heads whose values are as wide as their keys.
void exportWeights(const ExportOptions &options);

/// Fills the model's parameters from a file of either kind and either names,
/// in fp32, bf16 or fp16. Throws tessera::Error where a tensor is missing, is
/// too much, or has another shape, and changes nothing then.
void importWeights(const std::string &file, models::Transformer &model);

} // namespace tessera::trainer
