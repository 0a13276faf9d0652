# tools/gpucheck/record.py - records a launch of every instance of kernels/ with the results of Triton's interpreter.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""record.py --out FOLDER [--full] [--smallest] [--only NAME]

The tests of tests/triton run on shapes with the constants of the `# tessera: instance` comments, under Triton's
interpreter: no line of this compiler takes part, and the programs compare every result with fp64 formulas. Each instance
becomes a case (docs/cases.md), launched with the warps and stages of its decorator. Two more shapes bring fp16 and strides
that are no multiples of 16. --full also keeps what the programs launch with other tiles. --smallest: the instances named
quick alone, of 23 tokens (tests/gpucheck/record_test.py). PROGRAM names the tessera binary, which lists the instances. Exit
status 1 when an instance was not recorded or a result is wrong, 77 without torch or Triton."""
import argparse
import dataclasses
import importlib
import json
import pathlib
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "triton"), str(ROOT / "tests" / "replay")]

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--out", required=True, help="folder that gets the cases")
parser.add_argument("--full", action="store_true", help="also launches with tiles that no instance has")
parser.add_argument("--smallest", action="store_true", help="only the instances named quick, of 23 tokens")
parser.add_argument("--only", default="", help="kernels whose name contains this")
options = parser.parse_args()
sys.argv = sys.argv[:1]

import launcher  # noqa: E402 (sets TRITON_INTERPRET)
import record_from_triton as recorder  # noqa: E402
from counting import Counter  # noqa: E402
from launcher import cdiv, fresh, pow2, torch  # noqa: E402
from instances import instances_of, is_type  # noqa: E402

launcher.LIMITS[torch.bfloat16] = 5e-3
# Constexpr of the tile size that divides the first dimension of the grid.
GRID_TILES = dict(gate_fwd="BT", gate_bwd="BT", gate_bwd_rows="BT", attn_delta="BT", reduce_rows="BC")
# The same for tiles that find_tile numbers over all sequences, and the argument with the sequences' offsets.
SEQUENCE_TILES = dict(compress_fwd=("BC", "CU_CMP"), compress_bwd_dx=("BT", "CU"), compress_bwd_dw=("BC", "CU_CMP"),
                      compress_pair_fwd=("BC", "CU_CMP"), compress_pair_bwd_dx=("BT", "CU"), merge_ranges=("BT", "CU"))
# Instances and programs may use different values of these.
TILES = {"BT", "BC", "BJ", "BK", "WALK", "MERGE", "ACCUMULATE", "ADD", "SPAN", "STREAM", "SHARE", "HIDDEN", "SUB"}
UNSPECIALIZED = {"cmp_select_fwd": ("nscore", "ahead"), "linear_loss_fwd": ("span",)}  # 0 and 256 here; compiled for any number
ROW_TILES = {"score_select": "GB"}  # tiles of BM rows, of which a token has this many; instances may use other values
UNORDERED_SUMS = {"layer_norm_bwd_dx"}  # atomic additions: results differ from run to run

recorded, missing, wrong = {}, {}, []
scratch = tempfile.TemporaryDirectory(prefix="tessera-record-")
begin = time.time()
counter = Counter()


def launches_of(path):
    """{kernel: {instance: (types, constexprs)}} of a kernel file."""
    return {kernel: {name: ({k: v for k, v in arguments.items() if is_type(v)},
                            {k: v for k, v in arguments.items() if not is_type(v)})
                     for name, arguments in instances.items()}
            for kernel, instances in instances_of(path).items()}


INSTANCES = {str(path.relative_to(ROOT / "kernels")): launches_of(path)
             for path in sorted((ROOT / "kernels").rglob("*.py"))}


def type_of(value):
    """As in a signature: *fp32:16, i32."""
    if isinstance(value, torch.Tensor):
        return f"*{recorder.DTYPES[value.dtype][0]}:16"
    if isinstance(value, float):
        return "fp32"
    return "i32:16" if value % 16 == 0 else "i32"


def values_of(path, name, args):
    """The arguments by name, those in tuples as `q.ptr`."""
    return {leaf: value for parameter, given in zip(launcher.kernel(path, name).arg_names, args)
            for leaf, value, _ in recorder.leaves(parameter, given, None)}


def instance_for(path, name, types, constexprs, values):
    """An instance that was not recorded yet and differs by its tiles at most: (its name, its constexprs)."""
    for instance, (wanted, constants) in INSTANCES[path].get(name, {}).items():
        given = {**values, **constexprs}         # an instance may require a stride of 1
        other = {k: given.get(k) for k, v in constants.items()
                 if given.get(k) != v and k not in TILES and (k != "BM" or name not in ROW_TILES)}
        same = not other
        if len(other) <= 2 and instance not in recorded and other:
            missing[instance] = f"launched with {other}, not {dict((k, constants[k]) for k in other)}"
        typed = [t for k, t in zip(values, types) if k not in constants]
        if same and instance not in recorded and [t for t in typed if t[0] == "*"] == [
                t for t in wanted.values() if t[0] == "*"]:
            if typed != list(wanted.values()):
                missing[instance] = f"launched as {typed}, not {list(wanted.values())}"
                continue
            return instance, {k: v for k, v in constants.items() if k not in values}
    return None, None


def grid_with(path, name, grid, args, old, new):
    """The grid with the constexprs `new` instead of `old`."""
    if name == "rope":
        return (grid[0], cdiv(grid[1] * old["BT"], new["BT"]), *grid[2:])
    return (first_dimension(path, name, grid, args, old, new), *grid[1:])


def first_dimension(path, name, grid, args, old, new):
    """Its first number."""
    if name in SEQUENCE_TILES:
        tile, prefix = SEQUENCE_TILES[name]
        starts = args[launcher.kernel(path, name).arg_names.index(prefix)]
        return int(starts[-1]) // new[tile] + len(starts) - 1
    if name in ROW_TILES:
        starts = args[launcher.kernel(path, name).arg_names.index("CU")]
        return int(starts[-1]) // (new["BM"] // new[ROW_TILES[name]]) + len(starts) - 1
    tile = GRID_TILES.get(name)
    return cdiv(grid[0] * old[tile], new[tile]) if tile else grid[0]


def copy_of(args):
    made = {}
    for value in [item for given in args for item in (given if isinstance(given, tuple) else (given,))]:
        if isinstance(value, torch.Tensor) and value.untyped_storage().data_ptr() not in made:
            made[value.untyped_storage().data_ptr()] = value.untyped_storage().clone()
    copy = lambda x: torch.empty(0, dtype=x.dtype).set_(made[x.untyped_storage().data_ptr()], x.storage_offset(), x.shape,
                                                        x.stride())
    take = lambda x: copy(x) if isinstance(x, torch.Tensor) else type(x)(*map(take, x)) if isinstance(x, tuple) else x
    return [take(x) for x in args]


def default_options(path, name):
    """num_warps and num_stages of the decorator's first Config."""
    found = getattr(launcher.loaded[path], name)
    while type(found).__name__ in ("Autotuner", "Heuristics"):
        if type(found).__name__ == "Autotuner":
            return dict(num_warps=found.configs[0].num_warps, num_stages=found.configs[0].num_stages)
        found = found.fn
    return dict(num_warps=4, num_stages=3)


