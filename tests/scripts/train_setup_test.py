# tests/scripts/train_setup_test.py - a machine with what `scripts/setup train` installs can be configured.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""`make train` is the first command of the README. It installs less than `make test`, which is all that other tests run after. The
folder here has the wheels of training from the folder of this machine, and nothing else of it."""
import os
import pathlib
import shutil
import subprocess
import sys

from repository import ROOT


def test_configures_with_the_wheels_of_training(tmp_path):
    deps, build = tmp_path / "deps", tmp_path / "build"
    deps.mkdir()
    (deps / "venv").symlink_to(pathlib.Path(sys.prefix))
    done = subprocess.run([shutil.which("cmake"), "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"],
                          env=dict(os.environ, TESSERA_DEPS=str(deps)), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    tests = subprocess.run([shutil.which("ctest"), "-N"], cwd=build, capture_output=True, text=True).stdout
    assert "triton_3_9_names_test" in tests, "tests that need more are there, and end with an error"


def test_another_release_of_triton_ends_a_test():
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", ROOT / "tests/triton/names_test.py"],
                          env=dict(os.environ, TRITON_VERSION="9.9"), capture_output=True, text=True)
    assert done.returncode == 4 and "instead of 9.9; run scripts/setup full" in done.stdout + done.stderr, done.stdout + done.stderr
