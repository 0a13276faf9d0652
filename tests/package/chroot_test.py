# tests/package/chroot_test.py - the wheel in a chroot that holds Python, torch and what they need, alone. Needs root.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import importlib.metadata
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from chroot import closure, fill, in_namespace, mounted
from installed import run
from repository import ROOT
from wheel_test import PROGRAM

DEBIAN = ["libc6", "libc-bin", "dash", "coreutils", "python3.11", "python3-distutils", "libstdc++6", "zlib1g"]
LONGEST = 60


def requirements(wanted):
    """What a line such as "cuda-toolkit[cublas]" asks for, and all that this asks for, of what is installed here."""
    found, seen, todo = {}, set(), [wanted]
    while todo:
        name, extras = re.match(r"([\w.-]+)(?:\[([^]]*)\])?", todo.pop()).groups()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        try:
            found[name] = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue  # for another platform
        for line in found[name].requires or ():
            extra = re.search("extra == ['\"]([^'\"]*)", line)
            if not extra or extra[1] in (extras or "").replace(" ", "").split(","):
                todo.append(line)
    return found.values()


def link(distribution, folder):
    """Its files, as links to the same bytes where that is possible."""
    for file in distribution.files:
        source, place = pathlib.Path(distribution.locate_file(file)), folder / file
        if ".." in file.parts or not source.is_file():
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(source, place)
        except OSError:
            shutil.copy2(source, place)


class TestChroot:
    def test_pip_install_and_a_matmul(self, cleanups):
        in_namespace()
        temporary = tempfile.TemporaryDirectory(dir=os.environ["BUILD"])
        cleanups.callback(temporary.cleanup)
        folder = pathlib.Path(temporary.name)
        subprocess.run([sys.executable, ROOT / "scripts/wheel", os.environ["BUILD"], "--out", folder / "dist"], check=True,
                       stdout=subprocess.DEVNULL)
        [wheel] = (folder / "dist").iterdir()
        root = folder / "root"
        fill(root, closure(DEBIAN))
        for program in ("c++", "g++", "gcc", "cc", "clang", "ld", "ptxas", "nvcc"):
            assert shutil.which(program, path="%s/usr/bin:%s/usr/local/bin" % (root, root)) is None, program
        run("chroot", root, "python3.11", "-m", "venv", "--without-pip", "/home/venv")
        site = root / "home/venv/lib/python3.11/site-packages"
        for distribution in requirements("torch"):
            link(distribution, site)
        link(importlib.metadata.distribution("pip"), root / "home/pip")
        shutil.copy(wheel, root / "home")
        (root / "home/program.py").write_text(PROGRAM)
        mounted(cleanups, root)

        def inside(command, **environment):
            return run("chroot", root, "/bin/sh", "-ec", "cd /home; " + command,
                       environment={"HOME": "/home", "PYTHONDONTWRITEBYTECODE": "1", **environment})

        before = set(site.rglob("*"))
        start = time.monotonic()
        inside("venv/bin/python -m pip install --no-index " + wheel.name, PYTHONPATH="/home/pip")
        assert re.search(r"(?m)^compiled [2-9]$", inside("venv/bin/python program.py"))  # torch warns that numpy is missing
        took = time.monotonic() - start
        print("pip install, a matmul and an op: %.1f s" % took)
        assert took < LONGEST
        assert "tessera" in inside("venv/bin/tessera --version")
        assert "tessera" in inside("venv/bin/tessera-train --help")
        inside("venv/bin/python -m pip uninstall -y tessera-kernels", PYTHONPATH="/home/pip")
        assert set(site.rglob("*")) == before
