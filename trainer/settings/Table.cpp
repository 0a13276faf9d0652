// trainer/settings/Table.cpp - joins the sections of the table, and defines the
// settings of attention, runtime and data.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/settings/Entry.h"

namespace tessera::trainer {
namespace {

using namespace models;

const std::vector<Choice> attentionKinds = {
    choice("nsa", AttentionKind::Nsa), choice("dense", AttentionKind::Dense),
    choice("sdpa", AttentionKind::Sdpa),
    choice("kernel", AttentionKind::Kernel)};
const std::vector<Choice> kernelSources = {
    choice("tessera", KernelSource::Tessera),
    choice("torch", KernelSource::Torch)};
const std::vector<Choice> devices = {choice("auto", ComputeDevice::Auto),
                                     choice("cpu", ComputeDevice::Cpu),
                                     choice("cuda", ComputeDevice::Cuda)};
const std::vector<Choice> precisions = {choice("fp32", Precision::Fp32),
                                        choice("bf16", Precision::Bf16),
                                        choice("fp16", Precision::Fp16)};
const std::vector<Choice> wires = {choice("off", Precision::Fp32),
                                   choice("bf16", Precision::Bf16),
                                   choice("fp16", Precision::Fp16)};
const std::vector<Choice> backends = {choice("auto", ExchangeBackend::Auto),
                                      choice("nccl", ExchangeBackend::Nccl),
                                      choice("gloo", ExchangeBackend::Gloo)};
// In nsa-vibe, `true` recomputes complete blocks.
const std::vector<Choice> recomputes = {
    choice("none", Recompute::None),           choice("mlp", Recompute::Mlp),
    choice("attention", Recompute::Attention), choice("full", Recompute::Full),
    choice("false", Recompute::None),          choice("true", Recompute::Full)};
const std::vector<Choice> losses = {choice("auto", FusedLoss::Auto),
                                    choice("true", FusedLoss::On),
                                    choice("false", FusedLoss::Off)};
const std::vector<Choice> keptLogits = {choice("auto", LossLogits::Auto),
                                        choice("keep", LossLogits::Keep),
                                        choice("chunks", LossLogits::Chunks)};
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

std::vector<Setting> runSettings() {
  return {
      SettingEntry::oneOf("attention", MEMBER(model.attention), attentionKinds,
                          "what the layers attend with; also a pattern, or a "
                          "list that repeats over the layers: "
                          "attention=window,dense"),
      SettingEntry::of("attention.pattern", MEMBER(model.custom.pattern),
                       "name or file of an attention pattern, or a list of "
                       "patterns and kinds; attention=NAME is the short form"),
      SettingEntry::of("attention.kernel", MEMBER(model.custom.file),
                       "file with your attention kernels"),
      SettingEntry::of("attention.fwd", MEMBER(model.custom.forward),
                       "forward kernel of the file"),
      SettingEntry::of("attention.bwd", MEMBER(model.custom.backward),
                       "backward kernel, or the start of the names of several"),
      SettingEntry::of(
          "attention.constexprs", MEMBER(model.custom.constexprs),
          "for these kernels: W=16, STEP=4; parameters of patterns, for all "
          "or, separated by semicolons, for each entry of the list")
          .also("attention_params"),
      SettingEntry::of("attention.learned", MEMBER(model.custom.learned),
                       "tensors [tokens, heads] they take besides: GATE"),
      SettingEntry::of("attention.head_learned",
                       MEMBER(model.custom.headLearned),
                       "learned tensors [heads] they take besides: SINK"),
      SettingEntry::of(
          "attention.per_sequence", MEMBER(perSequence),
          "values of each sequence that patterns take: prefix=64, "
          "prefix=before(TOKEN), prefix=through(TOKEN) or prefix=uniform"),
      SettingEntry::of("attention.index_loss", MEMBER(model.indexLossWeight),
                       "weight of the loss that trains learned indexers")
          .range(0, 1e6),
      SettingEntry::oneOf("kernels", MEMBER(kernels), kernelSources,
                          "compiled kernels, or plain torch operations"),
      SettingEntry::of("out", MEMBER(out), "run folder")
          .also("train.out_dir")
          .free(),
      SettingEntry::of("resume", MEMBER(resume),
                       "auto: go on from the last checkpoint; never")
          .free(),
      SettingEntry::of("allow_changed_kernels", MEMBER(allowChangedKernels),
                       "go on from a checkpoint that other kernel files made")
          .free(),
      SettingEntry::of("threads", MEMBER(threads),
                       "CPU threads; with kernels=torch the results depend on "
                       "their number")
          .range(1, 1024)
          .announced(),
      SettingEntry::of("panel", MEMBER(panel),
                       "time NSA against SDPA at the end")
          .free(),
      SettingEntry::oneOf("runtime.device", MEMBER(device), devices,
                          "auto: a GPU with TESSERA_DEVICE=cuda, else the CPU"),
      SettingEntry::oneOf(
          "runtime.precision", MEMBER(precision), precisions,
          "of the computation; weights, sums of gradients and moments "
          "are fp32 besides")
          .announced(),
      SettingEntry::oneOf(
          "runtime.gradient_checkpointing", MEMBER(model.recompute), recomputes,
          "what of each block is computed again in the backward pass "
          "instead of being kept in memory")
          .free(),
      SettingEntry::oneOf(
          "runtime.fused_loss", MEMBER(model.fusedLoss), losses,
          "true: head and loss are one operation that keeps no logits; auto: "
          "with a vocabulary of 8192 or more")
          .announced(),
      SettingEntry::oneOf(
          "runtime.loss_logits", MEMBER(model.lossLogits), keptLogits,
          "logits of that operation: kept for the backward pass, or computed "
          "again in chunks of tokens; auto: kept on a GPU where the plan takes "
          "at most 34e9 bytes of memory, except in fp16")
          .announced(),
      SettingEntry::of(
          "runtime.ddp_bucket_mb", MEMBER(bucketMegabytes),
          "megabytes of gradients that processes exchange in one piece")
          .twin("NSA_DDP_BUCKET_MB")
          .range(0.001, 4096)
          .free(),
      SettingEntry::oneOf("runtime.ddp_compress", MEMBER(wire), wires,
                          "what gradients are rounded to on their way between "
                          "processes; off: fp32")
          .twin("NSA_DDP_COMPRESS")
          .announced(),
      SettingEntry::oneOf(
          "runtime.ddp_backend", MEMBER(exchange), backends,
          "how processes exchange tensors: auto is nccl between GPUs "
          "and gloo between CPUs; gloo takes those of GPUs through "
          "the host's memory")
          .announced(),
      SettingEntry::of(
          "runtime.network_timeout", MEMBER(networkTimeout),
          "seconds until processes that cannot reach each other end, at the "
          "start or when a node is lost")
          .range(1, 86400)
          .free(),
      SettingEntry::of(
          "runtime.zero_stage", MEMBER(zeroStage),
          "1: each process keeps an equal part of the optimizer's state "
          "(ZeRO); 0: all of it")
          .range(0, 1)
          .free(),
      SettingEntry::of(
          "runtime.nccl_pcie", MEMBER(ncclForPcie),
          "NCCL_ALGO=Ring, NCCL_PROTO=Simple and NCCL_IB_DISABLE=1, for GPUs "
          "joined by PCIe alone; a variable that is set stays")
          .free(),
      SettingEntry::of(
          "runtime.cuda_graph", MEMBER(cudaGraph),
          "forward and backward pass of a micro-batch are launched as one CUDA "
          "graph, but in steps that are logged")
          .free(),
      SettingEntry::of(
          "runtime.nvtx", MEMBER(nvtx),
          "steps, phases, layers and kernels are ranges of NVTX, for "
          "profilers such as Nsight Systems")
          .free(),
      SettingEntry::oneOf(
          "data.source", MEMBER(dataOrigin), origins,
          "those of data.path; or tokens that are computed, "
          "model.vocab_size of them (256 where it is not given)"),
      SettingEntry::of(
          "data.synthetic_noise", MEMBER(syntheticNoise),
          "share of synthetic tokens that are drawn; the others follow "
          "from the token before. 1: there is nothing to learn")
          .range(0, 1),
      SettingEntry::of(
          "data.path", MEMBER(dataPath),
          "text, a folder of it, or shards of tokens; empty: King James "
          "text")
          .announced(),
      SettingEntry::oneOf(
          "data.tokenizer", MEMBER(tokenizer), tokenizers,
          "gpt2: refuse data of other tokens than GPT-2's; byte: take "
          "the tokens that the data has"),
      SettingEntry::of(
          "data.tokenizer_path", MEMBER(tokenizerPath),
          "folder or file of the data's tokenizer, for generate; empty: "
          "tokens are bytes")
          .free(),
      SettingEntry::oneOf(
          "data.order", MEMBER(dataOrder), orders,
          "sequences from random places; in passes, shuffled anew or "
          "as they stand"),
      SettingEntry::oneOf(
          "data.packing", MEMBER(dataPacking), packings,
          "sequences cut from all text joined; or rows of whole "
          "documents, which do not see each other"),
      SettingEntry::oneOf(
          "data.at_end", MEMBER(dataEnd), ends,
          "of a pass: begin again, or refuse a run that needs more"),
      SettingEntry::of("data.prefetch", MEMBER(dataPrefetch),
                       "micro-batches read ahead by a thread; 0: no thread")
          .twin("NSA_FWE_Q")
          .range(0, 1024)
          .free(),
      SettingEntry::of("data.timeout", MEMBER(dataTimeout),
                       "seconds to wait for the thread")
          .range(0.001, 86400)
          .free(),
  };
}

/// Returns the keys of nsa-vibe's files whose feature does not exist here.
std::vector<Setting> absentSettings() {
  constexpr const char *flash =
      "FlashAttention-2 is not used here: attention runs on our own kernels";
  constexpr const char *dead = "nsa-vibe read this key and used it nowhere";
  return {
      SettingEntry::absent("runtime.fa2_enabled", {"false"}, flash),
      SettingEntry::absent("runtime.fa2_min_len_win", {"-1"}, flash),
      SettingEntry::absent("runtime.fa2_min_len_cmp", {"-1"}, flash),
      SettingEntry::absent("runtime.use_flash", {"false"}, dead),
      SettingEntry::absent("runtime.use_triton_sel", {"false"}, dead),
      SettingEntry::absent("runtime.sel_triton_min_L", {"-1"}, dead),
      SettingEntry::absent("runtime.compile_cmp_win", {"false"}, dead),
  };
}

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
