# bench/codegen/report.py - our PTX next to Triton's: the same kernels, constants, warps, stages, inputs.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Every kernel that the programs of tests/triton launch with the constants of its instances (kernel_files), and the tutorials' kernels
in usual configurations (tutorials), are compiled by both compilers and run by the simulator on the same inputs; the results are
compared. fla and liger are kernels of flash-linear-attention and Liger-Kernel, at the versions of scripts/deps.lock, fetched into
build/bench/peers: their own Python functions launch them. The JSON has a row for each kernel and target, with the figures of both,
and a summary for each target. Exits with 1 when a bar is missed; rows
where Triton's code spills more than 256 bytes are listed apart. sm_90 is held to being correct and free of
spills only. "ours" ignores hints that Triton cannot read (swap_ab); "hinted" are the figures with them, which no bar uses.

source_to_cubin_cpu_ms is the processor time of a compilation, ptxas included, the shorter of two. Ours is done by a process and a worker
of its own each time, Triton's compiler is warm; start_cpu_ms is what a kernel of one line takes each of them at that moment without
ptxas (the shorter of two), and the bar takes it off both. The same by the clock is kept where the machine is idle. bank_conflicts are passes over
the banks beyond the fewest that an access of its width takes (docs/simulator.md), loop_bank_conflicts those of the innermost loops
with tensor instructions; shared_passes are all of them. Triton's code for sm_90 has wgmma, which the simulator has not: there most
rows have no figures of Triton's, and results are compared with those of its code for sm_80.

  scripts/codegen-report build/release --only dense_fwd
  scripts/codegen-report build/release --sources tutorials,fla --target sm_80,sm_90
  make codegen-report                      everything, both targets"""
import argparse
import datetime
import json
import logging
import os
import pathlib
import platform
import signal
import subprocess
import sys
import tempfile
import time
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench" / "codegen"), str(ROOT / "tests" / "simulator"), str(ROOT / "tests" / "triton")]
SOURCES = ("kernels", "tutorials", "fla", "liger")
TARGETS = ("sm_80", "sm_90")
ABOUT = dict(kernels=110, tutorials=30, fla=110, liger=35)  # rows of a source that no earlier run had


def chosen(what, known):
    def parse(text):
        names = text.split(",")
        for name in names:
            if name not in known:
                advice = " (sm_90a has no code yet: sm_90 runs on the same devices)" if name == "sm_90a" else ""
                raise argparse.ArgumentTypeError(f"no {what} `{name}`{advice}; known: {', '.join(known)}")
        return [name for name in known if name in names]
    return parse


arguments = argparse.ArgumentParser(prog="scripts/codegen-report BUILD", description=__doc__,
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
arguments.add_argument("--output", default=str(ROOT / "build" / "bench" / "codegen.json"), help="the JSON file")
arguments.add_argument("--quick", action="store_true", help="the smallest instance of each kernel only")
arguments.add_argument("--onto", type=pathlib.Path, help="an earlier report's JSON: its rows stay where this run has none, marked by "
                       "their commit, and what this commit has measured there is not measured again")
arguments.add_argument("--only", help="kernels whose name contains this, or the calls of fla and Liger-Kernel that are named so (bench/codegen/libraries.py)")
arguments.add_argument("--target", default=["sm_80"], type=chosen("target", TARGETS), help="sm_80 (default), sm_90, or both with a comma")
arguments.add_argument("--sources", default=["kernels", "tutorials"], type=chosen("source", SOURCES),
                       help=f"which kernels, separated by commas: {', '.join(SOURCES)} (default: kernels,tutorials)")
options = arguments.parse_args()
sys.argv = [sys.argv[0]]

os.environ["TESSERA_CACHE_DIR"] = tempfile.mkdtemp(prefix="tessera-codegen-")  # nothing is found there
import bars  # noqa: E402
import simulator_launcher as launcher  # noqa: E402
import kernel_files  # noqa: E402
import measure  # noqa: E402
import rows as earlier_rows  # noqa: E402
import simulator  # noqa: E402
from simulator_launcher import torch  # noqa: E402


class Progress:
    """A line for each row; the time left is guessed from the rows of an earlier run."""

    def __init__(self):
        self.start, self.done, self.expected = time.time(), 0, 0
        for earlier in (pathlib.Path(options.output), ROOT / "bench" / "results" / "codegen_sm_80.json"):
            try:
                rows = json.loads(earlier.read_text())["rows"]
            except (OSError, ValueError, KeyError):
                continue
            names = {(r["instance"], r["dtype"], r.get("source", "kernels")) for r in rows
                     if not options.only or options.only in r["instance"].split()[0]}
            counts = {source: sum(n[2] == source for n in names) for source in options.sources}
            if not options.only:
                counts = {source: count or ABOUT[source] for source, count in counts.items()}
            self.expected = sum(counts.values()) * len(options.target)
            break
        if options.quick:
            self.expected //= 3

    def row(self, row):
        self.done += 1
        seconds = time.time() - self.start
        left = (self.expected - self.done) * seconds / self.done
        ahead = f", about {left / 60:.0f} min left" if left > 60 else ""
        state = "ok, no figures of Triton's" if "error" in row["triton"] else "ok"
        if "error" in row["ours"]:
            state = "FAILED " + row["ours"]["error"].splitlines()[-1][:100]
        elif row["differs"] is not None and row["differs"] > 1:
            state = f"DIFFERS: {row['differs']:g} times the limit"
        print(f"[{self.done:3d}/{max(self.expected, self.done)} {seconds:4.0f} s{ahead}] {row['target']} {bars.short(row)}: {state}",
              flush=True)


def head():
    """The last commit that changed what makes and runs a kernel's code, with a + where that is not as it was committed."""
    def git(*what):
        return subprocess.run(["git", "-C", str(ROOT), *what, "--", "codegen", "compiler", "dialect", "kernels", "simulator"],
                              capture_output=True, text=True).stdout.strip()
    return git("log", "-1", "--format=%h") + ("+" if git("status", "--porcelain") else "")


