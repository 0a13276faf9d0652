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
import unittest
import zipfile

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"


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


class Setup(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
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
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def setup(self, clone, wheel, deps="deps"):
        lock = f"[debian]\n[train]\n{wheel}\n[full]\n[docs]\n"
        (self.folder / clone / "scripts/deps.lock").write_text(lock)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
        environment.update(TESSERA_DEPS=str(self.folder / deps), PIP_NO_INDEX="1", PIP_FIND_LINKS=str(self.wheels),
                           PIP_CONFIG_FILE="/dev/null")
        return subprocess.run([self.folder / clone / "scripts/setup", "train"], capture_output=True, text=True, timeout=300,
                              env=environment)

    def pinned(self, version):
        return f"Tiny.Wheel=={version} --hash=sha256:{self.sums[version]}"

    def installed(self, deps="deps"):
        found = (self.folder / deps / "venv").glob("lib/python3*/site-packages/tiny_wheel-*.dist-info")
        return sorted(re.search(r"wheel-(.*)\.dist", path.name)[1] for path in found)

    def check(self, done, version):
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.installed(), [version])

    def test_two_clones_with_different_locks(self):
        self.check(self.setup("a", self.pinned("1.0")), "1.0")
        again = self.setup("a", self.pinned("1.0"))
        self.check(again, "1.0")
        self.assertEqual(again.stdout, "")  # nothing to do
        self.check(self.setup("b", self.pinned("2.0")), "2.0")
        self.check(self.setup("a", self.pinned("1.0")), "1.0")
        # An installation that was interrupted: pip writes INSTALLER at its end.
        next((self.folder / "deps/venv").glob("lib/python3*/site-packages/tiny_wheel-1.0.dist-info/INSTALLER")).unlink()
        self.assertIn("wheels for training", self.setup("a", self.pinned("1.0")).stdout)

    def test_other_files_than_the_lock_names(self):
        wrong = self.setup("a", "Tiny.Wheel==2.0 --hash=sha256:" + "0" * 64)
        self.assertNotEqual(wrong.returncode, 0)
        self.assertIn("DO NOT MATCH THE HASHES", wrong.stderr)
        without = self.setup("a", "Tiny.Wheel==2.0")
        self.assertNotEqual(without.returncode, 0)
        self.assertIn("require-hashes", without.stderr)
        self.assertNotIn("2.0", self.installed())

    def test_a_folder_that_others_can_change(self):
        shared = self.folder / "shared"
        shared.mkdir()
        for folder, mode, remedy in ((shared, 0o777, f"chmod go-w {shared}"), (shared, 0o770, f"chmod go-w {shared}")):
            folder.chmod(mode)
            done = self.setup("a", self.pinned("1.0"), "shared/deps")
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(f"{folder} is writable by others", done.stderr)
            self.assertIn(remedy, done.stderr)
        self.assertFalse((shared / "deps").exists())


class Lock(unittest.TestCase):
    def test_each_wheel_has_a_hash(self):
        section, wheels = "", 0
        for line in (SCRIPTS / "deps.lock").read_text().splitlines():
            if line.startswith("["):
                section = line.strip("[]")
            elif line and not line.startswith("#") and section != "debian":
                self.assertRegex(line, r"^[\w.-]+==[\w.]+ --hash=sha256:[0-9a-f]{64}$", section)
                wheels += 1
        self.assertGreater(wheels, 50)


if __name__ == "__main__":
    unittest.main()
