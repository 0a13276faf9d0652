// trainer/checkpoint/WeightFile.cpp - converts names, layouts and formats of
// weights.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/checkpoint/WeightFile.h"

#include "support/Error.h"
#include "support/File.h"
#include "support/Safetensors.h"
#include "trainer/checkpoint/PickleFile.h"
#include "trainer/checkpoint/TensorFile.h"
#include "trainer/checkpoint/TrainedModel.h"

#include <ATen/ATen.h>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace tessera::trainer {
namespace {

/// A tensor of a file: its name and shape in the file, and a view of the
/// model's elements in the file's order.
struct Place {
  std::string name;
  at::Tensor elements; ///< A view of a parameter, of any rank.
  std::vector<int64_t> shape;
};

using Tensors = std::map<std::string, at::Tensor>;

constexpr const char *endings = ".pt is a dictionary for torch.load, "
                                ".safetensors the format of that name";

bool isLlama(const models::ModelConfig &c) {
  const bool dense = !c.has(models::AttentionKind::Nsa) &&
                     !c.has(models::AttentionKind::Kernel);
  return dense && c.mlp == models::MlpKind::SwiGlu && c.keyDim == c.valueDim &&
         c.keyDim % 2 == 0 && !c.rope.changed() && !c.qkNorm &&
         c.logitSoftcap == 0 && c.valueEmbeddings.empty() &&
         c.bigramEmbeddings == 0;
}

/// Reorders rows of queries or keys. This project's RoPE rotates pairs of
/// adjacent channels, Llama's pairs channels of both halves of a head.
at::Tensor halves(const at::Tensor &rows, int64_t heads) {
  return rows.view({heads, rows.size(0) / heads / 2, 2, rows.size(1)})
      .transpose(1, 2);
}

std::vector<Place> llamaPlaces(const models::ModelConfig &c,
                               const std::vector<models::Parameter> &own) {
  Tensors all;
  for (const models::Parameter &p : own)
    all.emplace(p.name, p.value.detach());
  std::vector<Place> places;
  const auto add = [&](const std::string &name, const at::Tensor &view,
                       std::vector<int64_t> shape) {
    places.push_back({name, view, std::move(shape)});
  };
  const auto same = [&](const std::string &name, const std::string &ours) {
    add(name, all.at(ours), all.at(ours).sizes().vec());
  };
  same("model.embed_tokens.weight", "embedding");
  for (int64_t i = 0; i < c.layers; ++i) {
    const std::string from = fmt::format("blocks.{}.", i),
                      to = fmt::format("model.layers.{}.", i);
    const at::Tensor qkv = all.at(from + "attention.qkv");
    const int64_t d = c.keyDim, q = c.heads * d, k = c.kvHeads * d;
    same(to + "input_layernorm.weight", from + "attention.norm");
    add(to + "self_attn.q_proj.weight", halves(qkv.narrow(0, 0, q), c.heads),
        {q, c.dim});
    add(to + "self_attn.k_proj.weight", halves(qkv.narrow(0, q, k), c.kvHeads),
        {k, c.dim});
    add(to + "self_attn.v_proj.weight", qkv.narrow(0, q + k, k), {k, c.dim});
    same(to + "self_attn.o_proj.weight", from + "attention.output");
    same(to + "post_attention_layernorm.weight", from + "mlp.norm");
    same(to + "mlp.gate_proj.weight", from + "mlp.gated");
    same(to + "mlp.up_proj.weight", from + "mlp.in");
    same(to + "mlp.down_proj.weight", from + "mlp.out");
  }
  same("model.norm.weight", "norm");
  if (!c.tiedHead)
    same("lm_head.weight", "head");
  return places;
}

std::vector<Place> placesOf(const models::Transformer &model,
                            WeightNames names) {
  if (names == WeightNames::HuggingFace)
    return llamaPlaces(model.config(), model.parameters());
  std::vector<Place> places;
  for (const models::Parameter &p : model.parameters())
    places.push_back({p.name, p.value.detach(), p.value.sizes().vec()});
  return places;
}

Tensors readSafetensors(const std::string &file) {
  const std::string bytes = readFile(file);
  Tensors all;
  for (const auto &[name, place] : locateTensors(bytes, file)) {
    const at::ScalarType type = place.dtype == "F32"    ? at::kFloat
                                : place.dtype == "BF16" ? at::kBFloat16
                                : place.dtype == "F16"  ? at::kHalf
                                                        : at::kByte;
    if (type == at::kByte)
      throw Error(
          fmt::format("{}: {} has the type {}", file, name, place.dtype),
          "weights are F32, BF16 or F16");
    at::Tensor data = at::empty(place.shape, type);
    if (place.end > place.begin)
      std::memcpy(data.data_ptr(), bytes.data() + place.begin,
                  place.end - place.begin);
    all.emplace(name, data);
  }
  return all;
}

void requireSame(const Tensors &stored, const std::vector<Place> &places,
                 const std::string &file) {
  const auto refuse = [&](const std::string &what) {
    throw Error(fmt::format("{}: {}", file, what),
                "the model's settings must be those of the weights: tessera "
                "train --dry-run shows the parameters they make");
  };
  for (const Place &place : places) {
    const auto found = stored.find(place.name);
    if (found == stored.end())
      refuse(place.name + " is missing");
    if (found->second.sizes() != place.shape)
      refuse(fmt::format("{} is [{}], the model's is [{}]", place.name,
                         fmt::join(found->second.sizes(), ", "),
                         fmt::join(place.shape, ", ")));
  }
  for (const auto &[name, tensor] : stored) {
    bool known = false;
    for (const Place &place : places)
      known = known || place.name == name;
    if (!known)
      refuse("the model has no " + name);
  }
}

} // namespace

