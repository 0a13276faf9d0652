# bench/layer.py - the launches of one layer's attention for a GPU, as the torch ops make them, for benchmarks that count or predict.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Launches are those of docs/kernels.md at the paper's blocks (l=32 d=16 l'=64 n=16 w=512), bf16, in the configuration that each file has for
a GPU: the first of @triton.autotune, else the tiles of the first hint cpu(...), 4 warps and 3 stages. Tensors are zeros, which take memory
where something is written; what steers a kernel is filled: prefix sums, selected blocks, lists, inverse lists."""
import dataclasses
import functools
import math
import re

import numpy

from harness.context import simulator_path

simulator_path()
import simulator  # noqa: E402
import simulator_launcher as launcher  # noqa: E402
from cases import slices  # noqa: E402
from simulator_launcher import ROOT, pow2, torch  # noqa: E402

launcher.use(compiler="tessera")
# Query heads, key heads, their sizes. A and B: docs/kernels.md; P has the head sizes of the NSA paper.
SHAPES = {"A": (64, 4, 128, 128), "P": (64, 4, 192, 128), "B": (12, 2, 64, 64)}
FIGURES = dict(sectors="global_sectors", lines="l2_lines", tensor="tensor_instructions", warp="warp_instructions", shared="shared_ways")
MACS = 16 * 8 * 16              # multiply-adds of one bf16 tensor instruction of a warp
MACHINE = "no GPU: counters of the simulator, code for sm_80"
L, STRIDE, LSEL, NSEL, WINDOW = 32, 16, 64, 16, 512
INITIAL, LOCAL, CHUNK, SORTED, PROGRAMS, SPAN, PARTS = 1, 2, 512, 128, 216, 256, 8   # as the ops have them
BLOCKS = dict(LSEL=LSEL, NSEL=NSEL)
FORWARD = ["compress_pair_fwd", "cmp_select_fwd", "select_lists", "select_list_fwd", "window_fwd", "gate_fwd"]
BACKWARD = ["gate_bwd_rows", "cmp_bwd_dq", "cmp_bwd_dkdv", "select_list_bwd_dq", "inverse_count", "inverse_prefix", "inverse_fill",
            "select_bwd_dkdv", "branch_bwd_sum", "window_bwd_dq", "window_bwd_dkdv", "compress_pair_bwd_dx"]
ORDERED = ["gate_bwd_rows", "window_bwd_ordered", "cmp_bwd_ordered", "scaled", *BACKWARD[3:9], "compress_pair_bwd_dx"]       # with five products
DENSE = ["dense_fwd", "attn_delta", "dense_bwd_dq", "dense_bwd_dkdv"]
FILES = dict(compress_pair_fwd="nsa/compress_fwd", compress_fwd="nsa/compress_fwd", compress_pair_bwd_dx="nsa/compress_bwd", compress_bwd_dw="nsa/compress_bwd",
             merge_ranges="nsa/ranges", gate_bwd_rows="nsa/gate_bwd", select_bwd_sum="nsa/bwd_sum",
             cmp_bwd_sum="nsa/bwd_sum", branch_bwd_sum="nsa/bwd_sum", dense_fwd="dense/attn_fwd",
             inverse_count="nsa/inverse_index", inverse_prefix="nsa/inverse_index", inverse_fill="nsa/inverse_index",
             dense_bwd_dq="dense/attn_bwd", dense_bwd_dkdv="dense/attn_bwd", window_bwd_dq="nsa/window_bwd",
             window_bwd_dkdv="nsa/window_bwd", dense_bwd_ordered="dense/attn_bwd_ordered", scaled="nn/scaled",
             cmp_bwd_dq="nsa/cmp_bwd", cmp_bwd_dkdv="nsa/cmp_bwd")
STRIDES = dict(b="OC", ko="KOUT", vo="VOUT", g="GATES")         # of arguments s?t and s?h whose letters are no tensor's name


def zeros(*shape, dtype=torch.bfloat16):
    """Pages come where something is written. Begins at a multiple of 256 bytes, as memory of a GPU does."""
    size = math.prod(shape) * dtype.itemsize
    room = numpy.zeros(size + 256, dtype=numpy.uint8)
    return torch.from_numpy(room[-room.ctypes.data % 256:][:size]).view(dtype).view(shape)


def file_of(name):
    return FILES.get(name, "nsa/" + name) + ".py"


def configuration(name):
    """Tiles, warps and stages that a file has for a GPU."""
    launcher.kernel(file_of(name), name)
    found = getattr(launcher._base.loaded[file_of(name)], name)
    if hasattr(found, "configs"):
        first = found.configs[0]
        return dict(first.kwargs), first.num_warps, first.num_stages
    text = (ROOT / "kernels" / file_of(name)).read_text().split(f"\ndef {name}(")[0].rsplit("\ndef ", 1)[-1]
    hint = re.search(r"# tessera: cpu\((.*)\)", text)
    return dict((k, int(v)) for k, v in re.findall(r"(\w+)=(\d+)", hint[1])) if hint else {}, 4, 3


@dataclasses.dataclass
class Launch:
    name: str
    grid: tuple
    args: dict          # by the names of the parameters, in their order
    constexprs: dict
    warps: int
    stages: int

    def count(self, blocks=()):
        """Counters of these blocks, of all without; the simulator's checks are on."""
        file = file_of(self.name)
        return simulator.launch_tessera(ROOT / "kernels" / file, self.name, launcher.kernel(file, self.name), self.grid,
                                        list(self.args.values()), self.constexprs,
                                        dict(num_warps=self.warps, num_stages=self.stages, occupancy=False),
                                        blocks=sorted(blocks))["counters"]

    def leaves(self):
        """(name, value) of the arguments, of tuples one by one: (q.ptr, tensor)."""
        return [leaf for name, x in self.args.items()
                for leaf in ([(f"{name}.{field}", item) for field, item in simulator.fields_of(x)] if isinstance(x, tuple) else [(name, x)])]

    def tensors(self):
        """The tensors by name; that of a tuple q is Q."""
        given = {name.upper() if isinstance(x, tuple) else name: x[0] if isinstance(x, tuple) else x for name, x in self.args.items()}
        return {name: x for name, x in given.items() if isinstance(x, torch.Tensor)}

    def bytes(self):
        return sum(x.numel() * x.element_size() for x in self.tensors().values())


