# tests/install/deb_test.py - the .deb packages, and the example in a chroot that holds libc, g++, cmake and what
# the package depends on, alone. Needs root.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from installed import BUILD, EXAMPLE, ROOT, SAID, VERSION, run

PROGRAMS = {"dpkg-shlibdeps": "dpkg-dev", "pkg-config": "pkg-config", "make": "make"}
TOOLS = ["libc6", "libc-bin", "dash", "coreutils", "g++", "cmake", "make", "pkg-config"]


def installed_packages():
    """{package: [alternatives of each dependency]} of this machine, by real and virtual names."""
    packages = {}
    listed = run("dpkg-query", "-W", "-f", "${Package}\t${Provides}\t${Pre-Depends}, ${Depends}\n")
    for name, provides, depends in (line.split("\t") for line in listed.splitlines()):
        wanted = [[re.split(r"[ :(]", choice.strip())[0] for choice in entry.split("|")]
                  for entry in depends.split(",") if entry.strip()]
        packages[name] = wanted
        for virtual in provides.split(","):
            if virtual.strip():
                packages.setdefault(virtual.split()[0], [[name]])
    return packages


def closure(names):
    """These packages and all that they depend on."""
    packages, found, todo = installed_packages(), set(), list(names)
    while todo:
        name = todo.pop()
        if name in found:
            continue
        if name not in packages:
            raise AssertionError("the package %s is not on this machine" % name)
        found.add(name)
        for choices in packages[name]:
            todo.append(next((choice for choice in choices if choice in packages), choices[0]))
    return found


def fill(root, packages):
    """Copies the files of these packages into an empty folder, laid out as Debian 12 is."""
    for folder in ("bin", "lib", "lib64", "sbin"):
        (root / "usr" / folder).mkdir(parents=True)
        (root / folder).symlink_to("usr/" + folder)
    for folder in ("dev", "proc", "tmp", "home"):
        (root / folder).mkdir()
    files = set()
    for package in packages:
        listed = subprocess.run(["dpkg", "-L", package], text=True, capture_output=True, check=False).stdout
        files.update(path for path in listed.splitlines()
                     if os.path.lexists(path) and not (os.path.isdir(path) and not os.path.islink(path)))
    names = "\n".join("./" + path.lstrip("/") for path in sorted(files) if not path.startswith("/usr/share/doc/"))
    packed = subprocess.Popen(["tar", "-C", "/", "--no-recursion", "-cf", "-", "-T", "/dev/stdin"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    unpacked = subprocess.Popen(["tar", "-C", str(root), "--keep-directory-symlink", "-xf", "-"], stdin=packed.stdout)
    packed.stdout.close()
    packed.stdin.write(names.encode())
    packed.stdin.close()
    if packed.wait() or unpacked.wait():
        raise AssertionError("the packages' files cannot be copied")
    run("ldconfig", "-r", root)


class Deb(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for program, package in PROGRAMS.items():
            if not shutil.which(program):
                raise AssertionError("%s is missing. HINT: apt-get install %s" % (program, package))
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        run("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", cls.folder / "deb")
        cls.debs = {re.match("[^_]*", path.name)[0]: path for path in (cls.folder / "deb").glob("*.deb")}

    def field(self, package, name):
        return run("dpkg-deb", "-f", self.debs[package], name).strip()

    def test_control(self):
        names = ["tessera", "tessera-torch"] if "TORCH" in os.environ else ["tessera"]
        self.assertEqual(sorted(self.debs), names)
        for name in names:
            self.assertEqual(self.field(name, "Package"), name)
            self.assertEqual(self.field(name, "Version"), VERSION)
            self.assertEqual(self.debs[name].name, "%s_%s_%s.deb" % (name, VERSION, self.field(name, "Architecture")))
            contents = run("dpkg-deb", "-c", self.debs[name])
            for file in ("LICENSE", "NOTICE"):
                self.assertIn("./usr/share/doc/%s/%s\n" % (name, file), contents)
            self.assertEqual("torch" in contents, name == "tessera-torch")
        depends = self.field("tessera", "Depends")
        for package in ("libc6 (>=", "libstdc++6 (>=", "libllvm22", "libmlir-22 (>=", "libfmt9", "libyaml-cpp0.7"):
            self.assertIn(package, depends)
        self.assertNotRegex(depends, r"-dev\b|g\+\+|cmake|python|torch")
        if len(names) == 2:
            self.assertIn("tessera (= %s)" % VERSION, self.field("tessera-torch", "Depends"))
        # Programs that are packaged depend on ours, too.
        run("dpkg-deb", "-e", self.debs["tessera"], self.folder / "control")
        self.assertEqual((self.folder / "control/shlibs").read_text().split(),
                         ["libtessera", VERSION.rsplit(".", 1)[0], "tessera", "(>=", VERSION + ")"])

    def test_example_in_an_empty_chroot(self):
        root = self.folder / "root"
        depends = [entry.split()[0] for entry in self.field("tessera", "Depends").split(",")]
        fill(root, closure(TOOLS + depends))
        self.assertFalse((root / "usr/include/llvm-22").exists())
        for name in ("c++", "cc"):  # made by update-alternatives, of no package
            (root / "usr/bin" / name).symlink_to("g++" if name == "c++" else "gcc")
        run("dpkg-deb", "-x", self.debs["tessera"], self.folder / "unpacked")
        run("cp", "-a", "%s/." % (self.folder / "unpacked/usr"), root / "usr")
        run("ldconfig", "-r", root)
        shutil.copytree(EXAMPLE, root / "home/example")
        for kind, place in (("--bind", "dev"), ("--bind", "proc")):
            run("mount", kind, "/" + place, root / place)
            self.addCleanup(run, "umount", "-l", root / place)

        def inside(command):
            return run("chroot", root, "/bin/sh", "-ec", "cd /home; " + command, environment={"HOME": "/home"})

        inside("cmake -S example -B out && cmake --build out")
        self.assertEqual(inside("out/example example/saxpy.py"), SAID % (2, 0))
        inside("g++ -std=c++20 example/main.cpp -o by_hand $(pkg-config --cflags --libs tessera)")
        self.assertEqual(inside("./by_hand example/saxpy.py"), SAID % (0, 2))
        self.assertIn(VERSION, inside("tessera version"))


if __name__ == "__main__":
    # The mounts are this process's own, and go with it.
    if "IN_NAMESPACE" not in os.environ:
        os.execvpe("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv],
                   {**os.environ, "IN_NAMESPACE": "1"})
    unittest.main()
