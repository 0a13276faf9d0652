# tests/python/shapes_test.py - every tensor argument of every op with a wrong size in each dimension is refused, and the message names the op.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The ops and their arguments come from the registered schemas: a new op fails the test until it has an example here."""
import os
import pathlib
import tempfile

import nsa_reference as ref
import torch

torch.ops.load_library(os.environ["LIBTESSERA_TORCH"])
ops = torch.ops.tessera

# Their kernels are given by the caller, and so is what their tensors mean.
ANY_TENSORS = {"launch", "attention", "custom_attention", "custom_attention_backward", "pattern_decode", "pattern_first_reader",
               "pattern_scores"}

TOKENS, HEADS, KEY_HEADS, SIZE, VALUE_SIZE, LENGTH, STRIDE, BLOCK, SELECTED = 29, 4, 2, 16, 8, 8, 4, 8, 3


def pattern_file():
    """A pattern that selects blocks, with a sink and a rule."""
    path = pathlib.Path(tempfile.gettempdir()) / "tessera_shapes_pattern.py"
    path.write_text("import triton\n\n\n# tessera: select(score=indexer())\n# tessera: learned(sink=[Hq])\n@triton.jit\n"
                    "def sees(t, pos):\n    return pos < t\n")
    return str(path)


def examples():
    """Op -> arguments by name."""
    p = ref.Packing([20, 9])
    cu, longest, cmp = p.cu, 20, ops.compressed_offsets(p.cu, LENGTH, STRIDE)
    rows = int(cmp[-1])
    generator = torch.Generator().manual_seed(0)
    some = lambda *shape: torch.randn(shape, generator=generator)
    q, k, v, kc, vc = some(TOKENS, HEADS, SIZE), *(some(n, KEY_HEADS, d) for n in (TOKENS, rows) for d in (SIZE, VALUE_SIZE))
    o, lse, grad, logits = some(TOKENS, HEADS, VALUE_SIZE), some(HEADS, TOKENS), some(TOKENS, HEADS, VALUE_SIZE), some(TOKENS, KEY_HEADS, 3)
    indices = ref.select(some(KEY_HEADS, TOKENS, 3), p, BLOCK, SELECTED)
    lists, counts = ops.nsa_block_lists(indices, cu, longest, BLOCK, HEADS // KEY_HEADS)
    wk, wv = some(LENGTH, SIZE), some(LENGTH, VALUE_SIZE)
    qkv, packed = dict(q=q, k=k, v=v), dict(cu_seqlens=cu, max_seqlen=longest)
    back = dict(grad_o=grad, grad_lse=some(HEADS, TOKENS), o=o, lse=lse)
    chosen = dict(**qkv, **packed, indices=indices, block=BLOCK, window=4, sink=some(HEADS), extra_k=some(7, KEY_HEADS, SIZE),
                  extra_v=some(7, KEY_HEADS, VALUE_SIZE), extra_cu_seqlens=torch.tensor([0, 5, 7], dtype=torch.int32))
    own = dict(**qkv, **packed, indices=indices, block=BLOCK, file=pattern_file(), learned=some(1, HEADS))
    index = dict(q=some(TOKENS, 1, 2, SIZE), k=some(TOKENS, SIZE), weights=some(TOKENS, 1, 2))
    blocks = dict(block_length=LENGTH, block_stride=STRIDE)
    compressed = dict(q=q, k_cmp=kc, v_cmp=vc, cu_cmp=cmp, **packed, **blocks)
    choice = dict(selection_length=BLOCK, selected=SELECTED)
    score = dict(q=q, k_cmp=kc, lse=lse, cu_cmp=cmp, **packed, **blocks, **choice)
    branches = dict(k_sel=k, v_sel=v, k_win=k, v_win=v, gate_logits=logits, window=4)
    pair = dict(k=k, v=v, k_filter=wk, v_filter=wv, cu_cmp=cmp, **packed, **blocks)
    cache = dict(q=some(2, HEADS, SIZE))
    combined = dict(o_cmp=o, o_sel=o, o_win=o, gate_logits=logits)
    x, norm = some(TOKENS, HEADS, SIZE), dict(weight=some(SIZE), epsilon=1e-6)
    rstd = some(TOKENS * HEADS)
    hidden = dict(hidden=some(TOKENS, SIZE), weight=some(70, SIZE), targets=torch.arange(TOKENS) + 41)
    cos, sin = ops.rope_table(longest, SIZE)
    return {
        "compressed_offsets": None,              # one tensor, of any length
        "nsa_compress": dict(x=k, weight=wk, cu_cmp=cmp, total_cmp=rows, **packed, **blocks),
        "nsa_compress_backward": dict(grad=kc, x=k, weight=wk, cu_cmp=cmp, **packed, **blocks),
        "nsa_compress_pair": dict(total_cmp=rows, **pair),
        "nsa_compress_pair_backward": dict(grad_k=kc, grad_v=vc, **pair),
        "nsa_compressed_attention": compressed,
        "nsa_compressed_attention_backward": {**compressed, **back},
        "nsa_select": score, "nsa_select_scores": score,
        "nsa_compressed_selection": {**compressed, **choice},
        "nsa_ranges": dict(indices=indices, selection_length=BLOCK, **packed),
        "nsa_selected_attention": dict(**qkv, indices=indices, selection_length=BLOCK, **packed),
        "nsa_selected_attention_backward": dict(**qkv, **back, indices=indices, selection_length=BLOCK, **packed),
        "selected_attention": chosen,
        "selected_attention_backward": {**chosen, **back},
        "pattern_list_attention": own, "pattern_list_attention_backward": {**own, **back},
        "pattern_list_mass": dict(q=q, k=k, lse=lse, indices=indices, block=BLOCK, file=own["file"], learned=own["learned"], **packed),
        "pooled_select": dict(q=q, k=k, block=BLOCK, top=2, lists=KEY_HEADS, **packed),
        "compressed_select": dict(q=q, k=k, block=BLOCK, top=SELECTED, length=LENGTH, stride=STRIDE, first=0, local=1, **packed),
        "indexer_select": dict(**index, block=BLOCK, top=2, **packed, k_cu_seqlens=cu),
        "block_mass": dict(q=q, k=k, lse=some(HEADS, TOKENS), indices=indices, block=BLOCK, **packed),
        "indexer_loss": dict(**index, tokens=ops.indexer_select(**index, block=BLOCK, top=2, **packed)[1], mass=some(1, TOKENS, 2), cu_seqlens=cu),
        "nsa_block_lists": dict(indices=indices, selection_length=BLOCK, group=HEADS // KEY_HEADS, **packed),
        "nsa_listed_attention": dict(**qkv, indices=indices, lists=lists, counts=counts, selection_length=BLOCK, **packed),
        "nsa_window_attention": dict(**qkv, window=4, **packed),
        "nsa_window_attention_backward": dict(**qkv, **back, window=4, **packed),
        "nsa_combine": combined,
        "nsa_combine_backward": dict(grad=grad, gates=logits.softmax(-1), gate_mode="softmax", tau=1.0, **combined),
        "nsa_gated_attention": {**compressed, **choice, **branches},
        "nsa_gated_attention_backward": dict(
            grad=grad, keys_values=[kc, vc, k, v, k, v], q=q, gate_logits=logits, gates=logits.softmax(-1), indices=indices,
            outputs=[o, o, o], lses=[lse, lse, lse], lists=[lists, counts], cu_cmp=cmp, selection_length=BLOCK, window=4,
            gate_mode="softmax", tau=1.0, scale=None, **packed, **blocks),
        "nsa_attention": {**compressed, **choice, **branches, "k_cmp": k, "v_cmp": v, "total_cmp": rows, "k_filter": wk, "v_filter": wv},
        "dense_attention": dict(**qkv, **packed),
        "dense_attention_backward": dict(**qkv, **back, **packed),
        "decode_attention": dict(**cache, k=some(2, KEY_HEADS, 30, SIZE), v=some(2, KEY_HEADS, 30, VALUE_SIZE), first=3, last=30,
                                 indices=torch.tensor([0, 2], dtype=torch.int32).expand(2, KEY_HEADS, 2).contiguous(), selection_length=BLOCK),
        "decode_compressed": dict(**cache, k_cmp=some(2, KEY_HEADS, 4, SIZE), v_cmp=some(2, KEY_HEADS, 4, VALUE_SIZE), position=20, **blocks, **choice),
        "rms_norm": dict(x=x, **norm), "rms_norm_forward": dict(x=x, **norm),
        "rms_norm_backward": dict(grad=x, x=x, weight=norm["weight"], rstd=rstd),
        "residual_norm": dict(x=x, added=x, **norm), "residual_norm_forward": dict(x=x, added=x, **norm),
        "residual_norm_backward": dict(grad_y=x, grad_sum=x, sum=x, weight=norm["weight"], rstd=rstd),
        "linear_cross_entropy": hidden,
        "linear_cross_entropy_forward": dict(**hidden, ignore_index=-100),
        "linear_cross_entropy_backward": dict(grad=some(TOKENS), lse=some(TOKENS), **hidden, ignore_index=-100),
        "linear_cross_entropy_logits": dict(**hidden, ignore_index=-100),
        "linear_cross_entropy_logits_backward": dict(grad=some(TOKENS), lse=some(TOKENS), logits=some(TOKENS, 80), **hidden, ignore_index=-100),
        "mlp_activation": dict(x=x, kind="swiglu", gate=x),
        "mlp_activation_backward": dict(grad=x, x=x, kind="swiglu", gate=x),
        "rope": dict(x=x, cos=cos, sin=sin, **packed),
    }


def free(op, name, index, dimension, size):
    """Whether the size means another call that is right."""
    if name == "q" and dimension == 1 and size and size % KEY_HEADS == 0:     # another group of query heads
        return op in {"nsa_compressed_attention", "nsa_compressed_selection", "nsa_selected_attention", "nsa_window_attention",
                      "pooled_select", "compressed_select", "nsa_gated_attention", "nsa_attention", "dense_attention", "decode_attention", "decode_compressed"}
    if dimension == 1 and size in {1, HEADS} and (op, name) in {
            ("compressed_select", "k"), ("nsa_select", "k_cmp"), ("nsa_select_scores", "k_cmp"), ("nsa_combine", "gate_logits")}:
        return True                              # other key heads, which this tensor alone tells
    if name == "indices" and (op.startswith(("selected_attention", "pattern_list")) or op == "block_mass"):
        return dimension == 2 or dimension == 0 and size in (1, KEY_HEADS, HEADS)
    if name == "indices" and dimension == 2:     # any number of blocks is selected
        return op in {"nsa_ranges", "nsa_block_lists", "nsa_selected_attention", "nsa_selected_attention_backward", "decode_attention"}
    if name in {"v", "v_cmp", "v_sel", "v_win"} and dimension == (3 if op.startswith("decode") else 2):
        # Of an attention whose output has it, and not where three branches are added, or with a filter.
        return op in {"nsa_compressed_attention", "nsa_compressed_selection", "nsa_selected_attention", "nsa_listed_attention",
                      "nsa_window_attention", "dense_attention", "decode_attention", "decode_compressed", "pattern_list_attention"} and size > 0
    return (op, name, dimension) in {
        ("nsa_ranges", "indices", 0), ("nsa_block_lists", "indices", 0),     # rows by themselves
        ("nsa_compress", "x", 1),
        ("rope", "x", 1),
    } or (op, name, dimension) == ("rope", "x", 2) and size > SIZE or \
        (op.startswith("rms_norm") and op != "rms_norm_backward" and (name, dimension) in {("x", 0), ("x", 1)}) or \
        (op.startswith("linear_cross_entropy") and (name, dimension) == ("weight", 0) and size > 70)


def resized(x, shape):
    """x with another shape: its numbers as far as there are, else zeros."""
    out = x.new_zeros(shape)
    part = tuple(slice(0, min(a, b)) for a, b in zip(x.shape, shape))
    out[part] = x[part]
    return out


def wrong_sizes(x):
    """(dimension, size, tensor) with another size in one dimension; dimension -1: another number of dimensions."""
    for d, size in enumerate(x.shape):
        for other in sorted({0, 1, size - 1, size + 1, 2 * size} - {size}):
            if other >= 0:
                yield d, other, resized(x, (*x.shape[:d], other, *x.shape[d + 1:]))
    yield -1, 0, x.unsqueeze(0)
    yield -1, 0, x[0]


def test_every_op_has_an_example():
    schemas = {s.name.split("::")[1]: s for s in torch._C._jit_get_all_schemas() if s.name.startswith("tessera::")}
    takes = {name for name, s in schemas.items() if any("Tensor" in str(a.type) for a in s.arguments)}
    assert takes - ANY_TENSORS == set(examples())
    for op, arguments in examples().items():
        if arguments:
            tensors = {a.name for a in schemas[op].arguments if "Tensor" in str(a.type)}
            given = {n for n, a in arguments.items() if isinstance(a, (torch.Tensor, list))}
            assert tensors == given, op


def refuse(op, arguments, what):
    try:
        getattr(ops, op)(**arguments)
    except ValueError as error:
        return None if "tessera::" in str(error) else f"{what}: {error}"
    except Exception as error:               # torch's own, somewhere inside
        return f"{what}: {type(error).__name__} {str(error).splitlines()[0][:150]}"
    return f"{what}: accepted"


def test_wrong_sizes_are_refused():
    bad = []
    for op, arguments in examples().items():
        if not arguments:
            continue
        getattr(ops, op)(**arguments)        # right as it is
        for name, value in arguments.items():
            several = isinstance(value, list)
            for i, x in enumerate(value if several else [value]):
                if not isinstance(x, torch.Tensor):
                    continue
                for d, size, wrong in wrong_sizes(x):
                    if free(op, name, i, d, size) or d == -1 and free_rank(op, name):
                        continue
                    changed = [*value[:i], wrong, *value[i + 1:]] if several else wrong
                    bad.append(refuse(op, {**arguments, name: changed},
                                           f"{op} {name}{[i] if several else ''} {list(x.shape)} as {list(wrong.shape)}"))
    bad = [b for b in bad if b]
    assert not bad, f"{len(bad)} wrong sizes:\n" + "\n".join(bad)


def free_rank(op, name):
    """Whether a tensor may have any number of dimensions."""
    return name == "x" and op in {"rms_norm", "rms_norm_forward"}
