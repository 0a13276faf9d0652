# bench/codegen/report.py - our PTX compared with Triton's: the same kernels, constants, warps, stages, inputs.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""tessera's PTX compared with Triton's, kernel by kernel, run by the simulator on the same inputs.

Both compilers compile every kernel that the programs of tests/triton launch with the constants of its instances (kernels), and the
tutorials' kernels in usual configurations (tutorials); the results are compared. fla and liger are kernels of flash-linear-attention and
Liger-Kernel, at the versions of scripts/deps.lock, fetched into build/bench/peers: their Python functions launch them. The result has a
record for each kernel and target, with the numbers of both, and a summary for each target. Rows where Triton's code spills more than 256
bytes are listed apart. sm_90 must be correct and free of spills only. "ours" ignores hints that Triton cannot read (swap_ab); "hinted"
are the numbers with them, which no target uses. kernel=TEXT takes only kernels whose name contains the text. flash_attention
counts the main loops of attention, FlashAttention 2 in torch's library included (bench/codegen/flash_attention.py).

source_to_cubin_cpu_ms is the processor time of a compilation, ptxas included, the shorter of two. A new process and a new worker compile ours
each time, Triton's compiler is warm; start_cpu_ms is what a kernel of one line takes each of them at that moment without ptxas (the shorter
of two), and the target subtracts it. The same by the clock is kept where the machine is idle. bank_conflicts are passes over the banks
beyond the fewest that an access of its width takes (docs/simulator.md), loop_bank_conflicts those of the innermost loops with tensor
instructions; shared_passes are all of them. Triton's code for sm_90 has wgmma, which the simulator does not have: there most rows have no
numbers of Triton's, and results are compared with those of its code for sm_80."""
import logging
import os
import sys
import tempfile
import warnings

from codegen import bars, flash_attention, published
from harness import ROOT, commit
from harness.context import simulator_path

SOURCES, TARGETS = ("kernels", "tutorials", "fla", "liger", "flash_attention"), ("sm_80", "sm_90")
PROGRAMS = ("nn", "forward", "backward", "tutorials")  # of tests/triton: codegen/kernel_files.py
OPTIONS = {"sources": ["kernels", "tutorials"], "target": ["sm_80"], "kernel": ""}
QUICK = {"sources": ["tutorials"], "kernel": "softmax"}
left_out = []  # calls of the libraries that ended with an error


def chosen(what, names, known):
    for name in names:
        if name not in known:
            advice = ": sm_90a has no code yet" if name == "sm_90a" else ""
            raise SystemExit("bench: unknown %s %s%s; known: %s" % (what, name, advice, ", ".join(known)))
    return [name for name in known if name in names]


def rows(options):
    """The programs of kernels/, the tutorials, each call of the libraries. Names are known before anything is fetched."""
    options.target = chosen("target", options.target, TARGETS)
    found = {}
    for source in chosen("source", options.sources, SOURCES):
        if source == "kernels":
            found.update({"kernels, " + program: (source, program) for program in PROGRAMS})
        elif source == "tutorials":
            found["tutorials"] = (source, None)
        elif source == "flash_attention":
            found.update({name: (source, row) for name, row in flash_attention.ROWS.items()})
        else:
            from codegen import libraries
            found.update({"%s: %s" % (source, name): (source, call) for name, call in libraries.CALLS[source]})
    return found


