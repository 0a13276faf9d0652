# bench/codegen/published.py - kernels of published libraries: fetched at pinned versions, their launches caught.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""fetch() puts the wheels of [peers] in scripts/deps.lock into build/bench/peers, which nothing else uses and git ignores.
catch() replaces Triton's launcher by a function, so that the libraries' own Python functions, called with CPU tensors, pass on every
launch with its arguments."""
import hashlib
import inspect
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "bench" / "peers"


def pins():
    """The requirement lines of [peers]."""
    lines, inside = [], False
    for line in (ROOT / "scripts" / "deps.lock").read_text().splitlines():
        if line.startswith("["):
            inside = line == "[peers]"
        elif inside and line and not line.startswith("#"):
            lines.append(line)
    return lines


def fetch():
    """The folder with the libraries, filled when it does not hold these pins yet. (None, why) when they cannot be had."""
    wanted = "\n".join(pins()) + "\n"
    site = FOLDER / ("site-" + hashlib.sha256(wanted.encode()).hexdigest()[:12])
    if site.is_dir():
        return site, ""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.glob("site-*"):
        shutil.rmtree(old)
    requirements, unfinished = FOLDER / "requirements.txt", FOLDER / f"unfinished-{os.getpid()}"
    requirements.write_text(wanted)
    names = [line.split("==")[0] for line in pins()]
    print(f"codegen-report: fetching {', '.join(names)} (about 3 MB) into {FOLDER.relative_to(ROOT)}", flush=True)
    try:
        done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
                               "--only-binary", ":all:", "--require-hashes", "--target", str(unfinished), "-r", str(requirements)],
                              capture_output=True, text=True, timeout=300)
        if done.returncode:
            return None, (done.stderr.strip().splitlines() or ["pip failed"])[-1][:300]
        os.replace(unfinished, site)
    except subprocess.TimeoutExpired:
        return None, "pip took more than 5 minutes"
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return site, ""


def three(grid, bound):
    grid = grid(bound) if callable(grid) else grid
    grid = (grid,) if isinstance(grid, int) else tuple(int(n) for n in grid)
    return grid + (1,) * (3 - len(grid))


def catch(visit):
    """visit(fn, grid, args, constexprs, options) gets every launch: fn is Triton's JITFunction, args are those of run time in
    order, options num_warps and num_stages. Autotuned kernels are launched with their first Config that is not pruned. Returns a list
that gets the exceptions of visit, which a library's caller could take for the library's."""
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import JITFunction

    raised = []

    def run(self, *args, grid, warmup=False, **named):
        options = {name: named.pop(name) for name in list(named) if name not in self.arg_names}
        bound = inspect.signature(self.fn).bind(*args, **named)
        bound.apply_defaults()
        plain = {name: getattr(value, "value", value) if type(value).__name__ == "constexpr" else value
                 for name, value in bound.arguments.items()}
        constexprs = {p.name: plain[p.name] for p in self.params if p.is_constexpr}
        try:
            visit(self, three(grid, plain), [v for name, v in plain.items() if name not in constexprs], constexprs,
                  dict(num_warps=options.get("num_warps", 4), num_stages=options.get("num_stages", 3)))
        except Exception as error:
            raised.append(error)
            raise

    def run_autotuned(self, *args, **named):
        self.nargs = dict(zip(self.arg_names, args))
        config = list(self.prune_configs(named))[0]
        self.best_config = config
        if config.pre_hook:
            config.pre_hook({**self.nargs, **named, **config.all_kwargs()})
        self.pre_hook({**self.nargs, **{k: v for k, v in named.items() if k in self.arg_names}}, reset_only=True)
        try:
            return self.fn.run(*args, **named, **config.all_kwargs())
        finally:
            self.nargs = None

    JITFunction.run = run
    for tuner in [Autotuner, *Autotuner.__subclasses__()]:
        tuner.run = run_autotuned
    return raised


def text_of(fn):
    """A file with the kernel, the functions it calls and the constants it names: our compiler reads one file."""
    sys.path.append(str(ROOT / "tests" / "replay"))
    from record_from_triton import expand
    name, text = fn.fn.__name__, expand(fn)
    folder = FOLDER / "kernels" / hashlib.sha256(text.encode()).hexdigest()[:8]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.py").write_text(text)
    return folder / f"{name}.py"