def keep(case, path, name, grid, args, constexprs):
    fn = launcher.kernel(path, name)
    compare = {}
    if name in UNORDERED_SUMS:
        compare = {"nondeterministic": True}
    counter.clear()
    folder = pathlib.Path(options.out) / case
    done = recorder.record(folder, fn, grid, *args, **default_options(path, name), **constexprs)
    done["work"] = dict(counter.work(), **compare)
    (folder / "case.json").write_text(json.dumps(done, indent=1) + "\n")
    recorded[case] = path
    missing.pop(case, None)
    print(f"[{len(recorded):3d}] {time.time() - begin:4.0f} s  {case}", flush=True)


shape_tag = [""]


def launch(path, name, grid, *args, **constexprs):
    if not all(grid):
        return
    wanted = options.only in name
    original = args
    if name == "score_select" and not constexprs["STORE"]:
        args = [*args[:10], 3, *args[11:]]  # unused without scores; 0 would be a multiple of 16, which instances do not require
    values = values_of(path, name, args)
    types = [type_of(value) if leaf not in UNSPECIALIZED.get(name, ()) else "i32" for leaf, value in values.items()]
    instance, constants = instance_for(path, name, types, constexprs, values) if wanted else (None, None)
    if instance:
        new = dict(constexprs, **constants)
        keep(instance, path, name, grid_with(path, name, grid, args, constexprs, new), copy_of(args), new)
    other = f"{name}_{shape_tag[0]}"
    keeps = options.full or shape_tag[0] in ("f16", "odd")
    if wanted and keeps and shape_tag[0]:
        number, case = 1, other
        while case in recorded:
            number += 1
            case = f"{other}_{number}"
        if number == 1 or options.full:
            keep(case, path, name, grid, original, constexprs)
            return
    launcher.kernel(path, name)[tuple(grid)](*original, **constexprs)


