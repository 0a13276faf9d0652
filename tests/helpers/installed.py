# tests/helpers/installed.py - an installation in a folder of its own, and programs that use it.
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


# What scripts/run-tests asks of the sanitizers holds in the installation, too.
SANITIZERS = {name: os.environ[name] for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS") if name in os.environ}


def run(*command, environment=None, status=0, folder="/"):
    """What a command printed; fails when it ends with another status. It sees PATH and nothing else of ours, and runs
    in a folder that has no kernels."""
    done = subprocess.run([str(part) for part in command], text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, cwd=folder,
                          env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", **SANITIZERS, **(environment or {})})
    if done.returncode != status:
        raise AssertionError("%s: status %d\n%s" % (command, done.returncode, done.stdout))
    return done.stdout


class Installed:
    """The installation lies in self.prefix, where it was moved to after it was made."""

    @classmethod
    def setup_class(cls):
        # Not in the checkout, whose kernels are found from every folder in it.
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        run("cmake", "--install", BUILD, "--prefix", cls.folder / "first")
        cls.prefix = cls.folder / "moved"
        (cls.folder / "first").rename(cls.prefix)

    @classmethod
    def teardown_class(cls):
        cls.temporary.cleanup()

    def build(self, source, *options, targets=()):
        """The folder in which a CMake project was built against the installation."""
        out = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        run("cmake", "-G", "Ninja", "-S", source, "-B", out, "-DCMAKE_PREFIX_PATH=%s" % self.prefix, *options)
        run("cmake", "--build", out, *targets)
        return out

    def home(self):
        """A HOME whose cache is empty."""
        return {"HOME": tempfile.mkdtemp(dir=self.folder)}