def selection(tokens, what, seed=3, overlap=0.8):
    """int32 [tokens, NSEL] of one head and sequence, ascending, -1 after the last. `random`: blocks are drawn for each token; `local`:
    a share `overlap` of a token's free blocks is selected by the next token, too; `sink`: all tokens select the first blocks. Every
    token selects the first block, the one before its own and its own."""
    generator, out, free = torch.Generator().manual_seed(seed), torch.full((tokens, NSEL), -1, dtype=torch.int32), []
    for t in range(tokens):
        own = t // LSEL
        forced = {b for b in (0, own - 1, own) if b >= 0}
        want = min(NSEL, own + 1) - len(forced)
        if what == "sink" or own < NSEL:
            free = [b for b in range(own + 1) if b not in forced][:want]
        else:
            keep = (torch.rand(len(free), generator=generator) < overlap).tolist() if what == "local" else [False] * len(free)
            free = [b for b, k in zip(free, keep) if k and b not in forced][:want]
            while len(free) < want:
                for b in torch.randint(1, own - 1, (2 * want,), generator=generator).tolist():
                    if b not in free and b not in forced and len(free) < want:
                        free.append(b)
        picked = sorted(forced | set(free))
        out[t, :len(picked)] = torch.tensor(picked, dtype=torch.int32)
    return out


@functools.lru_cache(maxsize=4)
def layer_of(heads, key_heads, dim, vdim, tokens, what, filters=False):
    """A Layer of one sequence with selected blocks of this kind."""
    return Layer(heads, key_heads, dim, vdim, tokens, idx=selection(tokens, what), filters=filters)