def attention_tests(tag, shape):
    shape_tag[0] = tag
    for name in ("forward", "backward", "gated"):
        try:
            getattr(importlib.import_module(f"{name}_test"), name)(shape)
        except AssertionError as error:
            wrong.append(f"{name}: {error}")


def run_attention():
    import cases
    plain = cases.Problem.__init__

    def packed(self, shape, seed=0):
        plain(self, shape, seed)
        if shape_tag[0] != "odd":
            self.k = [x.contiguous() for x in self.k]  # strides of an instance are multiples of 16

    cases.Problem.__init__ = packed
    half = torch.float16
    shapes = dict(
        quick=cases.Shape([77, 40], hkv=1, group=3, dim=32, vdim=32, l=16, d=8, lsel=32, n=6, w=64, bm=64, bn=32),
        d64=cases.Shape([150], hkv=1, group=4, dim=64, vdim=64, l=32, d=16, lsel=64, n=16, w=512, bm=64, bn=64),
        paper=cases.Shape([70], hkv=1, group=16, dim=192, vdim=128, l=32, d=16, lsel=64, n=16, w=512, bm=64, bn=64,
                          dtype=torch.bfloat16),
        narrow=cases.Shape([9], hkv=1, group=4, dim=64, vdim=64, l=32, d=16, lsel=64, n=16, w=512, bm=64, bn=32),  # dense_bwd's tiles
        f16=cases.Shape([75, 7], group=2, dim=32, vdim=48, dtype=half, bm=32),
        odd=cases.Shape([33], group=1, dim=48, vdim=16, n=3))
    if options.smallest:
        shapes = dict(quick=dataclasses.replace(shapes["quick"], lens=[19, 4]), narrow=shapes["narrow"])
    for tag, shape in shapes.items():
        attention_tests(tag, shape)


