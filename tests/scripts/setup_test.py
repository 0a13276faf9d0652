"""tests/scripts/setup_test.py - scripts/setup installs what the lock names: versions, hashes, and a folder that only its owner can
change. The wheels are empty ones in a folder; no network is used.

SPDX-License-Identifier: Apache-2.0
"""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import zipfile

from repository import ROOT

SCRIPTS = ROOT / "scripts"


def make_wheel(folder, version, body="x = 1\n"):
    """A wheel of the package Tiny.Wheel; its hash."""
    path = folder / f"tiny_wheel-{version}-py3-none-any.whl"
    info = f"tiny_wheel-{version}.dist-info/"
    files = {"tiny_wheel.py": body, info + "METADATA": f"Metadata-Version: 2.1\nName: Tiny.Wheel\nVersion: {version}\n",
             info + "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        archive.writestr(info + "RECORD", "".join(f"{name},,\n" for name in [*files, info + "RECORD"]))
    return hashlib.sha256(path.read_bytes()).hexdigest()


class TestSetup:
    @classmethod
    def setup_class(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.wheels = cls.folder / "index"
        cls.wheels.mkdir()
        cls.sums = {version: make_wheel(cls.wheels, version) for version in ("1.0", "2.0")}
        for clone in ("a", "b"):
            (cls.folder / clone / "scripts").mkdir(parents=True)
            shutil.copy(SCRIPTS / "setup", cls.folder / clone / "scripts")
            shutil.copytree(SCRIPTS / "lib", cls.folder / clone / "scripts/lib")

    @classmethod
    def teardown_class(cls):
        cls.temporary.cleanup()

    def install(self, clone, wheel, deps="deps", level="train", section="train"):
        lock = f"[debian]\n[{section}]\n{wheel}\n[full]\n[docs]\n"
        (self.folder / clone / "scripts/deps.lock").write_text(lock)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
        environment.update(TESSERA_DEPS=str(self.folder / deps), PIP_NO_INDEX="1", PIP_FIND_LINKS=str(self.wheels),
                           PIP_CONFIG_FILE="/dev/null")
        return subprocess.run([self.folder / clone / "scripts/setup", level], capture_output=True, text=True, timeout=300,
                              env=environment)

    def pinned(self, version):
        return f"Tiny.Wheel=={version} --hash=sha256:{self.sums[version]}"

    def installed(self, deps="deps"):
        found = (self.folder / deps / "venv").glob("lib/python3*/site-packages/tiny_wheel-*.dist-info")
        return sorted(re.search(r"wheel-(.*)\.dist", path.name)[1] for path in found)

    def check(self, done, version):
        assert done.returncode == 0, done.stderr
        assert self.installed() == [version]

    def test_two_clones_with_different_locks(self):
        self.check(self.install("a", self.pinned("1.0")), "1.0")
        again = self.install("a", self.pinned("1.0"))
        self.check(again, "1.0")
        assert again.stdout == ""  # nothing to do
        self.check(self.install("b", self.pinned("2.0")), "2.0")
        self.check(self.install("a", self.pinned("1.0")), "1.0")
        # An installation that was interrupted: pip writes INSTALLER at its end.
        next((self.folder / "deps/venv").glob("lib/python3*/site-packages/tiny_wheel-1.0.dist-info/INSTALLER")).unlink()
        assert "wheels for training" in self.install("a", self.pinned("1.0")).stdout

    def test_training_reads_parquet(self):
        done = self.install("a", self.pinned("1.0"), "parquet", "train", "data")
        assert done.returncode == 0, done.stderr
        assert "wheel for parquet files: 1" in done.stdout
        assert self.installed("parquet") == ["1.0"]

    def test_an_older_release_has_a_folder_of_its_name(self):
        for version in ("1.0", "2.0"):
            done = self.install("a", self.pinned(version), "older", "torch", "torch-1.5")
            assert done.returncode == 0, done.stderr
            assert "torch 1.5 for a wheel that serves it" in done.stdout
            [found] = (self.folder / "older/torch-1.5").glob("tiny_wheel-*.dist-info")
            assert found.name == f"tiny_wheel-{version}.dist-info"
        assert self.installed("older") == []
        assert self.install("a", self.pinned("2.0"), "older", "torch", "torch-1.5").stdout == ""

    def test_other_files_than_the_lock_names(self):
        wrong = self.install("a", "Tiny.Wheel==2.0 --hash=sha256:" + "0" * 64)
        assert wrong.returncode != 0
        assert "DO NOT MATCH THE HASHES" in wrong.stderr
        without = self.install("a", "Tiny.Wheel==2.0")
        assert without.returncode != 0
        assert "require-hashes" in without.stderr
        assert "2.0" not in self.installed()

    def test_a_folder_that_others_can_change(self):
        shared = self.folder / "shared"
        shared.mkdir()
        for folder, mode, remedy in ((shared, 0o777, f"chmod go-w {shared}"), (shared, 0o770, f"chmod go-w {shared}")):
            folder.chmod(mode)
            done = self.install("a", self.pinned("1.0"), "shared/deps")
            assert done.returncode == 1, done.stderr
            assert f"{folder} is writable by others" in done.stderr
            assert remedy in done.stderr
        assert not (shared / "deps").exists()


class TestLock:
    def test_each_wheel_has_a_hash(self):
        section, wheels = "", 0
        for line in (SCRIPTS / "deps.lock").read_text().splitlines():
            if line.startswith("["):
                section = line.strip("[]")
            elif line and not line.startswith("#") and section != "debian":
                assert re.search(r"^[\w.-]+==[\w.]+ --hash=sha256:[0-9a-f]{64}$", line), section
                wheels += 1
        assert wheels > 50

    def test_parquet_is_read_by_one_version(self):
        lines = [line for line in (SCRIPTS / "deps.lock").read_text().splitlines() if line.startswith("pyarrow==")]
        assert len(lines) == 1
