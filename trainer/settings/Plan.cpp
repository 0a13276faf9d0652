// trainer/settings/Plan.cpp - formulas for parameters, memory and operations of
// a model, and the list of its kernels.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/settings/Plan.h"

#include "ops/Estimates.h"
#include "runtime/launch/PatternFile.h"
#include "support/Error.h"
#include "support/Options.h"
#include "support/Quantities.h"
#include "trainer/optim/Schedule.h"
#include "trainer/settings/Config.h"
#include "trainer/settings/NsaVibe.h"
#include "trainer/settings/Phases.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <unistd.h>

namespace tessera::trainer {
namespace {

using models::AttentionKind;
using models::KernelSource;
using models::LossLogits;
using models::ModelConfig;

bool isSparse(const ModelConfig &m, int64_t layer) {
  return m.builtAttentionOf(layer).kind == AttentionKind::Nsa;
}
/// Returns the number of layers with NSA.
int64_t sparseLayers(const ModelConfig &m) {
  return m.layersWith(AttentionKind::Nsa);
}
/// Returns the number of pairs of key and value tensors that all layers
/// project. NSA has one pair for each of its three branches.
int64_t branches(const ModelConfig &m) {
  int64_t sum = 0;
  for (int64_t layer = 0; layer < m.layers; ++layer)
    sum += m.branchesOf(layer);
  return sum;
}

/// Returns the pairs that an NSA layer projects, or the mean of the other
/// layers.
double branchesOf(const ModelConfig &m, bool sparse) {
  const int64_t others = m.layers - sparseLayers(m);
  if (sparse || others == 0)
    return 3;
  return double(branches(m) - 3 * sparseLayers(m)) / double(others);
}

/// Returns the hidden width of the gates' MLP.
int64_t gateWidth(const ModelConfig &m) {
  return m.gateInput == models::GateInput::Hidden
             ? m.keyDim
             : std::max<int64_t>(1, m.keyDim / 2);
}

int64_t mlpMatrices(const ModelConfig &m) {
  return m.mlp == models::MlpKind::SwiGlu ? 3 : 2;
}

/// Returns the weights of matrix products for one compressed key head, in the
/// networks of nsa.phi=mlp_pe for keys and values.
double phiWeights(const ModelConfig &m) {
  double sum = 0;
  for (const int64_t d : {m.keyDim, m.valueDim})
    sum += double(models::phiWidth(m, d) * (m.nsa.blockLength + 1) * d);
  return sum;
}

/// Returns the factor for the number of NSA layers in formulas.
std::string sparseText(const ModelConfig &m) {
  return sparseLayers(m) == m.layers ? "n_layers"
                                     : fmt::format("{}", sparseLayers(m));
}

ParameterPart phiParameters(const ModelConfig &m) {
  const int64_t networks = m.phiPerHead ? m.kvHeads : 1, l = m.nsa.blockLength;
  int64_t count = 0;
  for (const int64_t d : {m.keyDim, m.valueDim}) {
    const int64_t width = models::phiWidth(m, d);
    count += l * d + networks * (width * (l * d + 1) + d * width);
  }
  count += networks * m.valueDim; // bias of the network for values
  return {"compression",
          fmt::format("{1} * (l*d + {0}(h*(l*d+1) + d*h) for d_k and d_v, "
                      "{0}d_v)",
                      m.phiPerHead ? "n_kv_groups*" : "", sparseText(m)),
          sparseLayers(m) * count};
}

/// Returns the projections of queries, keys and values of all layers.
ParameterPart projectedParameters(const ModelConfig &m) {
  const bool alike = branches(m) == m.layers * m.branchesOf(0);
  return {"queries, keys, values",
          alike ? fmt::format("n_layers * dim * (n_heads*d_k + "
                              "{}*n_kv_groups*(d_k+d_v))",
                              m.branchesOf(0))
                : fmt::format("dim * (n_layers*n_heads*d_k + "
                              "{}*n_kv_groups*(d_k+d_v))",
                              branches(m)),
          m.dim * (m.layers * m.heads * m.keyDim +
                   branches(m) * m.kvHeads * (m.keyDim + m.valueDim))};
}

/// Adds gates and compression of the NSA layers.
void addSparse(std::vector<ParameterPart> &parts, const ModelConfig &m) {
  const int64_t layers = sparseLayers(m);
  if (layers == 0)
    return;
  const bool hidden = m.gateInput == models::GateInput::Hidden;
  const int64_t width = gateWidth(m), inputs = hidden ? m.dim : m.keyDim;
  const int64_t gates = hidden ? 3 * m.kvHeads : 3;
  parts.push_back(
      {"gates",
       sparseText(m) + (hidden ? " * (d_k*(dim+1) + 3*n_kv_groups*(d_k+1))"
                               : " * (d_k/2*(d_k+1) + 3*(d_k/2+1))"),
       layers * (width * (inputs + 1) + gates * (width + 1))});
  if (m.compression == models::Compression::Convolution)
    parts.push_back({"compression", sparseText(m) + " * l * (d_k+d_v)",
                     layers * m.nsa.blockLength * (m.keyDim + m.valueDim)});
  if (m.compression == models::Compression::Mlp)
    parts.push_back(phiParameters(m));
}

/// Adds the learned tensors of attention kernels.
void addLearned(std::vector<ParameterPart> &parts, const ModelConfig &m) {
  int64_t learned = 0, perHead = 0;
  for (int64_t i = 0; i < m.layers; ++i) {
    const models::LayerKind layer = m.attentionOf(i);
    if (layer.kind != AttentionKind::Kernel)
      continue;
    learned += int64_t(layer.custom.learnedNames().size());
    perHead += int64_t(layer.custom.headLearnedNames().size());
  }
  // For equal layers the formula has the number of one layer, otherwise the sum
  // over all layers.
  const auto times = [&](int64_t count) {
    return m.kinds.size() > 1
               ? fmt::format("{}*n_heads", count)
               : fmt::format("n_layers * {}*n_heads", count / m.layers);
  };
  if (learned > 0)
    parts.push_back({"attention.learned", times(learned) + " * dim",
                     learned * m.heads * m.dim});
  if (perHead > 0)
    parts.push_back(
        {"attention.head_learned", times(perHead), perHead * m.heads});
}

/// Adds the projections of learned indexers
/// (kernels/patterns/learned_blocks.py).
void addIndexers(std::vector<ParameterPart> &parts, const ModelConfig &m) {
  int64_t rows = 0;
  for (int64_t i = 0; i < m.layers; ++i) {
    const models::LayerKind layer = m.attentionOf(i);
    if (layer.kind != AttentionKind::Kernel || layer.custom.pattern.empty())
      continue;
    const auto selection =
        runtime::selectionOfPattern(layer.custom.file, layer.custom.constexprs);
    if (!selection || selection->scorer != runtime::Scorer::Indexer)
      continue;
    const int64_t heads =
        selection->lists(m.heads, m.kvHeads) * selection->heads;
    rows += heads * (selection->width + 1) + selection->width;
  }
  if (rows > 0)
    parts.push_back({"indexers", fmt::format("{} * dim", rows), rows * m.dim});
}

std::vector<ParameterPart> parametersOf(const ModelConfig &m) {
  const int64_t layers = m.layers;
  std::vector<ParameterPart> parts = {
      {"embedding", "vocabulary * dim", m.vocabulary * m.dim},
      projectedParameters(m),
      {"attention output", "n_layers * dim * n_heads*d_v",
       layers * m.dim * m.heads * m.valueDim},
      {"MLP", fmt::format("n_layers * {} * dim * mlp_dim", mlpMatrices(m)),
       layers * mlpMatrices(m) * m.dim * m.mlpDim},
      {"norms", "(2*n_layers + 1) * dim", (2 * layers + 1) * m.dim},
  };
  if (m.qkNorm)
    parts.push_back(
        {"norms of q and k", "n_layers * 2*d_k", layers * 2 * m.keyDim});
  if (const int64_t tables = m.valueTables(); tables > 0)
    parts.push_back(
        {"value embeddings",
         fmt::format("{} * (vocabulary * n_kv_groups*d_v + 1)", tables),
         tables * (m.vocabulary * m.kvHeads * m.valueDim + 1)});
  if (m.bigramEmbeddings > 0)
    parts.push_back({"bigram embedding", "bigram_embeddings * dim",
                     m.bigramEmbeddings * m.dim});
  addSparse(parts, m);
  addLearned(parts, m);
  addIndexers(parts, m);
  if (!m.tiedHead)
    parts.push_back({"head", "vocabulary * dim", m.vocabulary * m.dim});
  return parts;
}

/// Returns the mean number of keys to which a query of a sequence attends, in
/// all branches of a layer. Counts patterns as dense attention.
double keysSeen(const ModelConfig &m, int64_t length, bool sparse) {
  if (!sparse)
    return double(length + 1) / 2;
  const models::NsaGeometry &g = m.nsa;
  double sum = 0;
  for (int64_t t = 1; t <= length; ++t)
    sum += double(g.compressedCount(t)) +
           double(std::min(t, g.selectedBlocks * g.selectionLength)) +
           double(std::min(t, g.window));
  return sum / double(length);
}

/// Return the number of elements that the MLP and the attention of one layer
/// store for the backward pass, for each token.
double keptByMlp(const ModelConfig &m) {
  // Input and output of the activation, with SwiGLU also the other factor;
  // input and output of the norm.
  const double hidden = m.mlp == models::MlpKind::SwiGlu ? 3 : 2;
  return 2 * double(m.dim) + hidden * double(m.mlpDim);
}
double keptByAttention(const ModelConfig &m, bool sparse) {
  const double heads = double(m.heads), groups = double(m.kvHeads);
  const double dk = double(m.keyDim), dv = double(m.valueDim);
  const double b = branchesOf(m, sparse);
  const double turned = (heads + b * groups) * dk;
  // Input and output of the norm, the projections, their rotated part, and the
  // attention's output and row sums. model.qk_norm also keeps a copy of its
  // input.
  double kept =
      2 * double(m.dim) + turned + b * groups * dv + turned + heads * (dv + 1);
  if (m.qkNorm)
    kept += turned;
  if (sparse) {
    const double gates = 3 * groups;
    if (m.compression == models::Compression::Mlp)
      // Chunks of tokens, and the hidden layer before and after its activation.
      kept += groups * (dk + dv) + groups * 2 *
                                       double(models::phiWidth(m, m.keyDim) +
                                              models::phiWidth(m, m.valueDim)) /
                                       double(m.nsa.stride);
    kept += 3 * heads * (dv + 1) + groups * (dk + dv) / double(m.nsa.stride) +
            groups * double(m.nsa.selectedBlocks) + 2 * double(gateWidth(m)) +
            2 * gates;
  }
  return kept;
}

/// Returns the number of elements that a layer with value embeddings stores in
/// addition, for each token: the embedding. The sum of values is not a view of
/// the projections, so that the queries and keys before rotation are freed.
double keptForValueTable(const ModelConfig &m) {
  const double turned =
      double(m.heads * m.keyDim) +
      double(branches(m)) / double(m.layers) * double(m.kvHeads * m.keyDim);
  return double(m.kvHeads * m.valueDim) - turned;
}

/// Returns the elements that all layers store for each token from the forward
/// to the backward pass. Recomputed parts store only their input.
double keptByLayers(const ModelConfig &m) {
  using models::Recompute;
  const double layers = double(m.layers), input = double(m.dim);
  const double sparse = double(sparseLayers(m));
  const double attention = sparse * keptByAttention(m, true) +
                           (layers - sparse) * keptByAttention(m, false) +
                           double(m.valueTables()) * keptForValueTable(m);
  switch (m.recompute) {
  case Recompute::None:
    break;
  case Recompute::Mlp:
    return attention + layers * input;
  case Recompute::Attention:
    return layers * (keptByMlp(m) + input);
  case Recompute::Full:
    return layers * input;
  }
  return attention + layers * keptByMlp(m);
}

/// Returns the additional elements, for each token, during the backward pass of
/// the last layer's MLP: recomputed activations except the stored input, a
/// gradient of the MLP's width (the output of the activation is free by then),
/// and two gradients of the model's width.
double besidesInLastMlp(const ModelConfig &m) {
  using models::Recompute;
  double again = 0;
  if (m.recompute == Recompute::Mlp || m.recompute == Recompute::Full)
    again += keptByMlp(m) - double(m.dim);
  if (m.recompute == Recompute::Full)
    again += keptByAttention(m, isSparse(m, m.layers - 1));
  return again + 2 * double(m.dim) + double(m.mlpDim);
}

/// Returns the additional elements, for each token, during the backward pass of
/// the last layer's attention: recomputed activations, and gradients of
/// queries, keys and values. The activations of its MLP are free by then.
double besidesInLastAttention(const ModelConfig &m) {
  using models::Recompute;
  const bool sparse = isSparse(m, m.layers - 1);
  const double b = branchesOf(m, sparse), groups = double(m.kvHeads);
  const double projected = double(m.heads) * double(m.keyDim) +
                           b * groups * double(m.keyDim + m.valueDim);
  double more = projected + double(m.heads * m.valueDim) + double(m.dim);
  if (m.recompute == Recompute::None || m.recompute == Recompute::Attention)
    more -= keptByMlp(m);
  if (m.recompute == Recompute::Attention || m.recompute == Recompute::Full)
    more += keptByAttention(m, sparse) - double(m.dim);
  return more;
}

/// Returns true if the run uses neither a GPU nor a simulated GPU.
bool runsOnCpu(const Config &c) {
  return c.device != ComputeDevice::Cuda && optionText(Option::Device) == "cpu";
}

/// Returns true if the loss is linear_cross_entropy of the ops.
bool hasLinearLoss(const Config &c) {
  return fusesLoss(c.model) && c.model.logitSoftcap == 0 &&
         c.kernels != KernelSource::Torch;
}

/// Returns true if the backward pass of attention of this kind is a single
/// kernel on a GPU (ops/attention/OrderedBackward.h). With packed documents
/// this assumes one document in each row, because the number of compressed keys
/// depends on the documents.
bool takesOrderedBackward(const Config &c, bool sparse) {
  const ModelConfig &m = c.model;
  if (runsOnCpu(c) || c.precision == Precision::Fp32 ||
      c.kernels == KernelSource::Torch ||
      !runtime::fitsOrderedBackward(m.heads / m.kvHeads, m.keyDim, m.valueDim))
    return false;
  const int64_t rows = c.deviceBatchSize, tokens = rows * c.sequenceLength;
  if (!runtime::fillsOrderedBackward(m.kvHeads, tokens, 1))
    return false;
  return !sparse ||
         (m.nsa.window > 0 &&
          runtime::fillsOrderedBackward(
              m.kvHeads, rows * m.nsa.compressedCount(c.sequenceLength),
              runtime::compressedPartsOnGpu(c.sequenceLength)));
}

/// Returns the bytes of fp32 sums in the backward pass of the last layer's
/// attention, if that is a single kernel: on a CPU for the gradients of keys
/// and values, and for each share of the queries; on a GPU for the gradients of
/// queries.
double shareBytes(const Config &c) {
  const ModelConfig &m = c.model;
  if (takesOrderedBackward(c, isSparse(m, m.layers - 1)))
    return runtime::orderedBytes(c.deviceBatchSize * c.sequenceLength, m.heads,
                                 m.keyDim);
  if (!runsOnCpu(c) || c.kernels == KernelSource::Torch ||
      isSparse(m, m.layers - 1))
    return 0;
  const int64_t shares =
      runtime::onePassShares(m.kvHeads, c.deviceBatchSize, m.keyDim);
  return runtime::onePassBytes(shares > 1 ? shares + 1 : shares,
                               c.deviceBatchSize * c.sequenceLength, m.kvHeads,
                               m.keyDim, m.valueDim);
}

/// Returns the bytes of temporaries of the loss. With logits: an fp32 copy if
/// they are rounded, the log-softmax, and the gradients of both. With a fused
/// loss: the memory of the op.
double headBytes(const Config &c, bool keepsLogits) {
  const ModelConfig &m = c.model;
  const double vocabulary = double(m.vocabulary);
  const int64_t tokens = c.deviceBatchSize * c.sequenceLength;
  if (!fusesLoss(m) || c.kernels == KernelSource::Torch)
    return double(tokens) * vocabulary * 12;
  if (m.logitSoftcap > 0)
    return double(std::min(tokens, models::softcapRows(m.vocabulary))) *
               vocabulary * 12 +
           4 * double(m.dim) * vocabulary;
  const bool rounds = c.precision != Precision::Fp32;
  return keepsLogits
             ? runtime::keptLogitsBytes(tokens, m.vocabulary, rounds)
             : runtime::fusedLossBytes(tokens, m.vocabulary, m.dim, rounds);
}

/// Returns the maximum over three moments of the backward pass (loss, last MLP,
/// last attention) and, in bf16 and fp16, its end, when all rounded gradients
/// exist.
int64_t activationBytes(const Config &c, int64_t parameters, bool keepsLogits) {
  const ModelConfig &m = c.model;
  const bool rounds = c.precision != Precision::Fp32;
  const double size = rounds ? 2 : 4, vocabulary = double(m.vocabulary);
  const double tokens = double(c.deviceBatchSize * c.sequenceLength);
  // A norm follows the layers. Logits are freed after the forward pass.
  const double kept = tokens * size * (keptByLayers(m) + 2 * double(m.dim));
  const double head = headBytes(c, keepsLogits);
  // Gradient of a weight matrix, before it is added to the accumulated
  // gradients.
  const double matrix = size * double(m.dim);
  return int64_t(std::max(
      {kept + head + matrix * vocabulary,
       kept + tokens * size * besidesInLastMlp(m) + matrix * double(m.mlpDim),
       kept + tokens * size * besidesInLastAttention(m) + shareBytes(c),
       rounds ? size * double(parameters) : 0}));
}

/// Returns bytes for each parameter: fp32 weights, gradients and two moments,
/// and rounded weights with bf16 or fp16. With runtime.zero_stage=1, a process
/// stores only its shard of the moments and, with rounded weights, of the fp32
/// weights.
double parameterBytes(const Config &c) {
  const bool rounds = c.precision != Precision::Fp32;
  const double whole = rounds ? 2 + 4 : 4 + 4, state = rounds ? 12 : 8;
  return whole + state / double(c.zeroStage > 0 ? c.processes : 1);
}

/// Returns the number of parameters without a second moment (usesMuon(),
/// trainer/optim/Muon.h).
int64_t muonParameters(const Plan &plan) {
  int64_t count = 0;
  for (const ParameterPart &part : plan.parts)
    if (part.name == "queries, keys, values" ||
        part.name == "attention output" || part.name == "MLP")
      count += part.count;
  return count;
}

/// Returns the number of rows of Muon's matrices.
int64_t muonRows(const ModelConfig &m) {
  return m.layers * (m.heads * m.keyDim + 2 * m.dim +
                     (mlpMatrices(m) - 1) * m.mlpDim) +
         branches(m) * m.kvHeads * (m.keyDim + m.valueDim);
}

/// Returns the kernels of steps with the config's sizes, without schedules.
std::vector<std::string> kernelsOf(const Config &c, bool keepsLogits) {
  std::vector<std::string> files = {"nn/activation.py"};
  // Evaluation has no backward pass and keeps no logits.
  if (hasLinearLoss(c))
    files.push_back("nn/linear_loss.py");
  if (keepsLogits)
    files.push_back("nn/logits_loss.py");
  const auto add = [&](std::initializer_list<const char *> more) {
    files.insert(files.end(), more.begin(), more.end());
  };
  add({"nn/reduce_rows.py", "nn/residual_norm.py", "nn/rmsnorm_bwd.py",
       "nn/rmsnorm_fwd.py", "nn/rope.py"});
  if (c.model.has(AttentionKind::Nsa)) {
    files.push_back("nsa/cmp_select_fwd.py");
    const bool ordered = takesOrderedBackward(c, true);
    if (ordered)
      add({"nn/scaled.py", "nsa/cmp_bwd_ordered.py",
           "nsa/window_bwd_ordered.py"});
    if (!ordered || c.dataPacking == DataPacking::BestFit)
      files.push_back("nsa/cmp_bwd.py");
    if (c.model.compression != models::Compression::Mlp)
      add({"nsa/compress_bwd.py", "nsa/compress_fwd.py"});
    add({"nsa/gate_bwd.py", "nsa/gate_fwd.py", "nsa/inverse_index.py",
         "nsa/select_bwd_dkdv.py"});
    if (runsOnCpu(c))
      add({"nsa/select_packed_bwd.py", "nsa/select_packed_fwd.py"});
    else
      add({"nsa/select_list_bwd_dq.py", "nsa/select_list_fwd.py",
           "nsa/select_lists.py"});
    if (c.model.nsa.window > 0)
      files.push_back("nsa/window_fwd.py");
    if (c.model.nsa.window > 0 &&
        (!ordered || c.dataPacking == DataPacking::BestFit))
      files.push_back("nsa/window_bwd.py");
  }
  if (c.model.has(AttentionKind::Dense)) {
    // With packed documents both are listed, because the number of documents in
    // each micro-batch decides which one runs.
    const int64_t rows = c.deviceBatchSize;
    const auto onePass = [&](int64_t sequences) {
      return runsOnCpu(c) && runtime::onePassShares(c.model.kvHeads, sequences,
                                                    c.model.keyDim) > 0;
    };
    const bool packed = c.dataPacking == DataPacking::BestFit;
    const bool ordered = takesOrderedBackward(c, false);
    if (ordered)
      add({"dense/attn_bwd_ordered.py", "nn/scaled.py"});
    else if (!onePass(rows))
      files.push_back("dense/attn_bwd.py");
    if (onePass(packed ? rows * c.sequenceLength : rows))
      files.push_back("dense/attn_bwd_fused.py");
    add({"dense/attn_fwd.py", "nsa/attn_delta.py"});
  }
  for (int64_t i = 0; i < c.model.layers; ++i) {
    const models::LayerKind layer = c.model.attentionOf(i);
    const std::string &file = layer.custom.file;
    if (layer.kind == AttentionKind::Kernel &&
        std::find(files.begin(), files.end(), file) == files.end())
      files.push_back(file);
  }
  return files;
}

} // namespace

/// Returns parameters and memory of the plan.
static Plan memoryOf(const Config &c, bool keepsLogits) {
  const ModelConfig &m = c.model;
  Plan plan;
  plan.parts = parametersOf(m);
  for (const ParameterPart &part : plan.parts)
    plan.parameters += part.count;
  plan.stateBytes =
      int64_t(std::ceil(parameterBytes(c) * double(plan.parameters)));
  if (c.optimizer == OptimizerKind::Muon)
    plan.stateBytes -= 4 * muonParameters(plan);
  if (c.muonNormalize)
    plan.stateBytes += 4 * muonRows(m);
  for (const Phase &phase : phasesOf(c)) {
    const Config sized = withSizes(c, phase);
    const int64_t bytes = activationBytes(sized, plan.parameters, keepsLogits);
    if (bytes <= plan.activationBytes)
      continue;
    plan.activationBytes = bytes;
    plan.sequences = sized.deviceBatchSize;
    plan.length = sized.sequenceLength;
  }
  if (keepsLogits)
    plan.logitsBytes = int64_t(
        runtime::keptLogitsBytes(plan.sequences * plan.length, m.vocabulary,
                                 c.precision != Precision::Fp32));
  return plan;
}

bool keepsLogits(const Config &c) {
  constexpr int64_t most = 34'000'000'000;
  if (!hasLinearLoss(c) || c.model.lossLogits == LossLogits::Chunks)
    return false;
  if (c.model.lossLogits == LossLogits::Keep)
    return true;
  if (runsOnCpu(c) && optionText(Option::KernelsOf) != "gpu")
    return false;
  // A kept fp16 logit above 65504 is infinite.
  if (c.precision == Precision::Fp16)
    return false;
  const Plan plan = memoryOf(c, /*keepsLogits=*/true);
  return plan.stateBytes + plan.activationBytes <= most;
}

ModelConfig modelOf(const Config &c) {
  ModelConfig model = c.model;
  model.lossLogits = keepsLogits(c) ? LossLogits::Keep : LossLogits::Chunks;
  return model;
}

Plan planOf(const Config &c) {
  const ModelConfig &m = c.model;
  Plan plan = memoryOf(c, keepsLogits(c));
  int64_t multiplied = m.tiedHead ? m.vocabulary * m.dim : 0;
  for (const ParameterPart &part : plan.parts) {
    if (!part.name.ends_with("embedding") &&
        !part.name.ends_with("embeddings") && !part.name.starts_with("norms") &&
        part.name != "compression")
      multiplied += part.count;
  }
  plan.weightFlops = 6 * double(multiplied);
  const int64_t sparse = sparseLayers(m);
  if (m.compression == models::Compression::Mlp)
    plan.weightFlops +=
        6 * double(sparse * m.kvHeads) / double(m.nsa.stride) * phiWeights(m);
  double seen = 0; // keys of the queries of all layers, mean over the tokens
  const bool kept = keepsLogits(c);
  for (const Phase &phase : phasesOf(c)) {
    const double share = double(tokensOfSteps(c, phase.first, phase.last)) /
                         double(tokensOfSteps(c, 1, c.steps));
    seen +=
        share * (double(sparse) * keysSeen(m, phase.length, true) +
                 double(m.layers - sparse) * keysSeen(m, phase.length, false));
    if (c.kernels == KernelSource::Torch)
      continue;
    for (std::string &file : kernelsOf(withSizes(c, phase), kept))
      if (std::find(plan.kernels.begin(), plan.kernels.end(), file) ==
          plan.kernels.end())
        plan.kernels.push_back(std::move(file));
  }
  plan.attentionFlops =
      6 * double(m.heads) * double(m.keyDim + m.valueDim) * seen;
  return plan;
}

std::string planText(const Config &c, const Plan &plan) {
  std::string text = fmt::format("parameters: {}\n", plan.parameters);
  for (const ParameterPart &part : plan.parts)
    text += fmt::format("  {:>12} {:<22} {}\n", part.count, part.name,
                        part.formula);
  text += fmt::format(
      "memory: {} of weights, gradients and moments ({:.4g} "
      "bytes a parameter), "
      "about {} for a micro-batch of {} x {} tokens{}{}\n",
      bytesText(uint64_t(plan.stateBytes)),
      double(plan.stateBytes) / double(plan.parameters),
      bytesText(uint64_t(plan.activationBytes)), plan.sequences, plan.length,
      plan.logitsBytes > 0 ? fmt::format(" (kept logits: {})",
                                         bytesText(uint64_t(plan.logitsBytes)))
                           : "",
      c.kernels == KernelSource::Torch
          ? "; plain torch operations take more for attention"
          : "");
  text += fmt::format(
      "operations: {:.4g} FLOP a token = 6 x weights that multiply ({:.4g}) + "
      "6 x n_layers x n_heads x (d_k+d_v) x keys seen ({:.4g})\n",
      plan.weightFlops + plan.attentionFlops, plan.weightFlops,
      plan.attentionFlops);
  for (const Phase &phase : phasesOf(c)) {
    const int64_t sequences = phase.batch * c.accumulate;
    text +=
        fmt::format("steps: {}{} of {} tokens ({} sequences of {}, in {} "
                    "micro-batch{}), {} tokens in all\n",
                    hasSchedule(c) ? fmt::format("{} to ", phase.first) : "",
                    phase.last, sequences * phase.length, sequences,
                    phase.length, c.accumulate, c.accumulate == 1 ? "" : "es",
                    tokensOfSteps(c, phase.first, phase.last));
  }
  for (const std::string &warning : {scheduleWarning(c), nsaVibeLine(c)})
    if (!warning.empty())
      text += warning + "\n";
  text += "kernels:";
  for (const std::string &file : plan.kernels)
    text += " " + file;
  return text + (plan.kernels.empty() ? " none\n" : "\n");
}

void requireMemory(const Plan &plan) {
  const int64_t pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGE_SIZE);
  if (pages <= 0 || size <= 0 || plan.stateBytes / size < pages)
    return;
  throw Error(fmt::format("{} parameters take {} of memory with their "
                          "gradients and moments, this machine has {}",
                          plan.parameters, bytesText(uint64_t(plan.stateBytes)),
                          bytesText(uint64_t(pages) * uint64_t(size))),
              "lower model.dim, model.n_layers or model.mlp_dim; tessera train "
              "--dry-run shows where the parameters are");
}

} // namespace tessera::trainer