def run_others():
    """What the programs above do not launch with the constants of an instance."""
    from cases import strides
    import reference as ref
    shape_tag[0] = ""
    gen = torch.Generator().manual_seed(7)
    rand = lambda *dims, dtype=torch.float32: torch.randn(*dims, generator=gen).to(dtype)
    for dim, dtype in ((192, torch.float32), (768, torch.float32), (2560, torch.bfloat16)):
        rows, br, steps, shape = 67, 4, 16, dict(D=dim, DP=pow2(dim), BR=4)
        x, w, dy = rand(rows, dim, dtype=dtype), rand(dim, dtype=dtype), rand(rows, dim, dtype=dtype)
        y, rstd, dx = fresh(rows, dim, dtype=dtype), fresh(rows), fresh(rows, dim, dtype=dtype)
        launch("nn/rmsnorm_fwd.py", "rmsnorm_fwd", (cdiv(rows, br),), x, w, y, rstd, rows, 1e-6, dim, dim, **shape)
        grid = (cdiv(rows, br * steps),)
        part = fresh(grid[0], dim)
        launch("nn/rmsnorm_bwd.py", "rmsnorm_bwd", grid, dy, x, w, rstd, dx, part, rows, dim, dim, dim, **shape, STEPS=steps)
        z, r = fresh(rows, dim, dtype=dtype), rand(rows, dim, dtype=dtype)
        launch("nn/residual_norm.py", "residual_norm_fwd", (cdiv(rows, br),), x, r, w, z, y, rstd, rows, 1e-6, dim, dim, dim, **shape)
        launch("nn/residual_norm.py", "residual_norm_bwd", grid, dy, r, z, w, rstd, dx, part, rows, dim, dim, dim, dim, **shape,
               STEPS=steps)
    for dim, bk, bn, dtype in ((192, 64, 64, torch.float32), (768, 32, 64, torch.float32), (2560, 64, 128, torch.bfloat16)):
        rows, vocabulary, span, shape = 70, 300, 256, dict(D=dim, BK=bk, BM=64, BN=bn)
        h, w, targets = rand(rows, dim, dtype=dtype), rand(vocabulary, dim, dtype=dtype) / 50, torch.arange(rows) * 3
        state, lse, loss, dl = fresh(3, 2, rows), fresh(rows), fresh(rows), fresh(rows, 304, dtype=dtype)
        launch("nn/linear_loss.py", "linear_loss_fwd", (2, 2), h, w, targets, state, rows, vocabulary, span, dim, dim, **shape)
        launch("nn/linear_loss.py", "linear_loss_sum", (1,), state, targets, lse, loss, rows, vocabulary, 2, -100, BC=256)
        launch("nn/linear_loss.py", "linear_loss_bwd", (2 * cdiv(vocabulary, bn),), h, w, targets, lse, loss, dl, rows, vocabulary, -100,
               dim, dim, 304, **shape)
    for bc, dtype in ((2048, torch.float32), (4096, torch.bfloat16)):
        rows, vocabulary, targets = 3, 4200, torch.tensor([4199, -100, 7])
        logits, lse, loss = rand(rows, 4208, dtype=dtype), fresh(rows), fresh(rows)
        launch("nn/logits_loss.py", "logits_loss_fwd", (rows,), logits, targets, lse, loss, rows, vocabulary, -100, 4208, BR=1, BC=bc)
        launch("nn/logits_loss.py", "logits_loss_bwd", (rows,), logits, targets, lse, loss, rows, vocabulary, -100, 4208, BR=1, BC=bc)
    for kind, dtype in ((0, torch.float32), (0, torch.bfloat16), (2, torch.bfloat16)):
        n, gated = 5003, kind == 2
        x, g, dy = (rand(n, dtype=dtype) for _ in range(3))
        y, dx, dg = (fresh(n, dtype=dtype) for _ in range(3))
        launch("nn/activation.py", "activation_fwd", (cdiv(n, 1024),), x, g if gated else x, y, n, KIND=kind, BC=1024)
        launch("nn/activation.py", "activation_bwd", (cdiv(n, 1024),), dy, x, g if gated else x, dx, dg if gated else dx, n,
               KIND=kind, BC=1024)
    for dtype in (torch.float32, torch.bfloat16):
        x, y = rand(5003), fresh(5003, dtype=dtype)
        launch("nn/scaled.py", "scaled", (cdiv(5003, 1024),), x, y, 0.3, 5003, BC=1024)
    part, out = rand(37, 1003), fresh(1003)
    launch("nn/reduce_rows.py", "reduce_rows", (cdiv(1003, 256),), part, out, 37, 1003, BC=256)
    for dim, dtype in ((32, torch.float32), (64, torch.float32), (192, torch.bfloat16)):
        lens, heads, pos0 = [70, 0, 31], 3, 5
        angle = torch.arange(pos0 + 70).double()[:, None] * 10000.0 ** (-torch.arange(0, dim, 2).double() / dim)
        x, y = rand(101, heads, dim, dtype=dtype), fresh(101, heads, dim, dtype=dtype)
        launch("nn/rope.py", "rope", (heads, cdiv(70, 32), 3), x, y, angle.cos().float(), angle.sin().float(), ref.prefix(lens),
               pos0, *strides(x, y), D=dim, R=dim, RH=pow2(dim // 2), RT=1, INVERSE=0, BT=32)
    run_decode(rand, gen)
    import selected_launches  # after the launches are recorded: it imports programs that launch
    selected_launches.run(launch, rand, gen, options.smallest)
    run_tutorials(rand, strides, ref)


def run_decode(rand, gen):
    """One token of two sequences over a cache of 784 tokens."""
    from cases import slices
    for group, dim, vdim, lsel, n, dtype in ((3, 32, 32, 0, 0, torch.float32), (4, 64, 64, 64, 16, torch.float32), (16, 192, 128, 64, 16, torch.bfloat16)):
        q, k, v = (rand(2, *shape, dtype=dtype) for shape in ((2 * group, dim), (2, 784, dim), (2, 784, vdim)))
        blocks = torch.stack([torch.randperm(13, generator=gen)[:max(n, 1)] for _ in range(4)]).to(torch.int32)
        idx = torch.nn.functional.pad(blocks, (0, max(0, n - 13)), value=-1)
        first, last, steps = 3, 777, 5
        splits = cdiv(n if lsel else cdiv(last - first, 64), steps)
        part, state, o, lse = fresh(2, 2, splits, group, vdim), fresh(2, 2, splits, 2, group), fresh(2, 2 * group, vdim, dtype=dtype), fresh(2, 2 * group)
        common = dict(G=group, GP=pow2(group), E=vdim, EP=pow2(vdim))
        launch("nsa/decode.py", "decode_split", (splits, 2, 2), q, k, v, idx, part, state, dim ** -0.5, first, last, steps, *q.stride()[:2],
               *k.stride()[:3], *v.stride()[:3], LSEL=lsel, NSEL=n, **slices(dim), BN=64, **common)
        launch("nsa/decode.py", "decode_combine", (2, 2), part, state, o, lse, splits, *o.stride()[:2], **common)


def run_tutorials(rand, strides, ref):
    for dtype, leaky in ((torch.float16, 1), (torch.float32, 0)):
        m, n, k = 208, 128, 144
        a, b, c = rand(m, 160, dtype=dtype)[:, :k], rand(k, 144, dtype=dtype)[:, :n], fresh(m, 144, dtype=dtype)[:, :n]
        launch("tutorials/matmul.py", "matmul", (cdiv(m, 64) * cdiv(n, 64),), a, b, c, m, n, k, 160, 144, 144, BM=64, BN=64,
               BK=32, ROWS=4, LEAKY=leaky)
        heads, tokens, dim = 2, 141, 64
        q, k, v = (rand(heads, tokens, dim, dtype=dtype) for _ in range(3))
        o, lse = fresh(heads, tokens, dim, dtype=dtype), fresh(heads, tokens)
        launch("tutorials/flash_attention.py", "flash_attention", (cdiv(tokens, 64), heads), q, k, v, o, lse, dim ** -0.5,
               tokens * dim, dim, tokens, D=dim, BM=64, BN=32, CAUSAL=leaky)
    x, y = rand(13, 1001), fresh(13, 1001)
    launch("tutorials/softmax.py", "softmax", (5,), x, y, 13, 1001, 1001, 1001, BLOCK=1024)
    rows, n = 19, 411
    x, w, b, dy = rand(rows, n), rand(n), rand(n), rand(rows, n)
    y, mean, rstd, dx = fresh(rows, n), fresh(rows), fresh(rows), fresh(rows, n)
    launch("tutorials/layer_norm.py", "layer_norm_fwd", (rows,), x, w, b, y, mean, rstd, n, n, 1e-5, BLOCK=128)
    mean, rstd = x.mean(1), 1 / (x.var(1, unbiased=False) + 1e-5).sqrt()
    launch("tutorials/layer_norm.py", "layer_norm_bwd_dx", (rows,), dx, dy, x, w, mean, rstd, torch.zeros(n), torch.zeros(n), n,
           n, BLOCK=512)
    file, scale = "tutorials/dilated_window.py", 0.2
    for group, window, step, dim, vdim, bm, bn, dtype in ((3, 7, 3, 32, 32, 64, 32, torch.float32),
                                                          (1, 25, 2, 48, 16, 32, 16, torch.float32),
                                                          (4, 16, 4, 64, 64, 64, 64, torch.bfloat16)):
        lens, h = [1, 0, 93], 2
        tokens, rows = sum(lens), (cdiv(93 * group, bm), h, 3)
        q, k, v = (rand(tokens, n, d, dtype=dtype) for n, d in ((h * group, dim), (h, dim), (h, vdim)))
        do = rand(tokens, h * group, vdim, dtype=dtype)
        o, lse = fresh(tokens, h * group, vdim, dtype=dtype), fresh(h * group, tokens)
        sizes = dict(G=group, W=window, STEP=step, D=dim, DP=pow2(dim), E=vdim, EP=pow2(vdim), BM=bm, BN=bn)
        cu = ref.prefix(lens)
        launch(file, "dilated_window", rows, q, k, v, o, lse, cu, scale, tokens, *strides(q, k, v, o), **sizes)
        if (dim, group) != (32, 3):
            continue
        delta = (o * do).sum(-1).T.contiguous()
        dq, dk, dv = fresh(*q.shape), fresh(*k.shape), fresh(*v.shape)
        launch(file, "dilated_window_bwd_dq", rows, q, k, v, do, lse, delta, dq, cu, scale, tokens, *strides(q, k, v, do, dq),
               **sizes)
        launch(file, "dilated_window_bwd_dkdv", (cdiv(93, bn), h, 3), q, k, v, do, lse, delta, dk, dv, cu, scale, tokens,
               *strides(q, k, v, do, dk, dv), **sizes)


def main():
    recorder.mend_interpreter()
    counter.install()
    launcher.launch = launch
    run_attention()
    run_others()
    for kernels in INSTANCES.values():
        for kernel, given in kernels.items():
            for instance in given:
                if instance not in recorded and options.only in kernel:
                    missing.setdefault(instance, "no program launches it")
                if options.smallest and "quick" not in instance:
                    missing.pop(instance, None)
    for line in wrong:
        print("WRONG", line)
    for instance, why in missing.items():
        print(f"NOT RECORDED {instance}: {why}")
    print(f"{len(recorded)} cases, {len(missing)} instances missing, {len(wrong)} wrong results, "
          f"{time.time() - begin:.0f} s")
    sys.exit(1 if missing or wrong else 0)


main()
