# bench/cpu/programs.py - programs from start to end: compiling, a launch, a run with busy neighbours, memory, other parts of a step.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import collections
import contextlib
import importlib.util
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from cpu import attention, trained
from harness import alternate

BENCH = pathlib.Path(__file__).resolve().parents[1]
TUTORIALS = {"matmul": "matmul_f32", "softmax": "softmax_f32", "layer_norm": "layer_norm_fwd_f32", "flash_attention": "flash_attention_f32"}


def _compile_ours(context, file, instance):
    """Milliseconds of a new process from a kernel file to a cubin for sm_80, as Triton makes it, ptxas included. The cache is empty."""
    with tempfile.TemporaryDirectory() as out:
        start = time.perf_counter()
        context.start([context.program("tessera"), "compile", file, "-i", instance, "--target", "sm_80", "-o", out],
                      TESSERA_CACHE_DIR=out + "/cache")
        return (time.perf_counter() - start) * 1e3


def _signature(context, file, instance):
    """(types by name as Triton spells them, constexprs) of an instance of a file."""
    with tempfile.TemporaryDirectory() as out:
        context.start([context.program("tessera"), "compile", file, "-i", instance, "--target", "sm_80", "--emit", "meta", "-o", out])
        arguments = json.loads(pathlib.Path(out, instance + ".json").read_text())["arguments"]
    constexprs = {a["name"]: int(a["value"]) for a in arguments if a["value"] is not None}
    return {a["name"]: a["type"].split(":")[0] for a in arguments if a["name"] not in constexprs}, constexprs


