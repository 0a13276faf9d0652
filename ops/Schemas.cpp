// ops/Schemas.cpp - schemas of the public ops (namespace tessera) and of the
// internal ops (tessera_internal).
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include <torch/library.h>

// Every op takes packed tokens with cu_seqlens (int32 [B+1]); max_seqlen is the
// length of the longest sequence. docs/torch-ops.md explains the arguments.
TORCH_LIBRARY(tessera, m) {
  m.def("launch(str file, str kernel, Tensor(a!)[] tensors, Scalar[] scalars, "
        "SymInt[] grid, "
        "str constexprs) -> ()");

  m.def("kernel_stats() -> (int compiled, int loaded, int memory_hits, int "
        "bad_cache_entries)");

  m.def("compressed_offsets(Tensor cu_seqlens, int block_length, int "
        "block_stride) -> Tensor");
  m.def("nsa_compress(Tensor x, Tensor? weight, Tensor cu_seqlens, Tensor "
        "cu_cmp, SymInt "
        "max_seqlen, SymInt total_cmp, int block_length, int block_stride) -> "
        "Tensor");
  m.def("nsa_compress_backward(Tensor grad, Tensor x, Tensor? weight, Tensor "
        "cu_seqlens, Tensor "
        "cu_cmp, SymInt max_seqlen, int block_length, int block_stride) -> "
        "(Tensor, Tensor)");

  m.def("nsa_compress_pair(Tensor k, Tensor v, Tensor? k_filter, Tensor? "
        "v_filter, Tensor cu_seqlens, Tensor cu_cmp, SymInt max_seqlen, SymInt "
        "total_cmp, int block_length, int block_stride) -> (Tensor, Tensor)");
  m.def("nsa_compress_pair_backward(Tensor grad_k, Tensor grad_v, Tensor k, "
        "Tensor v, Tensor? k_filter, Tensor? v_filter, Tensor cu_seqlens, "
        "Tensor cu_cmp, SymInt max_seqlen, int block_length, int block_stride) "
        "-> (Tensor, Tensor, Tensor, Tensor)");

  m.def("nsa_compressed_attention(Tensor q, Tensor k_cmp, Tensor v_cmp, Tensor "
        "cu_seqlens, Tensor "
        "cu_cmp, SymInt max_seqlen, int block_length, int block_stride, float? "
        "scale=None) -> "
        "(Tensor o, Tensor lse)");
  m.def("nsa_compressed_attention_backward(Tensor grad_o, Tensor? grad_lse, "
        "Tensor q, Tensor "
        "k_cmp, Tensor v_cmp, Tensor o, Tensor lse, Tensor cu_seqlens, Tensor "
        "cu_cmp, SymInt "
        "max_seqlen, int block_length, int block_stride, float? scale=None) -> "
        "(Tensor, Tensor, "
        "Tensor)");

  m.def("nsa_select(Tensor q, Tensor k_cmp, Tensor lse, Tensor cu_seqlens, "
        "Tensor cu_cmp, SymInt "
        "max_seqlen, int block_length, int block_stride, int selection_length, "
        "int selected, int "
        "initial_blocks=1, int local_blocks=2, float? scale=None, bool "
        "general_overlap=False) -> "
        "Tensor");
  m.def("nsa_select_scores(Tensor q, Tensor k_cmp, Tensor lse, Tensor "
        "cu_seqlens, Tensor cu_cmp, "
        "SymInt max_seqlen, int block_length, int block_stride, int "
        "selection_length, int "
        "selected, int initial_blocks=1, int local_blocks=2, float? "
        "scale=None, bool "
        "general_overlap=False) -> (Tensor indices, Tensor scores)");
  // Computes nsa_compressed_attention and nsa_select in one launch on devices
  // that have a kernel for both.
  m.def("nsa_compressed_selection(Tensor q, Tensor k_cmp, Tensor v_cmp, Tensor "
        "cu_seqlens, Tensor cu_cmp, SymInt max_seqlen, int block_length, int "
        "block_stride, int selection_length, int selected, int "
        "initial_blocks=1, int local_blocks=2, float? scale=None) -> (Tensor "
        "o, Tensor lse, Tensor indices)");
  m.def("nsa_ranges(Tensor indices, Tensor cu_seqlens, SymInt max_seqlen, int "
        "selection_length) "
        "-> Tensor");

  // The ops that follow select the blocks to which a query attends. `lists`: 1,
  // one for each key head, or one for each query head. indices: int32 [lists,
  // T, top], ascending, padded with -1.
  m.def("pooled_select(Tensor q, Tensor k, Tensor cu_seqlens, SymInt "
        "max_seqlen, int block, int top, *, int lists, int first=0, int "
        "local=1, str pool=\"mean\") -> Tensor");
  m.def("compressed_select(Tensor q, Tensor k, Tensor cu_seqlens, SymInt "
        "max_seqlen, int block, int top, *, int length=32, int stride=16, int "
        "first=1, int local=2, float? scale=None) -> Tensor");
  m.def("indexer_select(Tensor q, Tensor k, Tensor weights, Tensor cu_seqlens, "
        "SymInt max_seqlen, int block, int top, *, int first=0, int local=0, "
        "Tensor? k_cu_seqlens=None, int length=1, int stride=1) -> (Tensor "
        "indices, Tensor tokens)");
  m.def("block_mass(Tensor q, Tensor k, Tensor lse, Tensor indices, Tensor "
        "cu_seqlens, SymInt max_seqlen, int block, *, float? scale=None) -> "
        "Tensor");
  m.def("indexer_loss(Tensor q, Tensor k, Tensor weights, Tensor tokens, "
        "Tensor mass, Tensor cu_seqlens) -> Tensor");

  m.def("nsa_selected_attention(Tensor q, Tensor k, Tensor v, Tensor indices, "
        "Tensor cu_seqlens, "
        "SymInt max_seqlen, int selection_length, float? scale=None) -> "
        "(Tensor o, Tensor lse)");
  m.def("nsa_selected_attention_backward(Tensor grad_o, Tensor? grad_lse, "
        "Tensor q, Tensor k, "
        "Tensor v, Tensor o, Tensor lse, Tensor indices, Tensor cu_seqlens, "
        "SymInt max_seqlen, "
        "int selection_length, float? scale=None) -> (Tensor, Tensor, Tensor)");

  // Attention to any selection of blocks, with a window, a sink and a second
  // stream of keys in one softmax.
  m.def("selected_attention(Tensor q, Tensor k, Tensor v, Tensor cu_seqlens, "
        "SymInt max_seqlen, Tensor indices, int block, *, int window=0, "
        "Tensor? sink=None, Tensor? extra_k=None, Tensor? extra_v=None, "
        "Tensor? extra_cu_seqlens=None, int extra_length=1, int "
        "extra_stride=1, float? scale=None) -> (Tensor o, Tensor lse)");
  m.def("selected_attention_backward(Tensor grad_o, Tensor? grad_lse, Tensor "
        "q, Tensor k, Tensor v, Tensor o, Tensor lse, Tensor cu_seqlens, "
        "SymInt max_seqlen, Tensor indices, int block, *, int window=0, "
        "Tensor? sink=None, Tensor? extra_k=None, Tensor? extra_v=None, "
        "Tensor? extra_cu_seqlens=None, int extra_length=1, int "
        "extra_stride=1, float? scale=None) -> (Tensor, Tensor, Tensor, "
        "Tensor, Tensor, Tensor)");

  // nsa_selected_attention in two steps: the first op lists the blocks of each
  // tile of tokens, the second computes attention.
  m.def("nsa_block_lists(Tensor indices, Tensor cu_seqlens, SymInt max_seqlen, "
        "int selection_length, int group) -> (Tensor lists, Tensor counts)");
  m.def("nsa_listed_attention(Tensor q, Tensor k, Tensor v, Tensor indices, "
        "Tensor lists, Tensor counts, Tensor cu_seqlens, SymInt max_seqlen, "
        "int selection_length, float? scale=None) -> (Tensor o, Tensor lse)");

  m.def("nsa_window_attention(Tensor q, Tensor k, Tensor v, Tensor cu_seqlens, "
        "SymInt max_seqlen, "
        "int window, float? scale=None) -> (Tensor o, Tensor lse)");
  m.def("nsa_window_attention_backward(Tensor grad_o, Tensor? grad_lse, Tensor "
        "q, Tensor k, "
        "Tensor v, Tensor o, Tensor lse, Tensor cu_seqlens, SymInt max_seqlen, "
        "int window, float? "
        "scale=None) -> (Tensor, Tensor, Tensor)");

  m.def("nsa_combine(Tensor o_cmp, Tensor o_sel, Tensor o_win, Tensor "
        "gate_logits, str "
        "gate_mode=\"softmax\", float tau=1.0) -> (Tensor out, Tensor gates)");
  m.def("nsa_combine_backward(Tensor grad, Tensor o_cmp, Tensor o_sel, Tensor "
        "o_win, Tensor gates, "
        "Tensor gate_logits, str gate_mode, float tau) -> (Tensor, Tensor, "
        "Tensor, Tensor)");

  m.def("nsa_gated_attention(Tensor q, Tensor k_cmp, Tensor v_cmp, Tensor "
        "k_sel, Tensor v_sel, Tensor k_win, Tensor v_win, Tensor gate_logits, "
        "Tensor cu_seqlens, Tensor cu_cmp, SymInt max_seqlen, int "
        "block_length, int block_stride, int selection_length, int selected, "
        "int window, int initial_blocks=1, int local_blocks=2, str "
        "gate_mode=\"softmax\", float tau=1.0, float? scale=None) -> (Tensor "
        "out, Tensor indices, Tensor gates)");
  m.def("nsa_gated_attention_backward(Tensor grad, Tensor[] keys_values, "
        "Tensor q, Tensor gate_logits, Tensor gates, Tensor indices, Tensor[] "
        "outputs, Tensor[] lses, Tensor[] lists, Tensor cu_seqlens, Tensor "
        "cu_cmp, SymInt max_seqlen, int block_length, int block_stride, int "
        "selection_length, int window, str gate_mode, float tau, float? scale) "
        "-> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)");

  m.def("nsa_attention(Tensor q, Tensor k_cmp, Tensor v_cmp, Tensor k_sel, "
        "Tensor v_sel, Tensor "
        "k_win, Tensor v_win, Tensor gate_logits, Tensor cu_seqlens, Tensor "
        "cu_cmp, SymInt "
        "max_seqlen, SymInt total_cmp, int block_length, int block_stride, int "
        "selection_length, "
        "int selected, int window, int initial_blocks=1, int local_blocks=2, "
        "Tensor? k_filter=None, "
        "Tensor? v_filter=None, str gate_mode=\"softmax\", float tau=1.0, "
        "float? scale=None) -> "
        "(Tensor out, Tensor indices, Tensor gates)");

  m.def("dense_attention(Tensor q, Tensor k, Tensor v, Tensor cu_seqlens, "
        "SymInt max_seqlen, "
        "float? scale=None) -> (Tensor o, Tensor lse)");
  m.def("dense_attention_backward(Tensor grad_o, Tensor? grad_lse, Tensor q, "
        "Tensor k, Tensor v, "
        "Tensor o, Tensor lse, Tensor cu_seqlens, SymInt max_seqlen, float? "
        "scale=None) -> "
        "(Tensor, Tensor, Tensor)");

  // Attention that a pattern's file defines. learned: [learned numbers, Hq];
  // per_sequence: int32 [values, sequences]. indices is empty if the pattern
  // does not select, index_loss if it does not have an indexer. For a pattern
  // with streams, k and v hold the heads of one stream after another; lse is
  // empty if each stream has a gate.
  m.def("attention(Tensor q, Tensor k, Tensor v, Tensor cu_seqlens, SymInt "
        "max_seqlen, str pattern, str params=\"\", *, Tensor? learned=None, "
        "Tensor? per_sequence=None, Tensor? index_q=None, Tensor? "
        "index_k=None, Tensor? index_weights=None, Tensor? gate_logits=None, "
        "float? scale=None) -> "
        "(Tensor o, Tensor lse, Tensor indices, Tensor index_loss)");

  m.def("decode_attention(Tensor q, Tensor k, Tensor v, int first, int last, "
        "Tensor? indices=None, int selection_length=0, int splits=0, float? "
        "scale=None) -> (Tensor o, Tensor lse)");

  m.def("decode_compressed(Tensor q, Tensor k_cmp, Tensor v_cmp, int position, "
        "int block_length, int block_stride, int selection_length, int "
        "selected, int initial_blocks=1, int local_blocks=2, float? "
        "scale=None) -> (Tensor o, Tensor lse, Tensor indices)");

  m.def("rms_norm(Tensor x, Tensor weight, float epsilon=1e-06) -> Tensor");
  m.def("rms_norm_forward(Tensor x, Tensor weight, float epsilon) -> (Tensor "
        "y, Tensor rstd)");
  m.def("rms_norm_backward(Tensor grad, Tensor x, Tensor weight, Tensor rstd) "
        "-> (Tensor, Tensor)");

  m.def("residual_norm(Tensor x, Tensor added, Tensor weight, float "
        "epsilon=1e-06) -> (Tensor sum, Tensor y)");
  m.def("residual_norm_forward(Tensor x, Tensor added, Tensor weight, float "
        "epsilon) -> (Tensor sum, Tensor y, Tensor rstd)");
  m.def("residual_norm_backward(Tensor grad_y, Tensor grad_sum, Tensor sum, "
        "Tensor weight, Tensor rstd) -> (Tensor, Tensor)");

  m.def(
      "linear_cross_entropy(Tensor hidden, Tensor weight, Tensor targets, "
      "int ignore_index=-100, str reduction=\"mean\", bool keep_logits=False) "
      "-> Tensor");
  m.def("linear_cross_entropy_forward(Tensor hidden, Tensor weight, Tensor "
        "targets, int ignore_index) -> (Tensor losses, Tensor lse)");
  m.def("linear_cross_entropy_backward(Tensor grad, Tensor hidden, Tensor "
        "weight, Tensor targets, Tensor lse, int ignore_index) -> (Tensor, "
        "Tensor)");
  m.def("linear_cross_entropy_logits(Tensor hidden, Tensor weight, Tensor "
        "targets, int ignore_index) -> (Tensor losses, Tensor lse, Tensor "
        "logits)");
  m.def("linear_cross_entropy_logits_backward(Tensor grad, Tensor hidden, "
        "Tensor weight, Tensor targets, Tensor lse, Tensor(a!) logits, int "
        "ignore_index) -> (Tensor, Tensor)");

  m.def("mlp_activation(Tensor x, str kind, Tensor? gate=None) -> Tensor");
  m.def("mlp_activation_backward(Tensor grad, Tensor x, str kind, Tensor? "
        "gate=None) -> (Tensor, Tensor)");

  m.def("rope_table(SymInt positions, int dim, float base=10000.0, float "
        "scale=1.0, int stride=1) "
        "-> (Tensor cos, Tensor sin)");
  m.def("rope(Tensor x, Tensor cos, Tensor sin, Tensor cu_seqlens, SymInt "
        "max_seqlen, int "
        "first_position=0, bool inverse=False) -> Tensor");
}

