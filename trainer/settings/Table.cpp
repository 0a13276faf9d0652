// trainer/settings/Table.cpp - every setting: names, range, meaning.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/settings/Setting.h"

#include <type_traits>

namespace tessera::trainer {
namespace {

using namespace models;

constexpr double many = 1e9;

template <typename E>
Choice choice(const char *name, E value) {
  return {name, int(value), {}};
}

const std::vector<Choice> attentionKinds = {
    choice("nsa", AttentionKind::Nsa), choice("dense", AttentionKind::Dense),
    choice("sdpa", AttentionKind::Sdpa),
    choice("kernel", AttentionKind::Kernel)};
const std::vector<Choice> kernelSources = {
    choice("tessera", KernelSource::Tessera),
    choice("torch", KernelSource::Torch)};
const std::vector<Choice> compressions = {
    choice("avg", Compression::Average),
    choice("conv", Compression::Convolution),
    choice("mlp_pe", Compression::Mlp),
    {"mlp", -1,
     "the Python system read this word and averaged: avg is what its runs did, "
     "mlp_pe is the network of the paper"}};
const std::vector<Choice> phiActivations = {
    choice("silu", MlpKind::Silu), choice("relu2", MlpKind::SquaredRelu)};
const std::vector<Choice> gateModes = {choice("softmax", GateMode::Softmax),
                                       choice("sigmoid", GateMode::Sigmoid)};
const std::vector<Choice> gateInputs = {choice("q_mean", GateInput::QueryMean),
                                        choice("x", GateInput::Hidden)};
const std::vector<Choice> mlps = {choice("relu2", MlpKind::SquaredRelu),
                                  choice("silu", MlpKind::Silu),
                                  choice("swiglu", MlpKind::SwiGlu)};
const std::vector<Choice> ropeScalings = {choice("linear", RopeScaling::Linear),
                                          choice("yarn", RopeScaling::Yarn)};
const std::vector<Choice> gateOverrides = {
    choice("none", GateOverride::None), choice("cmp", GateOverride::Compressed),
    choice("sel", GateOverride::Selected), choice("win", GateOverride::Window),
    choice("uniform", GateOverride::Uniform)};
const std::vector<Choice> devices = {choice("auto", ComputeDevice::Auto),
                                     choice("cpu", ComputeDevice::Cpu),
                                     choice("cuda", ComputeDevice::Cuda)};
const std::vector<Choice> precisions = {choice("fp32", Precision::Fp32),
                                        choice("bf16", Precision::Bf16),
                                        choice("fp16", Precision::Fp16)};
const std::vector<Choice> wires = {choice("off", Precision::Fp32),
                                   choice("bf16", Precision::Bf16),
                                   choice("fp16", Precision::Fp16)};
// The Python system's true recomputed whole blocks.
const std::vector<Choice> recomputes = {
    choice("none", Recompute::None),           choice("mlp", Recompute::Mlp),
    choice("attention", Recompute::Attention), choice("full", Recompute::Full),
    choice("false", Recompute::None),          choice("true", Recompute::Full)};
const std::vector<Choice> schedules = {
    choice("cosine", LearningRateSchedule::Cosine),
    choice("linear", LearningRateSchedule::Linear),
    choice("wsd", LearningRateSchedule::WarmupStableDecay),
    choice("constant", LearningRateSchedule::Constant)};
const std::vector<Choice> origins = {
    choice("files", DataOrigin::Files),
    choice("synthetic", DataOrigin::Synthetic)};
const std::vector<Choice> orders = {
    choice("random", DataOrder::Random),
    choice("shuffled", DataOrder::Shuffled),
    choice("sequential", DataOrder::Sequential)};
const std::vector<Choice> packings = {choice("joined", DataPacking::Joined),
                                      choice("best_fit", DataPacking::BestFit)};
const std::vector<Choice> ends = {choice("repeat", DataEnd::Repeat),
                                  choice("stop", DataEnd::Stop)};
const std::vector<Choice> tokenizers = {choice("byte", TokenizerKind::Byte),
                                        choice("gpt2", TokenizerKind::Gpt2)};

/// Builds one entry of the table.
class Entry {
public:
  /// `member` gives the place of the value in a Config.
  template <typename F>
  static Entry of(const char *key, F member, const char *doc) {
    Entry e(key, doc);
    e.setting.field = [member](Config &c) -> Field { return &member(c); };
    return e;
  }
  template <typename F>
  static Entry oneOf(const char *key, F member,
                     const std::vector<Choice> &choices, const char *doc) {
    Entry e(key, doc);
    e.setting.field = [member, &choices](Config &c) -> Field {
      auto &value = member(c);
      using Value = std::remove_reference_t<decltype(value)>;
      return ChoiceField{&choices, [&value] { return int(value); },
                         [&value](int v) { value = Value(v); }};
    };
    return e;
  }
  /// A key of a feature that is not built, or that never had an effect.
  static Entry absent(const char *key, std::vector<std::string> accepted,
                      const char *doc) {
    Entry e(key, doc);
    e.setting.accepted = std::move(accepted);
    return e;
  }