def _compile_triton(file, name, signature, constexprs):
    """Milliseconds of a warm Triton from the same file to a cubin for sm_80, its cache empty."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    spec = importlib.util.spec_from_file_location("compiled_" + name, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TRITON_CACHE_DIR"] = cache
        source = ASTSource(getattr(module, name), signature={**signature, **{key: "constexpr" for key in constexprs}}, constexprs=constexprs)
        start = time.perf_counter()
        triton.compile(source, target=GPUTarget("cuda", 80, 32), options={"num_warps": 4, "num_stages": 3})
        return (time.perf_counter() - start) * 1e3


def cold_compile(context):
    """Each compiler's start-up, its time for a kernel of one line, is subtracted."""
    one, rows = BENCH / "codegen/one.py", {}
    _compile_triton(one, "one", {"X": "*fp32"}, {})
    starts = [[_compile_ours(context, one, "one_f32"), _compile_triton(one, "one", {"X": "*fp32"}, {})] for _ in range(5)]
    start = [statistics.median(side) for side in zip(*starts)]
    for name, instance in TUTORIALS.items():
        file = context.root / "kernels/tutorials" / (name + ".py")
        types, constexprs = _signature(context, file, instance)
        kernel = instance.rsplit("_", 1)[0]
        pairs = [[_compile_ours(context, file, instance), _compile_triton(file, kernel, types, constexprs)]
                 for _ in range(max(3, context.rounds // 3))]
        rows[name] = [max(1.0, statistics.median(side) - first) for side, first in zip(zip(*pairs), start)]
    ours, theirs = zip(*rows.values())
    return {"ours": statistics.median(ours), "peer": statistics.median(theirs), "kernels": rows, "start_ms": start}


def launch(context):
    rows = context.bench("launch", "--rounds", "31")["rows"]
    return {"ours": next(row["us"] for row in rows if row["name"] == "prepared launch")}


@contextlib.contextmanager
def neighbours(count):
    """Processes that only compute, one thread each."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    time.sleep(0.5)
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def beside_two(milliseconds):
    """milliseconds(): of one round. Alone and beside two processes, in turns; the share of the speed alone."""
    milliseconds()
    alone, beside = [], []
    for _ in range(3):
        alone.append(milliseconds())
        with neighbours(2):
            beside.append(milliseconds())
    return {"ours": statistics.median(alone) / statistics.median(beside), "alone_ms": alone, "beside_ms": beside}


def quickstart_beside(context):
    def run():
        with tempfile.TemporaryDirectory() as folder:
            _, records = context.train(folder + "/run", "--config", "configs/quickstart.yaml", "train.steps=40", "train.log_every=1",
                                       "train.save_every=0", "train.final_windows=1")
        return statistics.median([record["step_ms"] for record in records if "bpb" in record][5:])
    return beside_two(run)


def nsa_beside(context):
    torch = context.torch
    q, packed, logits = attention.noise(4096)
    cu = torch.tensor([0, 4096], dtype=torch.int32)
    forward = {"nsa": lambda: trained.attend(q, packed, logits, cu)}
    with torch.no_grad():
        return beside_two(lambda: statistics.median(alternate(forward, context.rounds)["nsa"]))


# Not getrusage: a process starts with the most that its parent ever had.
MEMORY = """
import pathlib, sys
sys.path[:0] = [{here!r}]
import torch
from cpu import attention, trained
torch.ops.load_library({library!r})
length = int(sys.argv[1])
torch.manual_seed(0)
q, packed, logits = attention.noise(length)
cu = torch.tensor([0, length], dtype=torch.int32)
inputs = [q, *packed, logits]
for x in inputs:
    x.requires_grad_()
def kibibytes(name):
    return next(int(line.split()[1]) for line in pathlib.Path("/proc/self/status").read_text().splitlines() if line.startswith(name + ":"))
pathlib.Path("/proc/self/clear_refs").write_text("5")  # the most so far becomes what is there now
before = kibibytes("VmRSS")
torch.autograd.grad(trained.attend(q, packed, logits, cu)[0], inputs, torch.randn_like(q))
print((kibibytes("VmHWM") - before) / 1024)
"""


LENGTHS = (4096, 16384)


def memory(context):
    """log(M(16k) / M(4k)) / log 4 of what forward and backward take above their inputs; 1 is linear."""
    text = MEMORY.format(here=str(BENCH), library=str(context.library))
    took = {}
    for length in LENGTHS:
        done = subprocess.run([sys.executable, "-c", text, str(length)], stdout=subprocess.PIPE, text=True, check=True)
        took[length] = float(done.stdout)
    return {"ours": math.log(took[LENGTHS[1]] / took[LENGTHS[0]]) / math.log(LENGTHS[1] / LENGTHS[0]), "mebibytes": took}


PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::matmul", "aten::linear", "aten::_addmm_activation",
            "tessera_internal::product")


def largest_other(trace):
    """(share of the steps' time, name) of the operation with the largest exclusive time, without kernels and products."""
    spans = collections.defaultdict(list)
    for e in trace["traceEvents"]:
        if e.get("ph") == "X":
            spans[e["tid"]].append((e["ts"], -e["dur"], e["name"], e.get("cat")))
    own, whole = collections.Counter(), 0
    for events in spans.values():
        stack = []  # (end, name, category)
        for begin, minus, name, category in sorted(events):
            while stack and stack[-1][0] <= begin:
                stack.pop()
            if stack:
                own[stack[-1][1:]] += minus
            own[name, category] -= minus
            whole += -minus if category == "step" else 0
            stack.append((begin - minus, name, category))
    others = {key: time for key, time in own.items() if key[1] == "operation" and key[0] not in PRODUCTS}
    (name, _), longest = max(others.items(), key=lambda item: item[1])
    return longest / whole, name


def largest_of_step(context):
    with tempfile.TemporaryDirectory() as folder:
        context.train(folder + "/run", "--config", "configs/quickstart.yaml", "train.steps=20", "train.trace_steps=10,15", "train.save_every=0",
                      "train.final_windows=1")
        share, name = largest_other(json.loads(pathlib.Path(folder, "run/trace.json").read_text()))
    return {"ours": share, "what": name}


def measure(name, context):
    return {"cold_compile_median_ms": cold_compile, "launch_host_us": launch, "quickstart_beside_two": quickstart_beside,
            "nsa_fwd_s4096_beside_two": nsa_beside, "nsa_memory_growth": memory, "step_largest_other": largest_of_step}[name](context)
