// trainer/settings/Config.h - all settings of a run, read from YAML, the
// environment and key=value arguments.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/ModelConfig.h"

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace tessera::trainer {

enum class LearningRateSchedule : int {
  Cosine,
  Linear,
  WarmupStableDecay,
  Constant
};
enum class OptimizerKind : int { AdamW, Muon };
/// The polynomials by which Muon makes updates orthogonal
/// (trainer/optim/Muon.h).
enum class Orthogonalization : int { NewtonSchulz, PolarExpress };
enum class ComputeDevice : int { Auto, Cpu, Cuda };
enum class ExchangeBackend : int { Auto, Nccl, Gloo };
enum class Precision : int { Fp32, Bf16, Fp16 };
enum class TokenizerKind : int { Byte, Gpt2 };
enum class DataOrigin : int { Files, Synthetic };
/// The order of windows: drawn independently, in shuffled passes, or
/// sequential.
enum class DataOrder : int { Random, Shuffled, Sequential };
/// How documents become sequences: cut from the joined text, or packed into
/// rows (trainer/data/PackedRows.h).
enum class DataPacking : int { Joined, BestFit };
/// What follows a pass over the data: the next pass, or an error.
enum class DataEnd : int { Repeat, Stop };

/// A range of steps, counted from 1, both ends included; empty if first is 0.
struct StepRange {
  int64_t first = 0, last = 0;
};

/// A value that holds from a step on, counted from 1.
struct StepValue {
  int64_t step, value;
};
using StepValues = std::vector<StepValue>;

/// The settings of a run. The tables of trainer/settings (settingsTable() in
/// Setting.h) document each member.
struct Config {
  Config() { model.layers = 1; } // the default of nsa-vibe

  models::ModelConfig model;
  std::string perSequence; ///< Sources (trainer/settings/SequenceSources.h).
  models::KernelSource kernels = models::KernelSource::Tessera;
  ComputeDevice device = ComputeDevice::Auto;
  Precision precision = Precision::Fp32;

  DataOrigin dataOrigin = DataOrigin::Files;
  double syntheticNoise = 1; ///< Share of uniformly drawn synthetic tokens.
  std::string dataPath;      ///< Empty: the King James text.
  TokenizerKind tokenizer = TokenizerKind::Byte;
  DataOrder dataOrder = DataOrder::Random;
  std::string tokenizerPath; ///< Tokenizer for generate; empty: bytes.
  DataPacking dataPacking = DataPacking::Joined;
  DataEnd dataEnd = DataEnd::Repeat;
  int64_t dataPrefetch = 2; ///< Micro-batches read ahead.
  double dataTimeout = 60;  ///< Seconds to wait for data.

  int64_t steps = 1000; ///< Optimizer steps.
  int64_t sequenceLength = 512;
  /// Sequences of a micro-batch: of all processes, and of each process.
  int64_t batchSize = 4, deviceBatchSize = 0;
  int64_t accumulate = 1; ///< Micro-batches of an optimizer step.
  /// Values of batchSize and sequenceLength from steps on
  /// (trainer/settings/Phases.h). sequenceLength is the longest.
  StepValues batchSchedule, lengthSchedule;
  double learningRate = 3e-3;
  double finalLearningRate = 0.0;
  LearningRateSchedule schedule = LearningRateSchedule::Cosine;
  double decayShare = 0.2; ///< Share of the steps, for WarmupStableDecay.
  int64_t warmup = 0;      ///< In optimizer steps, as all intervals below.
  OptimizerKind optimizer = OptimizerKind::AdamW;
  double muonRate = 0.02; ///< Muon's rate when the schedule is at learningRate.
  double muonMomentum = 0.95;
  Orthogonalization orthogonalization = Orthogonalization::NewtonSchulz;
  bool muonNormalize = false; ///< NorMuon: normalizes each row of an update.
  double muonBeta2 = 0.95;    ///< Of the rows' mean squares.
  double weightDecay = 0.0;
  bool cautiousDecay = false; ///< Decays only what the update shrinks.
  double headRateFactor = 1;  ///< Of the rate of an untied head.
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double clip = 1.0;        ///< 0: no clipping.
  double lossScale = 65536; ///< Initial value, for fp16.
  double skipScore = 0;     ///< Limit in standard deviations; 0: none.
  /// Updates that may be skipped in guardWindow steps.
  int64_t skipBudget = 10;
  int64_t seed = 1;
  std::string initialWeights; ///< Weights file; empty: random from the seed.

  int64_t logEvery = 10;
  int64_t evaluateEvery = 0; ///< Steps between evaluations; 0: only at the end.
  int64_t evaluateWindows = 32;
  int64_t finalWindows = 0;  ///< Windows of the final evaluation; 0: all.
  int64_t compareEvery = 0;  ///< Steps between checks of kernels; 0: none.
  bool compareStops = false; ///< A failed check ends the run.
  int64_t sampleEvery = 0;   ///< Steps between samples of text; 0: none.
  int64_t sampleTokens = 64;
  std::string hellaSwag;      ///< ChoiceFile for evaluation; empty: none.
  int64_t hellaSwagEvery = 0; ///< Steps between scores; 0: only at the end.
  int64_t hellaSwagLimit = 0; ///< Examples to score; 0: all.
  int64_t saveEvery = 200;    ///< Steps; 0: only when stopped and at the end.
  int64_t keepCheckpoints = 2;
  int64_t milestoneEvery = 0; ///< Steps between kept checkpoints; 0: none.
  double watchdog = 180; ///< Seconds until a slow step is reported; 0: never.
  StepRange traceSteps;
  bool nvtx = false; ///< Emits NVTX ranges.
  /// Replays micro-steps as CUDA graphs (trainer/loop/MicroStep.h).
  bool cudaGraph = false;
  /// Not a setting: the GPU for which `tessera profile` lists kernels.
  std::string traceTarget;

  std::string out = "runs/default";
  std::string resume = "auto"; ///< auto or never.
  bool allowChangedKernels = false;
  int64_t threads = 2;
  int64_t processes = 1;       ///< Not a setting: number of processes.
  double bucketMegabytes = 25; ///< Bucket size of exchanged gradients.
  /// Seconds until processes that cannot reach each other end.
  double networkTimeout = 300;
  /// Sets NCCL's variables for GPUs connected only by PCIe.
  bool ncclForPcie = false;
  int64_t zeroStage = 0;            ///< 1: the optimizer's state is sharded.
  Precision wire = Precision::Fp32; ///< Element type of exchanged gradients.
  /// Library of the exchange.
  ExchangeBackend exchange = ExchangeBackend::Auto;
  bool panel = true; ///< Compares the speed of NSA and SDPA at the end.

  /// The source of each setting that is not a default, by key: "run.yaml:12",
  /// "environment NSA_LR", "command line", "checkpoint".
  std::map<std::string, std::string> origins;
  /// The file of settings, if it was written for nsa-vibe
  /// (trainer/settings/NsaVibe.h).
  std::string nsaVibeFile;

  /// Returns the number of sequences, or of tokens, of an optimizer step
  /// without schedules.
  int64_t sequencesPerStep() const { return batchSize * accumulate; }
  int64_t tokensPerStep() const { return sequencesPerStep() * sequenceLength; }
};

using Environment = std::map<std::string, std::string>;

/// Returns `file` if it exists. Otherwise returns the file that is installed
/// with this program, in `configs` or `share/tessera/configs` of a folder above
/// the program, for a name such as configs/quickstart.yaml.
std::string configPath(const std::string &file);

/// Reads the settings of `file` (empty: all defaults). NSA_* variables of the
/// environment replace them, and overrides ("key=value") replace both. Throws
/// tessera::Error, with file and line, if a key is unknown, a value is invalid,
/// or `processes` does not divide train.batch_size.
Config readConfig(const std::string &file,
                  const std::vector<std::string> &overrides,
                  int64_t processes = 1);

/// Reads settings from the text of a config file, as readConfig() does.
/// Messages contain `name` as the file's name.
Config parseConfig(const std::string &text, const std::string &name,
                   const std::vector<std::string> &overrides,
                   const Environment &environment = {}, int64_t processes = 1);

/// Reads the output of toJson(), or config.json of an older version. Messages
/// contain `place`.
Config configFromJson(const nlohmann::json &values, const std::string &place);

/// Adapts a stored config to this number of processes. Throws tessera::Error if
/// they cannot divide train.batch_size.
Config forProcesses(Config config, int64_t processes);

/// Copies from `earlier` every setting that affects results and that the user
/// did not give. Returns "key=value" of the settings that change.
std::vector<std::string> takeFrom(const Config &earlier, Config &config);

/// Returns every key with its value, the contents of config.json.
nlohmann::json toJson(const Config &config);

} // namespace tessera::trainer
