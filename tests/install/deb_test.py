# tests/install/deb_test.py - the .deb packages, and the example in a chroot that holds libc, g++, cmake and what
# the package depends on, alone. Needs root.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import re
import shutil
import tempfile

from chroot import closure, fill, in_namespace, mounted
from installed import BUILD, EXAMPLE, SAID, VERSION, run

PROGRAMS = {"dpkg-shlibdeps": "dpkg-dev", "pkg-config": "pkg-config", "make": "make"}
TOOLS = ["libc6", "libc-bin", "dash", "coreutils", "g++", "cmake", "make", "pkg-config"]


class TestDeb:
    @classmethod
    def setup_class(cls):
        for program, package in PROGRAMS.items():
            if not shutil.which(program):
                raise AssertionError("%s is missing. HINT: apt-get install %s" % (program, package))
        in_namespace()
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        run("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", cls.folder / "deb")
        cls.debs = {re.match("[^_]*", path.name)[0]: path for path in (cls.folder / "deb").glob("*.deb")}

    @classmethod
    def teardown_class(cls):
        cls.temporary.cleanup()

    def field(self, package, name):
        return run("dpkg-deb", "-f", self.debs[package], name).strip()

    def test_control(self):
        names = ["tessera", "tessera-torch"] if "TORCH" in os.environ else ["tessera"]
        assert sorted(self.debs) == names
        for name in names:
            assert self.field(name, "Package") == name
            assert self.field(name, "Version") == VERSION
            assert self.debs[name].name == "%s_%s_%s.deb" % (name, VERSION, self.field(name, "Architecture"))
            contents = run("dpkg-deb", "-c", self.debs[name])
            for file in ("LICENSE", "NOTICE"):
                assert "./usr/share/doc/%s/%s\n" % (name, file) in contents
            assert ("torch" in contents) == (name == "tessera-torch")
        depends = self.field("tessera", "Depends")
        for package in ("libc6 (>=", "libstdc++6 (>=", "libllvm22", "libmlir-22 (>=", "libfmt9", "libyaml-cpp0.7"):
            assert package in depends
        assert not re.search(r"-dev\b|g\+\+|cmake|python|torch", depends)
        if len(names) == 2:
            assert "tessera (= %s)" % VERSION in self.field("tessera-torch", "Depends")
        # Programs that are packaged depend on ours, too.
        run("dpkg-deb", "-e", self.debs["tessera"], self.folder / "control")
        assert (self.folder / "control/shlibs").read_text().split() == ["libtessera", VERSION.rsplit(".", 1)[0], "tessera", "(>=", VERSION + ")"]

    def test_example_in_an_empty_chroot(self, cleanups):
        root = self.folder / "root"
        depends = [entry.split()[0] for entry in self.field("tessera", "Depends").split(",")]
        fill(root, closure(TOOLS + depends))
        assert not (root / "usr/include/llvm-22").exists()
        for name in ("c++", "cc"):  # made by update-alternatives, of no package
            (root / "usr/bin" / name).symlink_to("g++" if name == "c++" else "gcc")
        run("dpkg-deb", "-x", self.debs["tessera"], self.folder / "unpacked")
        run("cp", "-a", "%s/." % (self.folder / "unpacked/usr"), root / "usr")
        run("ldconfig", "-r", root)
        shutil.copytree(EXAMPLE, root / "home/example")
        mounted(cleanups, root)

        def inside(command):
            return run("chroot", root, "/bin/sh", "-ec", "cd /home; " + command, environment={"HOME": "/home"})

        inside("cmake -S example -B out && cmake --build out")
        assert inside("out/example example/saxpy.py") == SAID % (2, 0)
        inside("g++ -std=c++20 example/main.cpp -o by_hand $(pkg-config --cflags --libs tessera)")
        assert inside("./by_hand example/saxpy.py") == SAID % (0, 2)
        assert VERSION in inside("tessera version")

    def test_training_in_an_empty_chroot(self, cleanups):
        """With torch, which no package has, from the wheel of this machine. The machine has no Python."""
        if "TORCH" not in os.environ:
            return
        root = self.folder / "train"
        depends = {entry.split()[0] for name in self.debs for entry in self.field(name, "Depends").split(",")}
        fill(root, closure(["libc6", "libc-bin", "dash", "coreutils", *sorted(depends - {"tessera"})]))
        for package in self.debs.values():
            run("dpkg-deb", "-x", package, root)
        run("ldconfig", "-r", root)
        mounted(cleanups, root)
        packages = pathlib.Path(os.environ["TORCH"]).parent
        (root / "site").mkdir()
        run("mount", "--bind", packages, root / "site")
        cleanups.callback(run, "umount", "-l", root / "site")
        (root / "home/text").write_text("the tile of stone is laid upon a floor, and walls rise. " * 200)

        def inside(command):
            return run("chroot", root, "/bin/sh", "-ec", "cd /home; " + command,
                       environment={"HOME": "/home", "Torch_ROOT": "/site/torch"})

        assert "train.seq_len" in inside("tessera train --config configs/quickstart.yaml --dry-run")
        inside("tessera train --config configs/sim_smoke.yaml data.path=text out=run")
        assert len((root / "home/run/metrics.jsonl").read_text().splitlines()) > 2