class Visit:
    """Measures each launch that is the first of its kind, and lets it run with Triton's code, so that what follows is right."""

    def __init__(self, source, context):
        simulator_path()
        from codegen import kernel_files, measure
        import simulator
        import simulator_launcher as launcher
        self.source, self.context, self.seen = source, context, set()
        self.kernel_files, self.measure, self.simulator, self.launcher = kernel_files, measure, simulator, launcher
        self.commit = commit("codegen", "compiler", "dialect", "kernels", "simulator")

    def add(self, kernel, file, fn, grid, args, constexprs, config, **more):
        """A record for each target, or the one that an interrupted run has."""
        options, torch = self.context.options, self.launcher.torch
        name = fn.fn.__name__
        types = [str(v.dtype).replace("torch.", "") for v in args if isinstance(v, torch.Tensor)]
        key = (kernel, tuple(sorted((k, str(v)) for k, v in constexprs.items())), tuple(config.items()), tuple(types))
        if key in self.seen or options.kernel not in name:
            return
        self.seen.add(key)
        launch = self.measure.Launch(file, name, fn, grid, args, constexprs, config, **more)
        instance = name + "".join(f" {k}={v}" for k, v in sorted(constexprs.items()))
        if self.source != "kernels":
            instance += f" warps={config['num_warps']} stages={config['num_stages']}"
        for target in options.target:
            about = dict(source=self.source, kernel=kernel, instance=instance, dtype="torch." + types[0] if types else "", types=types,
                         target=target, commit=self.commit, **config)
            known = next((record for record in self.context.records if about.items() <= record.items() and "error" not in record["ours"]), None)
            self.context.emit(known or dict(about, **launch.row(target)))

    def run(self, fn, grid, args, constexprs, config):
        try:
            self.simulator.launch_triton(fn, grid, args, constexprs, dict(config, enable_fp_fusion=True))
        except (self.simulator.Finding, self.simulator.SimError):
            pass

    def kernel(self, path, name, grid, args, constexprs, config):
        """A launch of kernels/."""
        if all(grid):
            fn, config = self.launcher.kernel(path, name), config or self.kernel_files.default_options(path, name)
            self.add(f"kernels/{path}:{name}", ROOT / "kernels" / path, fn, tuple(grid), args, constexprs, config)
            self.run(fn, tuple(grid), args, constexprs, config)

    def library(self, libraries, fn, grid, args, constexprs, config):
        name = fn.fn.__name__
        if all(grid):
            for setting in filter(None, (config, libraries.DEEPER.get(name))):
                self.add(f"{fn.fn.__module__}:{name}", published.text_of(fn), fn, grid, args, constexprs, setting,
                         unordered=name in libraries.UNORDERED)
            self.run(fn, grid, args, constexprs, config)


def call_library(visit, call):
    """Runs a call of a library; an error of the library is listed, one of ours is raised."""
    site, why = published.fetch()
    if not site:
        raise RuntimeError("the libraries cannot be fetched: %s" % why)
    if str(site) not in sys.path:
        sys.path.append(str(site))
    warnings.filterwarnings("ignore")  # torch warns when it finds no GPU
    logging.disable(logging.WARNING)   # what else is not installed
    from codegen import libraries
    ours = published.catch(lambda *launch: visit.library(libraries, *launch))
    try:
        call()
    except Exception as error:  # noqa: BLE001 - the library's, of any type
        if ours:
            raise
        left_out.append(f"{visit.source}: {type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}")


def measure(row, context):
    source, what = row
    if source == "flash_attention":
        for record in flash_attention.records(*what):
            context.emit(record)
        return
    with tempfile.TemporaryDirectory(prefix="tessera-codegen-") as empty:  # nothing is found there
        os.environ["TESSERA_CACHE_DIR"] = empty
        visit = Visit(source, context)
        if source == "kernels":
            visit.kernel_files.run_program(what, visit.kernel, context.quick)
        elif source == "tutorials":
            visit.launcher.use("tf32")
            visit.kernel_files.run_tutorials(visit.kernel, context.quick)
        else:
            visit.launcher.use("tf32")
            call_library(visit, what)


def line(record):
    if "failed" in record:
        return "%(name)s: %(failed)s" % record
    if record["source"] == "flash_attention":
        return flash_attention.line(record)
    state = "ok, no numbers of Triton's" if "error" in record["triton"] else "ok"
    if "error" in record["ours"]:
        state = "FAILED " + record["ours"]["error"].splitlines()[-1][:100]
    elif record["differs"] is not None and record["differs"] > 1:
        state = f"DIFFERS: {record['differs']:g} times the limit"
    return f"{record['target']} {bars.short(record)}: {state}"


def summary(records, context):
    """Summary and verdicts of each target; `text` is what people read. Main loops have no verdict."""
    summaries, verdicts = {}, {}
    loops = [flash_attention.line(record) for record in records if record["source"] == "flash_attention"]
    absent = [flash_attention.line(record) for record in records if "left_out" in record]
    records = [record for record in records if record["source"] != "flash_attention"]
    for target in context.options.target:
        summaries[target], verdicts[target] = bars.summary(records, target)
    return dict(targets=context.options.target, summary=summaries, bars=verdicts, left_out=left_out + absent,
                missed=sum(holds is False for found in verdicts.values() for holds in found.values()),
                text=[part for target in context.options.target for part in bars.text(records, target).splitlines()] + loops)
