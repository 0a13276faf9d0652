# Types of the public ops; docs/torch-ops.md explains the arguments.
# Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
from collections.abc import Sequence

from torch import Tensor


def compressed_offsets(cu_seqlens: Tensor, block_length: int, block_stride: int) -> Tensor:
    """cu_cmp int32 [B+1]: where the compressed tokens of each sequence start."""

def nsa_compress(
    x: Tensor, weight: Tensor | None, cu_seqlens: Tensor, cu_cmp: Tensor, max_seqlen: int, total_cmp: int,
    block_length: int, block_stride: int,
) -> Tensor:
    """[total_cmp, Hkv, D]; weight None: the mean, [block_length, D]: a depthwise convolution."""

def nsa_compressed_attention(
    q: Tensor, k_cmp: Tensor, v_cmp: Tensor, cu_seqlens: Tensor, cu_cmp: Tensor, max_seqlen: int, block_length: int,
    block_stride: int, scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """(o [T, Hq, E], lse fp32 [Hq, T]) of queries over compressed tokens."""

def nsa_select(
    q: Tensor, k_cmp: Tensor, lse: Tensor, cu_seqlens: Tensor, cu_cmp: Tensor, max_seqlen: int, block_length: int,
    block_stride: int, selection_length: int, selected: int, initial_blocks: int = 1, local_blocks: int = 2,
    scale: float | None = None, general_overlap: bool = False,
) -> Tensor:
    """Indices int32 [Hkv, T, selected] of the blocks that each query attends, ascending, -1 padded."""

def nsa_select_scores(
    q: Tensor, k_cmp: Tensor, lse: Tensor, cu_seqlens: Tensor, cu_cmp: Tensor, max_seqlen: int, block_length: int,
    block_stride: int, selection_length: int, selected: int, initial_blocks: int = 1, local_blocks: int = 2,
    scale: float | None = None, general_overlap: bool = False,
) -> tuple[Tensor, Tensor]:
    """(indices as nsa_select, scores fp32 [Hkv, T, blocks]) that the selection ranked."""

def nsa_ranges(indices: Tensor, cu_seqlens: Tensor, max_seqlen: int, selection_length: int) -> Tensor:
    """int32 [Hkv, T, selected, 2]: merged half-open ranges of tokens; unused slots are 0, 0."""

def nsa_selected_attention(
    q: Tensor, k: Tensor, v: Tensor, indices: Tensor, cu_seqlens: Tensor, max_seqlen: int, selection_length: int,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """(o [T, Hq, E], lse fp32 [Hq, T]) over the selected blocks."""

def selected_attention(
    q: Tensor, k: Tensor, v: Tensor, cu_seqlens: Tensor, max_seqlen: int, indices: Tensor, block: int, *, window: int = 0,
    sink: Tensor | None = None, extra_k: Tensor | None = None, extra_v: Tensor | None = None, extra_cu_seqlens: Tensor | None = None,
    extra_length: int = 1, extra_stride: int = 1, scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """(o [T, Hq, E], lse fp32 [Hq, T]) over any selection of blocks, indices int32 [1 or Hkv or Hq, T, n], with a window, a sink and a
    second stream of keys in one softmax."""

def nsa_window_attention(
    q: Tensor, k: Tensor, v: Tensor, cu_seqlens: Tensor, max_seqlen: int, window: int, scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """(o [T, Hq, E], lse fp32 [Hq, T]) over the last `window` tokens, the current one included."""

def nsa_combine(
    o_cmp: Tensor, o_sel: Tensor, o_win: Tensor, gate_logits: Tensor, gate_mode: str = 'softmax', tau: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """(out [T, Hq, E], gates fp32 [T, Hkv, 3]); gate_mode "softmax" or "sigmoid"."""

def nsa_attention(
    q: Tensor, k_cmp: Tensor, v_cmp: Tensor, k_sel: Tensor, v_sel: Tensor, k_win: Tensor, v_win: Tensor,
    gate_logits: Tensor, cu_seqlens: Tensor, cu_cmp: Tensor, max_seqlen: int, total_cmp: int, block_length: int,
    block_stride: int, selection_length: int, selected: int, window: int, initial_blocks: int = 1,
    local_blocks: int = 2, k_filter: Tensor | None = None, v_filter: Tensor | None = None, gate_mode: str = 'softmax',
    tau: float = 1.0, scale: float | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """(out [T, Hq, E], indices, gates): all branches of Native Sparse Attention on packed sequences."""

def nsa_gated_attention(
    q: Tensor, k_cmp: Tensor, v_cmp: Tensor, k_sel: Tensor, v_sel: Tensor, k_win: Tensor, v_win: Tensor, gate_logits: Tensor,
    cu_seqlens: Tensor, cu_cmp: Tensor, max_seqlen: int, block_length: int, block_stride: int, selection_length: int, selected: int,
    window: int, initial_blocks: int = 1, local_blocks: int = 2, gate_mode: str = 'softmax', tau: float = 1.0,
    scale: float | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """nsa_attention of compressed keys and values."""

def decode_attention(
    q: Tensor, k: Tensor, v: Tensor, first: int, last: int, indices: Tensor | None = None, selection_length: int = 0,
    splits: int = 0, scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """(o [B, Hq, E], lse fp32 [B, Hq]) of one token of each sequence over a cache [B, Hkv, capacity, d]."""

def pooled_select(
    q: Tensor, k: Tensor, cu_seqlens: Tensor, max_seqlen: int, block: int, top: int, *, lists: int, first: int = 0, local: int = 1,
    pool: str = "mean",
) -> Tensor:
    """int32 [lists, T, top]: the blocks whose pooled keys have the largest products with the queries, ascending, then -1."""

def compressed_select(
    q: Tensor, k: Tensor, cu_seqlens: Tensor, max_seqlen: int, block: int, top: int, *, length: int = 32, stride: int = 16, first: int = 1,
    local: int = 2, scale: float | None = None,
) -> Tensor:
    """int32 [Hkv, T, top]: the blocks that receive most attention by averaged keys, ascending, then -1."""

def indexer_select(
    q: Tensor, k: Tensor, weights: Tensor, cu_seqlens: Tensor, max_seqlen: int, block: int, top: int, *, first: int = 0, local: int = 0,
    k_cu_seqlens: Tensor | None = None, length: int = 1, stride: int = 1,
) -> tuple[Tensor, Tensor]:
    """(indices, tokens), int32 [lists, T, top]: the blocks that a learned indexer scores highest, and the best token of each."""

def block_mass(
    q: Tensor, k: Tensor, lse: Tensor, indices: Tensor, cu_seqlens: Tensor, max_seqlen: int, block: int, *, scale: float | None = None,
) -> Tensor:
    """fp32 [lists, T, top]: the share of attention of each selected block, the mean over the list's heads."""

def indexer_loss(q: Tensor, k: Tensor, weights: Tensor, tokens: Tensor, mass: Tensor, cu_seqlens: Tensor) -> Tensor:
    """fp32 [T]: the divergence of the indexer's distribution over the selected blocks from the attention's."""

def dense_attention(
    q: Tensor, k: Tensor, v: Tensor, cu_seqlens: Tensor, max_seqlen: int, scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """(o [T, Hq, E], lse fp32 [Hq, T]) of causal attention on packed sequences."""

def attention(
    q: Tensor, k: Tensor, v: Tensor, cu_seqlens: Tensor, max_seqlen: int, pattern: str, params: str = "", *, learned: Tensor | None = None,
    per_sequence: Tensor | None = None, index_q: Tensor | None = None, index_k: Tensor | None = None, index_weights: Tensor | None = None,
    gate_logits: Tensor | None = None, scale: float | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(o, lse, indices, index_loss) of the pattern whose file is `pattern`, with parameters such as "window=32, first=4"."""

def custom_attention(
    q: Tensor, k: Tensor, v: Tensor, cu_seqlens: Tensor, max_seqlen: int, file: str, fwd: str, bwd: str,
    constexprs: str = '', scale: float | None = None, learned: Tensor | None = None, learned_names: str = '',
    per_sequence: Tensor | None = None, per_sequence_names: str = '',
) -> tuple[Tensor, Tensor]:
    """(o, lse) by the kernels `fwd` and `bwd` of a file of yours."""

def pattern_decode(
    q: Tensor, k: Tensor, v: Tensor, first: int, file: str, constexprs: str = '', scale: float | None = None,
    learned: Tensor | None = None, per_sequence: Tensor | None = None,
) -> Tensor:
    """o [B, n, Hq, E] of an attention pattern for the n tokens of each sequence from position `first` on, over a cache [B, Hkv, capacity, d]."""

def pattern_first_reader(
    first: int, last: int, heads: int, file: str, constexprs: str = '', sequences: int = 1, per_sequence: Tensor | None = None,
) -> int:
    """The first position whose query attends to any of the keys first .. last-1, which end the sequence, or `first` if that is lower."""

def rms_norm(x: Tensor, weight: Tensor, epsilon: float = 1e-06) -> Tensor:
    """x * weight / sqrt(mean(x^2) + epsilon) over the last dimension."""

def residual_norm(x: Tensor, added: Tensor, weight: Tensor, epsilon: float = 1e-06) -> tuple[Tensor, Tensor]:
    """(x + added, rms_norm of it), with the bits of the two operations."""

def linear_cross_entropy(
    hidden: Tensor, weight: Tensor, targets: Tensor, ignore_index: int = -100, reduction: str = 'mean', keep_logits: bool = False,
) -> Tensor:
    """Cross-entropy of the logits hidden @ weight.T; fp32: "mean" or "sum", or "none": [tokens]. keep_logits: the backward pass finds them."""

def mlp_activation(x: Tensor, kind: str, gate: Tensor | None = None) -> Tensor:
    """kind "relu2": max(x, 0)^2; "silu": silu(x); "swiglu": silu(gate) * x."""

def rope_table(
    positions: int, dim: int, base: float = 10000.0, scale: float = 1.0, stride: int = 1,
) -> tuple[Tensor, Tensor]:
    """(cos, sin) fp32 [positions, dim/2]."""

def rope(
    x: Tensor, cos: Tensor, sin: Tensor, cu_seqlens: Tensor, max_seqlen: int, first_position: int = 0,
    inverse: bool = False,
) -> Tensor:
    """x [T, H, D] with pairs of channels rotated by the token's position in its sequence."""

def launch(
    file: str, kernel: str, tensors: Sequence[Tensor], scalars: Sequence[float], grid: Sequence[int], constexprs: str,
) -> None:
    """Runs a kernel of any file; tensors are changed in place."""

def kernel_stats() -> tuple[int, int, int, int]:
    """(compiled, loaded, memory_hits, bad_cache_entries) of the process."""