rows = {}
earlier, earlier_left_out = earlier_rows.load(options.onto, options.sources) if options.onto else ([], [])
commit = head()
progress = Progress()


def add(source, kernel, file, fn, grid, args, constexprs, config, **more):
    """A row for each target when the launch is the first of its kind."""
    name = fn.fn.__name__
    types = tuple(str(v.dtype).replace("torch.", "") for v in args if isinstance(v, torch.Tensor))
    key = (source, kernel, tuple(sorted((k, str(v)) for k, v in constexprs.items())), tuple(config.items()), types)
    if key in rows or (options.only and options.only not in name and not more.pop("chosen", False)):
        return
    more.pop("chosen", None)
    rows[key] = {}
    launch = measure.Launch(file, name, fn, grid, args, constexprs, config, **more)
    instance = name + "".join(f" {k}={v}" for k, v in sorted(constexprs.items()))
    if source != "kernels":
        instance += f" warps={config['num_warps']} stages={config['num_stages']}"
    for target in options.target:
        row = dict(source=source, kernel=kernel, instance=instance, dtype="torch." + types[0] if types else "", types=list(types),
                   target=target, commit=commit, **config)
        done = earlier_rows.known(earlier, row, commit)
        row = done or dict(row, **launch.row(target))
        rows[key][target] = row
        progress.row(row)
        if options.onto and not done:
            save([], False)  # so that a run that ends early goes on here


def go_on(fn, grid, args, constexprs, config):
    """The launch itself, with Triton's code, so that what follows is right."""
    try:
        simulator.launch_triton(fn, grid, args, constexprs, dict(config, enable_fp_fusion=True))
    except (simulator.Finding, simulator.SimError):
        pass