// Ops that only the Python package and the trainer call. They may change in
// every version; docs/torch-ops.md lists them without a promise.
TORCH_LIBRARY(tessera_internal, m) {
  // Compiles a kernel given as text, and launches it: tessera.jit of the Python
  // package.
  m.def("jit_kernel(str path, str text, str kernel, str order, str constexprs, "
        "str options) -> int");
  m.def("jit_launch(int kernel, Tensor(a!)[] tensors, Scalar[] scalars, int x, "
        "int y, int z) -> ()");
  m.def("jit_prepare(int kernel, Tensor[] tensors, Scalar[] scalars) -> ()");
  m.def("jit_describe(int kernel, Tensor[] tensors, Scalar[] scalars) -> str");

  // Number of CPU threads, and matrix products that run on them.
  m.def("own_threads(int count) -> ()");
  m.def("product(Tensor a, Tensor b) -> Tensor");
  m.def("products(Tensor[] a, Tensor[] b) -> Tensor[]");

  m.def("pack_stats() -> (int packed, int misses, int workers)");
  m.def("gpu_fault(int gpu) -> (str what, str hint)");
  m.def("kernel_files() -> (str[] paths, str[] texts)");
  m.def("tuning_table(Device device) -> (str path, str origin, str sha256)");
  m.def("tuned_launches() -> (str[] launches, str[] configurations, str[] "
        "sources)");
  m.def("begin_listing(bool run=False) -> ()");
  m.def("listed_launches(str target=\"\") -> str[]");
  m.def("end_listing(bool prepare) -> str[]");
}
