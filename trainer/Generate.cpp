// trainer/Generate.cpp - draws bytes one at a time from the model.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/Generate.h"

#include "support/Error.h"
#include "trainer/Checkpoint.h"
#include "trainer/Config.h"
#include "trainer/Random.h"
#include "trainer/TensorFile.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tessera::trainer {
namespace {

/// The settings a checkpoint was made with, then the overrides.
Config checkpointConfig(const FoundCheckpoint &checkpoint,
                        const std::vector<std::string> &overrides) {
  std::vector<std::string> settings;
  const nlohmann::json earlier = toJson(earlierConfig(checkpoint));
  for (const auto &[key, value] : earlier.items())
    settings.push_back(
        key + "=" +
        (value.is_string() ? value.get<std::string>() : value.dump()));
  settings.insert(settings.end(), overrides.begin(), overrides.end());
  return parseConfig("", checkpoint.folder + "/state.json", settings);
}

int64_t draw(const at::Tensor &logits, const GenerateOptions &options,
             int64_t index) {
  if (options.temperature <= 0)
    return logits.argmax().item<int64_t>();
  const at::Tensor p =
      at::softmax(logits.to(at::kDouble) / options.temperature, 0);
  double left = randomUnit(uint64_t(options.seed), uint64_t(index));
  const double *data = p.const_data_ptr<double>();
  for (int64_t i = 0; i < p.numel(); ++i)
    if ((left -= data[i]) < 0)
      return i;
  return p.numel() - 1;
}

} // namespace

void generate(const GenerateOptions &options,
              const std::function<void(char)> &emit) {
  const auto checkpoint =
      findCheckpoint(options.run, [](const std::string &text) {
        fmt::print(stderr, "{}\n", text);
      });
  if (!checkpoint)
    throw Error("no checkpoint in " + options.run,
                "train first: tessera train --config configs/quickstart.yaml");
  if (options.prompt.empty())
    throw Error("the prompt is empty", "give at least one byte to start from");
  const Config config = checkpointConfig(*checkpoint, options.overrides);
  constexpr int64_t largest = 257; // bytes, and a token before each document
  if (config.model.vocabulary > largest)
    throw Error(fmt::format("this model has {} tokens; text is written of "
                            "bytes only",
                            config.model.vocabulary),
                "train with the byte tokenizer: tessera data prepare");
  at::set_num_threads(int(config.threads));
  models::Transformer model(config.model, config.kernels,
                            uint64_t(config.seed));
  readTensors(checkpoint->folder + "/model.safetensors", model.parameters());
  const at::NoGradGuard noGrad;
  std::vector<int64_t> bytes;
  for (unsigned char c : options.prompt)
    bytes.push_back(c);
  for (int64_t i = 0; i < options.tokens; ++i) {
    // The model has seen windows of this length only.
    const size_t length = std::min(bytes.size(), size_t(config.sequenceLength));
    const at::Tensor window =
        at::from_blob(bytes.data() + bytes.size() - length,
                      {1, int64_t(length)}, at::kLong)
            .clone();
    const at::Tensor logits = model.forward(window).logits[0][-1];
    const int64_t next = draw(logits, options, i);
    if (next > 255) // the document is over
      return;
    bytes.push_back(next);
    emit(char(next));
  }
}

} // namespace tessera::trainer