std::string exportWeights(const ExportOptions &options) {
  const bool pickle = options.file.ends_with(".pt");
  if (!pickle && !options.file.ends_with(".safetensors"))
    throw Error(fmt::format("{}: weights go to a file that ends in .pt or "
                            ".safetensors",
                            options.file),
                endings);
  const TrainedModel trained = readTrainedModel(options.run, options.overrides);
  if (options.names == WeightNames::HuggingFace &&
      !isLlama(trained.model->config()))
    throw Error("the model of " + options.run +
                    " is not a Llama, which Hugging Face's names are for",
                "a Llama has attention: dense, model.mlp: swiglu, as many "
                "channels in values as in keys, positions as they are, and "
                "neither model.qk_norm, model.logit_softcap, "
                "model.value_embeddings nor model.bigram_embeddings; "
                "--names own writes every model");
  std::vector<models::Parameter> named;
  for (const Place &place : placesOf(*trained.model, options.names))
    named.push_back(
        {place.name, place.elements.contiguous().view(place.shape)});
  writeFile(options.file, pickle ? encodePickle(named) : encodeTensors(named));
  return trained.note;
}

void importWeights(const std::string &file, models::Transformer &model) {
  const at::NoGradGuard noGrad;
  Tensors stored =
      file.ends_with(".pt") ? readPickle(file) : readSafetensors(file);
  const bool llama = stored.contains("model.embed_tokens.weight");
  if (llama && !isLlama(model.config()))
    throw Error(file + " has a Llama's weights, and the settings make no Llama",
                "set attention: dense, model.mlp: swiglu, model.d_v as "
                "model.d_k, and neither model.rope_scale, model.qk_norm, "
                "model.logit_softcap, model.value_embeddings nor "
                "model.bigram_embeddings");
  // A file can contain a tied head twice.
  if (llama && model.config().tiedHead)
    stored.erase("lm_head.weight");
  const std::vector<Place> places =
      placesOf(model, llama ? WeightNames::HuggingFace : WeightNames::Own);
  requireSame(stored, places, file);
  for (const Place &place : places) {
    const at::Tensor &tensor = stored.at(place.name);
    if (!at::isfinite(tensor).all().item<bool>())
      throw Error(fmt::format("{}: {} has elements that are infinite or not a "
                              "number",
                              file, place.name),
                  "take weights from an earlier checkpoint");
    place.elements.copy_(tensor.contiguous().view(place.elements.sizes()));
  }
}

} // namespace tessera::trainer