def visit_kernel(source, path, name, grid, args, constexprs, config):
    """A launch of kernels/."""
    if all(grid):
        fn, config = launcher.kernel(path, name), config or kernel_files.default_options(path, name)
        add(source, f"kernels/{path}:{name}", ROOT / "kernels" / path, fn, tuple(grid), args, constexprs, config)
        go_on(fn, tuple(grid), args, constexprs, config)


def run_libraries(names):
    """Rows of fla and Liger-Kernel; what is left out, and why, as a list of texts."""
    import peers
    site, why = peers.fetch()
    if not site:
        return [f"{name}: not fetched: {why}" for name in names]
    sys.path.append(str(site))
    warnings.filterwarnings("ignore")  # that there is no GPU
    logging.disable(logging.WARNING)   # what else is not installed
    print("codegen-report: importing the libraries", flush=True)
    import libraries
    left_out = []
    for source in names:
        def visit(fn, grid, args, constexprs, config, source=source):
            name = fn.fn.__name__
            kernel = f"{fn.fn.__module__}:{name}"
            if all(grid):
                for setting in filter(None, (config, libraries.DEEPER.get(name))):
                    add(source, kernel, peers.text_of(fn), fn, grid, args, constexprs, setting, unordered=name in libraries.UNORDERED,
                        chosen=bool(named))
                go_on(fn, grid, args, constexprs, config)

        ours = peers.catch(visit)
        calls = libraries.CALLS[source]
        named = [call for call in calls if options.only and options.only in call[0]]
        calls = named or calls
        for name, call in calls[:3] if options.quick else calls:
            try:
                call()
            except Exception as error:  # noqa: BLE001 - a library's own, of any type
                if ours:
                    raise
                left_out.append(f"{source}, {name}: {type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}")
    return left_out


def write(path, result):
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(result, indent=1) + "\n")
    os.replace(temporary, path)


def measured():
    """The rows of this run, and the earlier ones that stay."""
    return earlier_rows.merged(earlier, [row for by_target in rows.values() for row in by_target.values()])


def save(left_out, tell=True):
    """Writes the report; the verdicts on its bars."""
    found, summaries, verdicts = measured(), {}, {}
    left_out = earlier_left_out + left_out
    for target in options.target:
        summaries[target], verdicts[target] = bars.summary(found, target)
        if tell:
            print("\n" + bars.text(found, target))
    write(pathlib.Path(options.output), dict(
        date=datetime.date.today().isoformat(), commit=commit, host=platform.machine(), triton=simulator.triton.__version__,
        targets=options.target, summary=summaries, bars=verdicts, left_out=left_out, rows=found))
    return verdicts


def run():
    """All launches; what is left out, and why."""
    if "kernels" in options.sources:
        kernel_files.run_tests(visit_kernel, options.quick, options.only)
    launcher.use("tf32")
    if "tutorials" in options.sources:
        kernel_files.run_tutorials(visit_kernel, options.quick)
    published = [name for name in ("fla", "liger") if name in options.sources]
    return run_libraries(published) if published else []


def stop(*_):
    raise KeyboardInterrupt


def main():
    signal.signal(signal.SIGTERM, stop)
    interrupted = False
    try:
        left_out = run()
    except KeyboardInterrupt:
        interrupted, left_out = True, ["interrupted: everything after the rows so far"]
    found = measured()
    if left_out:
        print("\nleft out:\n" + "\n".join("  " + line for line in left_out))
    if not rows and interrupted:
        sys.exit(1)
    if not rows:
        sys.exit(f"codegen-report: no kernel's name contains `{options.only}`" if options.only else "codegen-report: no rows")
    verdicts = save(left_out)
    missed = [f"{target} {name}" for target in options.target for name, holds in verdicts[target].items() if holds is False]
    print(f"\n{options.output}: {len(found)} rows in {(time.time() - progress.start) / 60:.1f} minutes")
    print("bars missed:", ", ".join(missed) or "none")
    sys.exit(bool(missed) or interrupted)


main()
