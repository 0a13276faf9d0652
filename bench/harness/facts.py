# bench/harness/facts.py - the environment of a measurement: commit, processor, versions, load.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import datetime
import importlib.metadata
import os
import pathlib
import platform
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def commit(*paths):
    """The short hash of HEAD, or of the last commit that changed `paths`; with -dirty if tracked files differ from it."""
    def git(*arguments):
        return subprocess.run(["git", "-C", str(ROOT), *arguments, "--", *paths], capture_output=True, text=True, check=False).stdout.strip()
    return git("log", "-1", "--format=%h") + ("-dirty" if git("status", "--porcelain", "-uno") else "")


def processor():
    """(model name, flags) of /proc/cpuinfo."""
    lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n\n")[0].splitlines()
    fields = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return fields.get("model name", platform.machine()), fields.get("flags", "").split()


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def facts():
    """What every result file says of the machine at the start of its measurements."""
    model, flags = processor()
    return {"commit": commit(), "date": datetime.date.today().isoformat(), "cpu": model, "cores": os.cpu_count(),
            "avx512": "avx512f" in flags, "python": platform.python_version(), "torch": version("torch"), "triton": version("triton"),
            "load_before": os.getloadavg()[0]}