  Entry range(double low, double high) {
    setting.low = low;
    setting.high = high;
    return *this;
  }
  Entry also(const char *alias) {
    setting.aliases.push_back(alias);
    return *this;
  }
  Entry twin(const char *variable) {
    setting.variable = variable;
    return *this;
  }
  Entry free() {
    setting.atResume = AtResume::Change;
    return *this;
  }
  Entry announced() {
    setting.atResume = AtResume::Announce;
    return *this;
  }
  operator Setting() const { return setting; }

private:
  Entry(const char *key, const char *doc) {
    setting.key = key;
    setting.doc = doc;
  }
  Setting setting;
};

#define MEMBER(path) [](Config &c) -> auto & { return c.path; }

std::vector<Setting> runSettings() {
  return {
      Entry::oneOf("attention", MEMBER(model.attention), attentionKinds,
                   "what the layers attend with"),
      Entry::of("attention.kernel", MEMBER(model.custom.file),
                "file with your attention kernels"),
      Entry::of("attention.fwd", MEMBER(model.custom.forward),
                "forward kernel of the file"),
      Entry::of("attention.bwd", MEMBER(model.custom.backward),
                "backward kernel, or the start of the names of several"),
      Entry::of("attention.constexprs", MEMBER(model.custom.constexprs),
                "for these kernels: W=16, STEP=4"),
      Entry::of("attention.learned", MEMBER(model.custom.learned),
                "tensors [tokens, heads] they take besides: GATE"),
      Entry::oneOf("kernels", MEMBER(kernels), kernelSources,
                   "compiled kernels, or plain torch operations"),
      Entry::of("out", MEMBER(out), "run folder").also("train.out_dir").free(),
      Entry::of("resume", MEMBER(resume),
                "auto: go on from the last checkpoint; never")
          .free(),
      Entry::of("allow_changed_kernels", MEMBER(allowChangedKernels),
                "go on from a checkpoint that other kernel files made")
          .free(),
      Entry::of("threads", MEMBER(threads),
                "CPU threads; results depend on their number")
          .range(1, 1024),
      Entry::of("panel", MEMBER(panel), "time NSA against SDPA at the end")
          .free(),
      Entry::oneOf("runtime.device", MEMBER(device), devices,
                   "auto: a GPU with TESSERA_DEVICE=cuda, else the CPU"),
      Entry::oneOf("runtime.precision", MEMBER(precision), precisions,
                   "of the computation; weights, sums of gradients and moments "
                   "are fp32 besides")
          .announced(),
      Entry::oneOf("runtime.gradient_checkpointing", MEMBER(model.recompute),
                   recomputes,
                   "what of each block is computed again in the backward pass "
                   "in place of being kept in memory")
          .free(),
      Entry::of("runtime.ddp_bucket_mb", MEMBER(bucketMegabytes),
                "megabytes of gradients that processes exchange in one piece")
          .twin("NSA_DDP_BUCKET_MB")
          .range(0.001, 4096)
          .free(),
      Entry::oneOf("runtime.ddp_compress", MEMBER(wire), wires,
                   "what gradients are rounded to on their way between "
                   "processes; off: fp32")
          .twin("NSA_DDP_COMPRESS")
          .announced(),
      Entry::of("runtime.zero_stage", MEMBER(zeroStage),
                "1: each process keeps an equal part of the optimizer's state "
                "(ZeRO); 0: all of it")
          .range(0, 1)
          .free(),
      Entry::oneOf("data.source", MEMBER(dataOrigin), origins,
                   "those of data.path; or tokens that are computed, "
                   "model.vocab_size of them (256 where it is not given)"),
      Entry::of("data.synthetic_noise", MEMBER(syntheticNoise),
                "share of synthetic tokens that are drawn; the others follow "
                "from the token before. 1: there is nothing to learn")
          .range(0, 1),
      Entry::of("data.path", MEMBER(dataPath),
                "text, a folder of it, or shards of tokens; empty: King James "
                "text")
          .announced(),
      Entry::oneOf("data.tokenizer", MEMBER(tokenizer), tokenizers,
                   "gpt2: refuse data of other tokens than GPT-2's; byte: take "
                   "the tokens that the data has"),
      Entry::of("data.tokenizer_path", MEMBER(tokenizerPath),
                "folder or file of the data's tokenizer, for generate; empty: "
                "tokens are bytes")
          .free(),
      Entry::oneOf("data.order", MEMBER(dataOrder), orders,
                   "sequences from random places; in passes, shuffled anew or "
                   "as they stand"),
      Entry::oneOf("data.packing", MEMBER(dataPacking), packings,
                   "sequences cut from all text joined; or rows of whole "
                   "documents, which do not see each other"),
      Entry::oneOf("data.at_end", MEMBER(dataEnd), ends,
                   "of a pass: begin again, or refuse a run that needs more"),
      Entry::of("data.prefetch", MEMBER(dataPrefetch),
                "micro-batches read ahead by a thread; 0: no thread")
          .twin("NSA_FWE_Q")
          .range(0, 1024)
          .free(),
      Entry::of("data.timeout", MEMBER(dataTimeout),
                "seconds to wait for the thread")
          .range(0.001, 86400)
          .free(),
  };
}

std::vector<Setting> modelSettings() {
  return {
      Entry::of("model.dim", MEMBER(model.dim), "width of the residual stream")
          .range(1, 65536),
      Entry::of("model.n_layers", MEMBER(model.layers), "blocks")
          .also("model.layers")
          .range(1, 1024),
      Entry::of("model.n_heads", MEMBER(model.heads), "query heads")
          .also("model.heads")
          .range(1, 1024),
      Entry::of("model.n_kv_groups", MEMBER(model.kvHeads),
                "key/value heads, each of a group of query heads")
          .also("model.kv_heads")
          .range(1, 1024),
      Entry::of("model.d_k", MEMBER(model.keyDim), "channels of a query or key")
          .also("model.key_dim")
          .range(2, 1024),
      Entry::of("model.d_v", MEMBER(model.valueDim), "channels of a value")
          .also("model.value_dim")
          .range(1, 1024),
      Entry::of("model.mlp_dim", MEMBER(model.mlpDim),
                "hidden width of the MLP; 0 or not given: 4 x model.dim")
          .range(0, 1 << 20),
      Entry::oneOf("model.mlp", MEMBER(model.mlp), mlps,
                   "what is between the MLP's matrices: the square of ReLU, "
                   "SiLU, or SiLU of a second matrix times the first"),
      Entry::of("model.vocab_size", MEMBER(model.vocabulary),
                "tokens there are; not given: those of the data")
          .range(2, 1 << 24),
      Entry::of("model.tied_head", MEMBER(model.tiedHead),
                "output head = embedding"),
      Entry::of("model.rope_base", MEMBER(model.rope.base),
                "base of rotary positions")
          .range(1, 1e12),
      Entry::of("model.rope_scale", MEMBER(model.rope.scale),
                "how many times longer sequences are than those that "
                "positions were made for; 1: positions as they are")
          .twin("NSA_ROPE_SCALE")
          .range(1, 1e6),
      Entry::oneOf("model.rope_scaling", MEMBER(model.rope.scaling),
                   ropeScalings,
                   "what rope_scale does: divide every position, or YaRN"),
      Entry::of("model.rope_original_len", MEMBER(model.rope.originalLength),
                "tokens of a sequence before the scaling; 0 or not given: "
                "train.seq_len")
          .range(0, 1 << 20),
      Entry::of("model.rope_beta_fast", MEMBER(model.rope.fast),
                "of YaRN: channels that turn more often within that length "
                "stay as they are")
          .range(1e-3, 1e6),
      Entry::of("model.rope_beta_slow", MEMBER(model.rope.slow),
                "of YaRN: channels that turn less often are divided")
          .range(1e-3, 1e6),
      Entry::of("model.norm_eps", MEMBER(model.normEpsilon),
                "epsilon of RMSNorm")
          .range(1e-30, 1),
      Entry::of("nsa.l", MEMBER(model.nsa.blockLength),
                "tokens of a compressed block")
          .range(1, 65536),
      Entry::of("nsa.d", MEMBER(model.nsa.stride),
                "tokens between compressed blocks")
          .range(1, 65536),
      Entry::of("nsa.l_sel", MEMBER(model.nsa.selectionLength),
                "tokens of a selected block")
          .range(1, 65536),
      Entry::of("nsa.n_sel", MEMBER(model.nsa.selectedBlocks),
                "blocks kept per query; 0: no selection")
          .range(0, 65536),
      Entry::of("nsa.w", MEMBER(model.nsa.window),
                "tokens of the sliding window; 0: no window")
          .range(0, 1 << 20),
      Entry::oneOf("nsa.phi", MEMBER(model.compression), compressions,
                   "how a block becomes one key and value: its mean, a "
                   "convolution, a network that knows the places in the block"),
      Entry::of("nsa.phi_hidden", MEMBER(model.phiHidden),
                "hidden width of that network; 0: twice the head size")
          .range(0, 1 << 16),
      Entry::oneOf("nsa.phi_act", MEMBER(model.phiActivation), phiActivations,
                   "what is between its matrices"),
      Entry::of("nsa.phi_per_head", MEMBER(model.phiPerHead),
                "a network for each key head, not one for all"),
      Entry::oneOf("nsa.gate", MEMBER(model.gateMode), gateModes,
                   "how the three branches are weighed"),
      Entry::oneOf("nsa.gate_input", MEMBER(model.gateInput), gateInputs,
                   "what the gates see: the group's mean query, the layer's "
                   "input"),
      Entry::of("nsa.gate_temperature", MEMBER(model.gateTemperature),
                "divides the gate logits")
          .range(1e-6, 1e6),
      Entry::oneOf("nsa.force_gate", MEMBER(model.gateOverride), gateOverrides,
                   "gates whatever their weights say: one branch alone, or all "
                   "alike")
          .twin("NSA_FORCE_BRANCH"),
      Entry::of("nsa.use_cmp", MEMBER(model.useCompressed),
                "false: the gate of the compressed branch is zero"),
      Entry::of("nsa.use_sel", MEMBER(model.useSelected),
                "the same of the selected branch"),
      Entry::of("nsa.use_win", MEMBER(model.useWindow),
                "the same of the sliding window"),
  };
}

std::vector<Setting> trainSettings() {
  return {
      Entry::of("train.steps", MEMBER(steps),
                "optimizer steps; more than a finished run has made extend it")
          .range(1, many)
          .announced(),
      Entry::of("train.seq_len", MEMBER(sequenceLength), "tokens of a sequence")
          .twin("NSA_SEQ_LEN")
          .range(2, 1 << 20),
      Entry::of("train.batch_size", MEMBER(batchSize),
                "sequences of a micro-batch, of all processes together")
          .twin("NSA_BATCH_SIZE")
          .range(1, 1 << 16),
      Entry::of("train.device_batch_size", MEMBER(deviceBatchSize),
                "sequences of a micro-batch, of one process; 0: an equal part "
                "of train.batch_size")
          .range(0, 1 << 16)
          .free(),
      Entry::of("train.accumulate_grad_batches", MEMBER(accumulate),
                "micro-batches of an optimizer step")
          .also("train.accumulate")
          .twin("NSA_ACCUM")
          .range(1, 1 << 16),
      Entry::of("train.lr", MEMBER(learningRate),
                "learning rate after the warm-up")
          .twin("NSA_LR")
          .range(0, 100)
          .announced(),
      Entry::of("train.lr_final", MEMBER(finalLearningRate),
                "learning rate at the end")
          .range(0, 100),
      Entry::oneOf("train.lr_schedule", MEMBER(schedule), schedules,
                   "how the rate falls after the warm-up"),
      Entry::of("train.decay_share", MEMBER(decayShare),
                "share of the steps in which wsd lets the rate fall")
          .range(0, 1),
      Entry::of("train.warmup_steps", MEMBER(warmup),
                "optimizer steps of linear warm-up")
          .also("train.warmup")
          .range(0, many),
      Entry::of(
          "train.weight_decay", MEMBER(weightDecay),
          "on matrices but those of gates and compression, not on vectors")
          .range(0, 100),
      Entry::of("train.beta1", MEMBER(beta1), "AdamW").range(0, 0.999999),
      Entry::of("train.beta2", MEMBER(beta2), "AdamW").range(0, 0.999999),
      Entry::of("train.eps", MEMBER(epsilon), "AdamW").range(1e-30, 1),
      Entry::of("train.grad_clip", MEMBER(clip),
                "largest gradient norm; 0: no clipping")
          .also("train.clip")
          .also("train.max_grad_norm")
          .range(0, many)
          .announced(),
      Entry::of("train.loss_scale", MEMBER(lossScale),
                "what the loss is multiplied by in fp16 at first; it halves "
                "when gradients overflow and doubles after 2000 good steps")
          .range(1, 16777216)
          .announced(),
      Entry::of("train.skip_z", MEMBER(skipScore),
                "an update whose loss or gradient norm is so many standard "
                "deviations above its mean is skipped; 0: only one that is not "
                "finite")
          .range(0, 1000)
          .announced(),
      Entry::of("train.skip_budget", MEMBER(skipBudget),
                "updates skipped in 128 steps before the run stops")
          .range(0, 128)
          .announced(),
  };
}

std::vector<Setting> routineSettings() {
  return {
      Entry::of("train.seed", MEMBER(seed), "of weights and data order")
          .range(0, 9e15),
      Entry::of("train.log_every", MEMBER(logEvery), "steps between log lines")
          .range(1, many)
          .free(),
      Entry::of("train.eval_every", MEMBER(evaluateEvery),
                "steps between evaluations; 0: only at the end")
          .range(0, many)
          .free(),
      Entry::of("train.eval_windows", MEMBER(evaluateWindows),
                "held-out sequences of an evaluation on the way")
          .range(1, many)
          .free(),
      Entry::of("train.final_windows", MEMBER(finalWindows),
                "held-out sequences of that at the end; 0: all")
          .range(0, many)
          .free(),
      Entry::of("train.sample_every", MEMBER(sampleEvery),
                "steps between samples of text that the model draws behind "
                "the first held-out tokens; 0: none")
          .range(0, many)
          .free(),
      Entry::of("train.sample_tokens", MEMBER(sampleTokens),
                "tokens of a sample; each takes a forward pass")
          .range(1, 1 << 16)
          .free(),
      Entry::of("train.save_every", MEMBER(saveEvery),
                "steps between checkpoints; 0: only when stopped and at the "
                "end")
          .range(0, many)
          .free(),
      Entry::of("train.keep", MEMBER(keepCheckpoints), "checkpoints kept")
          .range(1, many)
          .free(),
      Entry::of("train.milestone_every", MEMBER(milestoneEvery),
                "checkpoints of steps that this divides are kept besides; 0: "
                "none")
          .range(0, many)
          .free(),
      Entry::of("train.watchdog", MEMBER(watchdog),
                "seconds that a step takes, ten median steps at least, until "
                "its stack is written; 0: never")
          .twin("NSA_WATCH_HEARTBEAT_STALL_S")
          .range(0, many)
          .free(),
      Entry::of("debug.compare_every", MEMBER(compareEvery),
                "steps between comparisons of compiled kernels with plain "
                "torch: loss, branches of NSA, norms, rotation; 0: none")
          .range(0, many)
          .free(),
      Entry::of("debug.compare_stop", MEMBER(compareStops),
                "end the run where they differ by more than rounding explains; "
                "false: a warning")
          .free(),
      Entry::of("train.trace_steps", MEMBER(traceSteps),
                "steps whose phases, operations and kernels are written to "
                "trace.json, for Perfetto; not given: none")
          .range(1, many)
          .free(),
  };
}

/// Keys of the Python system's files without a feature here.
std::vector<Setting> absentSettings() {
  constexpr const char *flash =
      "there is no FlashAttention-2 here: attention runs on our own kernels";
  constexpr const char *dead =
      "the Python system read this key and used it nowhere";
  return {
      Entry::absent("runtime.fa2_enabled", {"false"}, flash),
      Entry::absent("runtime.fa2_min_len_win", {"-1"}, flash),
      Entry::absent("runtime.fa2_min_len_cmp", {"-1"}, flash),
      Entry::absent("runtime.use_flash", {"false"}, dead),
      Entry::absent("runtime.use_triton_sel", {"false"}, dead),
      Entry::absent("runtime.sel_triton_min_L", {"-1"}, dead),
      Entry::absent("runtime.compile_cmp_win", {"false"}, dead),
  };
}

#undef MEMBER

} // namespace

const std::vector<Setting> &settingsTable() {
  static const std::vector<Setting> table = [] {
    std::vector<Setting> all;
    for (const auto &part : {runSettings(), modelSettings(), trainSettings(),
                             routineSettings(), absentSettings()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return table;
}

} // namespace tessera::trainer