class Layer:
    """One layer on `sequences` sequences of `tokens` tokens each. idx: what one key head of one sequence selects; all do the same."""

    def __init__(self, heads, key_heads, dim, vdim, tokens, sequences=1, idx=None, filters=False):
        self.hq, self.hkv, self.dim, self.vdim, self.group = heads, key_heads, dim, vdim, heads // key_heads
        self.length, self.B, self.T, self.filters = tokens, sequences, tokens * sequences, filters
        self.count = (tokens - L) // STRIDE + 1
        self.scale, self.idx, self.programs = dim ** -0.5, idx, PROGRAMS         # of cmp_select_fwd on an A100
        self.head = dict(G=self.group, **slices(dim), E=vdim, EP=pow2(vdim))
        rows, keys = (lambda e: zeros(self.T, heads, e)), (lambda n, e: zeros(n, key_heads, e))
        Tc, fp32, self.nblk = self.count * sequences, torch.float32, self.tiles(LSEL)
        self.Tc, self.parts = Tc, min(-(-tokens // SPAN), PARTS)
        self.of_rows = dict(Q=rows(dim), O=rows(vdim), DO=rows(vdim), DQ=rows(dim), LSE=zeros(self.T, heads, dtype=fp32),
                            DELTA=zeros(self.T, heads, dtype=fp32))
        self.of_keys = dict(K=keys(self.T, dim), V=keys(self.T, vdim), DK=keys(self.T, dim), DV=keys(self.T, vdim))
        self.compressed = dict(K=keys(Tc, dim), V=keys(Tc, vdim), DK=keys(Tc, dim), DV=keys(Tc, vdim))
        prefix = lambda n: torch.arange(sequences + 1, dtype=torch.int32) * n
        self.starts = dict(CU=prefix(tokens), CU_CMP=prefix(self.count))
        if idx is not None:
            self.indices = idx.repeat(sequences, 1).expand(key_heads, self.T, NSEL).contiguous()

    def tiles(self, size, rows=None):
        return (self.T if rows is None else rows) // size + self.B

    def list_rows(self):
        """BM of the kernels that walk lists, by the rule of ops/attention/SelectedBlocks.cpp."""
        few = min(max(min(pow2(4 * self.group), max(32, pow2(2 * self.group))), 16), 64)
        return max(64 if -(-self.length // LSEL) <= 3 * NSEL else few, pow2(self.group))

    def blocks_of_tile(self, tile):
        """Ascending, for the tile of this number."""
        bt = self.list_rows() // self.group
        b = max(i for i in range(self.B) if i * self.length // bt + i <= tile)
        t0 = (tile - b * self.length // bt - b) * bt
        picked = self.idx[t0:min(t0 + bt, self.length)].flatten().unique()
        return picked[picked >= 0]

    @functools.cached_property
    def lists(self):
        """LISTS and COUNTS of all tiles; the bits of the tokens, which steer nothing, are all set."""
        bt = self.list_rows() // self.group
        tiles = self.tiles(bt)
        lists, counts = torch.zeros(self.hkv, tiles, bt * NSEL, dtype=torch.int64), torch.zeros(self.hkv, tiles, dtype=torch.int32)
        for i in range(tiles):
            blocks = self.blocks_of_tile(i)
            lists[:, i, :len(blocks)] = blocks.long() | ((1 << 32) - 1) << 32
            counts[:, i] = len(blocks)
        return dict(LISTS=lists, COUNTS=counts)

    @functools.cached_property
    def inverse(self):
        """PTR and INV of all heads."""
        first = torch.cat([torch.full((self.length, 1), b * self.length // LSEL + b) for b in range(self.B)])
        all_idx = self.idx.repeat(self.B, 1)
        blocks, order = torch.where(all_idx >= 0, all_idx + first, -1).flatten().sort(stable=True)
        order, blocks = order[blocks >= 0] // NSEL % self.length, blocks[blocks >= 0].long()
        ptr = torch.cat([torch.zeros(1), torch.bincount(blocks, minlength=self.nblk).cumsum(0)]).to(torch.int32)
        inv = torch.zeros(self.T * NSEL, dtype=torch.int32)
        inv[:len(order)] = order.to(torch.int32)
        return dict(PTR=ptr.repeat(self.hkv, 1), INV=inv.repeat(self.hkv, 1))

    @functools.cached_property
    def chunk_sizes(self):
        """Tokens of each program's chunk of an inverse list as find_tile numbers them by PTR; 0: the program returns at once."""
        out, ptr = [], self.inverse["PTR"][0].tolist()
        for first, end in zip(ptr, ptr[1:]):
            out += [max(0, min(end - first - i * CHUNK, CHUNK)) for i in range(1 + end // CHUNK - first // CHUNK)]
        return out + [0] * (self.T * NSEL // CHUNK + self.nblk - len(out))

    def launch(self, name, config=None):
        """The launch of a kernel; config: (tiles, warps, stages), else those of its file."""
        tensors, constexprs, grid = getattr(self, "_" + name.split("_")[0])(name)
        tiles, warps, stages = config or configuration(name)
        constexprs = {**tiles, **self.wide_tiles(name), **constexprs, **(tiles if config else {})}
        fn, args = launcher.kernel(file_of(name), name), {}
        scalars = dict(scale=self.scale, factor=self.scale, n=self.T * self.hq * self.dim,
                       nseq=self.B, T=self.T, nscore=0, ahead=0, inv_tau=1.0, nblk=self.nblk,
                       plane=-(-self.T * self.hq // 16) * 16, blocks=-(-self.length // LSEL),
                       tiles=self.query_tiles if "ordered" in name else self.tiles(SORTED),
                       chunks=self.T * NSEL // CHUNK + self.nblk, parts=self.parts)
        optional = {p.name for p in fn.params if p.is_constexpr and p.has_default}
        for parameter in fn.arg_names:
            if parameter in constexprs or parameter in optional:
                continue
            value = tensors.get(parameter, scalars.get(parameter))
            if value is None and parameter.upper() in tensors:  # a tuple of a tensor and its strides
                of = tensors[parameter.upper()]
                value = fn.fn.__annotations__[parameter](of, of.stride(0), of.stride(1))
            if value is None:                    # a stride
                letters, axis = parameter[1:-1], "th".index(parameter[-1])
                of = next(x for x in (STRIDES.get(letters, letters.upper()), "LOGITS", "DLOGITS", "DOUT") if x in tensors)
                value = tensors[of].stride(axis)
            args[parameter] = value
        wanted = [p.name for p in fn.params if p.is_constexpr]
        constexprs = {k: int(v) for k, v in constexprs.items() if k in wanted}
        return Launch(name, tuple(grid(constexprs)), args, constexprs, warps, stages)

    def wide_tiles(self, name):
        """As wideTiles of ops/attention/Attention.cpp."""
        few = 16 % self.group == 0
        if self.dim <= 128 or name not in ("cmp_bwd_dq", "window_bwd_dq", "cmp_bwd_dkdv", "window_bwd_dkdv", "select_bwd_dkdv"):
            return {}
        return dict(zip(("BM", "BN"), (64, 64) if name.endswith("dq") else (16, 64) if few else (64, 32)))

    def fills_ordered(self, keys, parts=1):
        """As fillsOrderedBackward of ops/Estimates.h, for heads that its kernels take."""
        return self.hkv * -(-keys // 128) * parts >= 216 and self.dim == pow2(self.dim) <= 128 and self.vdim <= 128

    @property
    def backward(self):
        """The launches of the backward pass."""
        return ORDERED if self.fills_ordered(self.T) and self.fills_ordered(self.Tc, self.parts) else BACKWARD

    @property
    def dense_backward(self):
        """The launches of the backward pass of dense attention."""
        return ["attn_delta", "dense_bwd_ordered", "scaled"] if self.fills_ordered(self.T) else DENSE[1:]

    @property
    def query_tiles(self):
        """Counters of each key head (ops/attention/OrderedBackward.cpp)."""
        return self.tiles(max(32 // self.group, 1))

    def rows_grid(self, c):
        return self.tiles(c["BM"] // self.group), self.hkv

    def attention(self, name, keys, rows, more=None, constexprs=None, grid=None):
        """A forward, dq, or dk and dv over keys; `rows`: tiles of a kernel by keys have these."""
        tensors = {**self.of_rows, **keys, **self.starts, **(more or {})}
        if name.endswith("ordered"):             # dq is a sum in fp32; no sampled block waits for others
            added = torch.full((self.hkv * self.query_tiles,), 1 << 30, dtype=torch.int32)
            tensors.update(DQ=zeros(self.T, self.hq, self.dim, dtype=torch.float32), TICKET=zeros(4, dtype=torch.int32), ADDED=added)
        if grid is None:
            grid = (lambda c: (self.hkv, self.tiles(c["BN"], rows))) if name.endswith(("dkdv", "ordered")) else self.rows_grid
        first = name == "cmp_bwd_dq"             # the other branches add to what it left
        return tensors, {**self.head, "ACCUMULATE": int(not first), "ADD": int(name.startswith("cmp")), **(constexprs or {})}, grid

    def _dense(self, name):
        return self.attention(name, self.of_keys, self.T)

    def _window(self, name):
        return self.attention(name, self.of_keys, self.T, constexprs=dict(W=WINDOW))

    def _cmp(self, name):
        shape = dict(L=L, STRIDE=STRIDE)
        if name in ("cmp_bwd_dkdv", "cmp_bwd_ordered"):
            return self.attention(name, self.compressed, self.Tc, dict(PART=self.compressed_parts()), dict(**shape, SPAN=SPAN),
                                  lambda c: (self.hkv, self.tiles(c["BN"], self.Tc) * self.parts))
        if name != "cmp_select_fwd":
            return self.attention(name, self.compressed, self.Tc, constexprs=shape)
        programs = lambda c: (min(-(-self.programs // self.hkv), self.tiles(c["BM"] // self.group)), self.hkv)
        c = configuration(name)[0]
        room = ((1 if c["MERGE"] else 2) * c["BJ"] + 1) * c["BM"] + pow2(c["BM"] // self.group) * c["BJ"]
        sums = zeros(self.hkv, programs(c)[0], -(-(-(-self.length // LSEL)) // c["BJ"]), room, dtype=torch.float32)
        return self.attention(name, self.compressed, self.Tc, dict(IDX=zeros(self.hkv, self.T, NSEL, dtype=torch.int32), SUMS=sums,
                              SCORES=zeros(4, dtype=torch.float32)), dict(**shape, **self.selecting()), programs)

    def compressed_parts(self):
        return zeros(self.Tc, self.hkv, self.parts, self.dim + self.vdim, dtype=torch.float32)

    def _branch(self, name):
        tensors, constexprs, _ = self._select(name)
        small = dict(CPART=self.compressed_parts(), CDK=self.compressed["DK"], CDV=self.compressed["DV"])
        return dict(**tensors, **small), dict(constexprs, SPAN=SPAN), lambda c: (
            self.hkv, self.nblk * -(-LSEL // c["BR"]) + self.tiles(c["BR"], self.Tc))

    def selecting(self):
        return dict(**BLOCKS, NP=NSEL, NINIT=INITIAL, NLOCAL=LOCAL, STORE=0)

    def _score(self, name):
        heads = self.group & -self.group
        return self.attention(name, self.compressed, self.Tc, dict(IDX=zeros(self.hkv, self.T, NSEL, dtype=torch.int32),
                              SCORES=zeros(4, dtype=torch.float32)), dict(L=L, STRIDE=STRIDE, GB=heads, **self.selecting()),
                              lambda c: (self.tiles(c["BM"] // heads), self.hkv))

    def _select(self, name):
        if name == "select_lists":
            bt = self.list_rows() // self.group
            return dict(IDX=self.indices, **self.lists, **self.starts), dict(**BLOCKS, NP=NSEL, BT=bt, BTP=pow2(bt)), \
                lambda c: (self.tiles(bt), self.hkv)
        if name in ("select_fwd", "select_bwd_dq"):
            return self.attention(name, self.of_keys, self.T, dict(IDX=self.indices), dict(**BLOCKS, GP=pow2(self.group)),
                                  lambda c: (self.tiles(1), self.hkv))
        if name.startswith("select_list"):
            return self.attention(name, self.of_keys, self.T, self.lists, dict(**BLOCKS, BM=self.list_rows()))
        chunks = self.T * NSEL // CHUNK + self.nblk
        more = dict(**self.inverse, PART=zeros(self.hkv, chunks, LSEL, self.dim + self.vdim, dtype=torch.float32))
        blocks = dict(**BLOCKS, CHUNK=CHUNK)
        if name.endswith("_sum"):
            blocks["DP"] = pow2(self.dim)
            return self.attention(name, self.of_keys, self.T, more, blocks, lambda c: (self.hkv, self.nblk * -(-LSEL // c["BR"])))
        return self.attention(name, self.of_keys, self.T, more, blocks, lambda c: (self.hkv, chunks * -(-LSEL // c["BN"])))

    def _inverse(self, name):
        tiles = self.tiles(SORTED)
        counts = lambda: zeros(self.hkv, tiles, self.nblk, dtype=torch.int32)
        grid = (lambda c: (-(-(self.nblk + 1) // c["BC"]), self.hkv)) if name == "inverse_prefix" else lambda c: (tiles, self.hkv)
        return dict(IDX=self.indices, TILES=counts(), STARTS=counts(), CU=self.starts["CU"], **self.inverse), \
            dict(**BLOCKS, NP=NSEL, BT=SORTED), grid

    def _merge(self, name):
        return dict(IDX=self.indices, RANGES=zeros(self.hkv, self.T, NSEL, 2, dtype=torch.int32), CU=self.starts["CU"]), BLOCKS, \
            lambda c: (self.tiles(c["BT"]), self.hkv)

    def _scaled(self, name):
        """dq of its sum in fp32."""
        sums = zeros(self.T, self.hq, self.dim, dtype=torch.float32)
        return dict(X=sums, Y=self.of_rows["DQ"]), {}, lambda c: (-(-sums.numel() // c["BC"]), 1)

    def _attn(self, name):
        return self.of_rows, self.head, lambda c: (-(-self.T // c["BT"]), self.hq)

    def _gate(self, name):
        fp32 = dict(dtype=torch.float32)
        branches = {"O" + x: zeros(self.T, self.hq, self.vdim) for x in "CSW"}
        tensors = dict(**branches, GATES=zeros(self.T, self.hkv, 3, **fp32))
        if name == "gate_fwd":
            tensors.update(LOGITS=zeros(self.T, self.hkv, 3), O=self.of_rows["O"])
        else:
            plane = -(-self.T * self.hq // 16) * 16
            tensors.update({"L" + x: zeros(self.T, self.hq, **fp32) for x in "CSW"}, DO=self.of_rows["DO"],
                           DLOGITS=zeros(self.T, self.hkv, 3), LSE=zeros(3 * plane, **fp32), DELTA=zeros(3 * plane, **fp32))
        return tensors, dict(**self.head, SOFTMAX=1), lambda c: (-(-self.T // c["BT"]), self.hkv)

    def _compress(self, name):
        """With filters a convolution, else the mean, which reads none."""
        k, v, small = self.of_keys["K"], self.of_keys["V"], self.compressed
        filters = [zeros(L, n) if self.filters else x for n, x in ((self.dim, k), (self.vdim, v))]
        constexprs = dict(L=L, STRIDE=STRIDE, D=self.dim, DP=pow2(self.dim), E=self.vdim, EP=pow2(self.vdim), KCONV=int(self.filters),
                          VCONV=int(self.filters), CONV=int(self.filters))
        tensors = dict(K=k, V=v, WK=filters[0], WV=filters[1], KOUT=small["K"], VOUT=small["V"], DK=self.of_keys["DK"],
                       DV=self.of_keys["DV"], X=k, W=filters[0], OUT=small["K"], DOUT=small["K"], **self.starts)
        if name == "compress_bwd_dw":
            programs = lambda c: (self.tiles(c["BC"], self.Tc), self.hkv)
            tensors["PART"] = zeros(programs(configuration(name)[0])[0] * self.hkv, L * self.dim, dtype=torch.float32)
            return tensors, constexprs, programs
        size, rows = ("BC", self.Tc) if name.endswith("fwd") else ("BT", self.T)
        return tensors, constexprs, lambda c: (self.tiles(c[size], rows), (2 if "pair" in name else 1) * self.hkv)
