# tests/helpers/installed.py - installs the build into a temporary folder, and builds programs against that installation.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import subprocess
import tempfile

from repository import BUILD, ROOT

VERSION = os.environ["VERSION"]
EXAMPLE = ROOT / "examples/cpp"
SAID = "2 * 999 + 1 = 1999\nsums: 249250 249750 250250 250750\nkernels compiled: %d, from the cache: %d\n"


# The options of the sanitizers, which scripts/run-tests sets, also apply to installed programs.
SANITIZERS = {name: os.environ[name] for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS") if name in os.environ}


def run(*command, environment=None, status=0, folder="/"):
    """Returns the output of a command, standard error included. Raises AssertionError if it exits with another status than `status`. The
    command gets PATH, the sanitizers' options and `environment`, but no other variable. It runs in `folder`, which has no kernels."""
    done = subprocess.run([str(part) for part in command], text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, cwd=folder,
                          env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", **SANITIZERS, **(environment or {})})
    if done.returncode != status:
        raise AssertionError("%s: status %d\n%s" % (command, done.returncode, done.stdout))
    return done.stdout


class Installed:
    """Base class of tests that use an installation in self.prefix. Its folder is renamed after `cmake --install`, so that a test fails if
    a program depends on the first path."""

    @classmethod
    def setup_class(cls):
        # A program finds kernels from every folder of the checkout, so the installation must be outside.
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        run("cmake", "--install", BUILD, "--prefix", cls.folder / "first")
        cls.prefix = cls.folder / "moved"
        (cls.folder / "first").rename(cls.prefix)

    @classmethod
    def teardown_class(cls):
        cls.temporary.cleanup()

    def build(self, source, *options, targets=()):
        """Builds a CMake project against the installation, in a new folder. Returns the folder."""
        out = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        run("cmake", "-G", "Ninja", "-S", source, "-B", out, "-DCMAKE_PREFIX_PATH=%s" % self.prefix, *options)
        run("cmake", "--build", out, *targets)
        return out

    def home(self):
        """Returns an environment with a new HOME, whose kernel cache is empty."""
        return {"HOME": tempfile.mkdtemp(dir=self.folder)}
