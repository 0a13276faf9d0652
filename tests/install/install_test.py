# tests/install/install_test.py - a program finds, builds on and runs with an installed tessera that was moved.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from installed import BUILD, EXAMPLE, ROOT, SAID, VERSION, Installed, run

HEADERS = {"Kernel.h": "runtime", "Arguments.h": "runtime", "Constexprs.h": "language", "Error.h": "support", "Diagnostics.h": "support"}
# What a program loads with the library: of these no LLVM, no MLIR and no torch.
NEEDED = re.compile(r"(lib(yaml-cpp|spdlog|fmt|stdc\+\+|m|gcc_s|c)|ld-linux-x86-64)\.so")


class TestLibrary(Installed):
    def exported(self, name):
        """{demangled name: version} of what a library shows."""
        listed = run("nm", "-DC", "--defined-only", self.prefix / "lib" / name)
        found = dict(re.fullmatch(r"\w* +[A-Z] (.*?)(?:@@(.*))?", line, re.I).groups() for line in listed.splitlines())
        return {symbol: version for symbol, version in found.items() if not symbol.startswith("TESSERA_")}

    def test_nothing_of_others_is_shown(self):
        symbols = self.exported("libtessera.so")
        for symbol, version in symbols.items():
            assert re.search(r"^((vtable|typeinfo|typeinfo name) for )?tessera::", symbol)
            hidden = re.search(r"^[^(]*tessera::(runtime|syntax|sim|tune)::", symbol)
            if version == "TESSERA_" + VERSION.rsplit(".", 1)[0]:
                assert not hidden, symbol
            else:
                assert version == "TESSERA_PRIVATE_" + VERSION, symbol
        assert "typeinfo for tessera::Error" in symbols

    def test_libraries_keep_their_runtime_to_themselves(self):
        """The build's libraries contain the runtime and hide it, so that a program may load libtessera.so as well."""
        if "TORCH" in os.environ:
            shown = run("nm", "-DC", "--defined-only", BUILD / "lib/libtessera_torch.so")
            assert re.findall(r"(?m)^\w+ [TBDR] (tessera::.*|YAML::.*|spdlog::.*)$", shown) == []
            assert "typeinfo for tessera::Error" in shown  # which is thrown through it

    def test_all_that_the_headers_declare_is_shown(self):
        text = "".join((ROOT / folder / name).read_text() for name, folder in HEADERS.items())
        text = re.sub(r"\nprivate:.*?\n};", "\n};", text, flags=re.S)
        names = set(re.findall(r"(~?\w+)\(", text))
        shown = set(self.exported("libtessera.so"))
        declared = set()
        for archive in ("support", "runtime"):
            listed = subprocess.run(["nm", "-C", "--defined-only", str(BUILD / f"lib/libtessera_{archive}.a")],
                                    text=True, capture_output=True, check=True).stdout
            for symbol in re.findall(r"(?m)^\w+ T (.*)$", listed):
                name = re.match(r"tessera::(?:(?:Kernel|PreparedLaunch|ScopedParallelFor|SourceFile|Diagnostic)::)?"
                                r"(~?\w+)(?:\[abi:cxx11\])?\(", symbol)
                if name and name[1] in names:
                    declared.add(symbol)
        assert len(declared) > 30
        assert declared - shown == set()

    def test_versions_and_what_it_needs(self):
        short = VERSION.rsplit(".", 1)[0]
        for name in ("libtessera.so", "libtessera_torch.so")[:2 if "TORCH" in os.environ else 1]:
            dynamic = run("readelf", "-dW", self.prefix / "lib" / name)
            assert "soname: [%s.%s]" % (name, short) in dynamic
            assert os.readlink(self.prefix / "lib" / name) == "%s.%s" % (name, short)
            assert (self.prefix / "lib" / name).resolve().name == "%s.%s" % (name, VERSION)
            needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
            if name == "libtessera.so":
                assert [library for library in needed if not NEEDED.match(library)] == []
                assert "RUNPATH" not in dynamic
            else:
                assert "libtessera.so." + short in needed

    def test_no_folder_of_the_build_is_named(self):
        for file in self.prefix.rglob("*"):
            if file.is_file() and not file.is_symlink():
                for folder in (BUILD, self.folder / "first"):
                    assert str(folder).encode() not in file.read_bytes(), "%s names %s" % (file, folder)

    def test_kernels_and_tables_are_those_of_the_repository(self):
        share = self.prefix / "share/tessera"
        tracked = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard", "kernels",
                                  "configs"], text=True,
                                 capture_output=True, check=True).stdout.splitlines()
        files = {str(path.relative_to(share)): path.read_bytes() for path in share.rglob("*") if path.is_file()}
        assert files == {name: (ROOT / name).read_bytes() for name in tracked}


class TestPrograms(Installed):
    def test_each_header_alone(self):
        include = self.prefix / "include"
        torch = {"Attention.h"} if "TORCH" in os.environ else set()
        assert {path.name for path in (include / "tessera").iterdir()} == {*HEADERS, *torch, "Diagnostics.def"}
        for name in HEADERS:
            source = self.folder / "alone.cpp"
            source.write_text("#include <tessera/%s>\n" % name)
            run("g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", include, source)

    def test_the_documentation_shows_the_example(self):
        page = (ROOT / "docs/cpp.md").read_text()
        for name, language in (("main.cpp", "cpp"), ("CMakeLists.txt", "cmake"), ("saxpy.py", "python")):
            text = (EXAMPLE / name).read_text().split("SPDX-License-Identifier: Apache-2.0\n")[1]
            text = text.split("import triton.language as tl\n\n\n")[-1]
            assert "```%s\n%s```" % (language, text) in page
        assert SAID.replace("%d", "2", 1).replace("%d", "0").replace("\n", "\n    ").rstrip() in page

    def test_example_with_cmake(self):
        program, home = self.build(EXAMPLE) / "example", self.home()
        assert run(program, EXAMPLE / "saxpy.py", environment=home) == SAID % (2, 0)
        assert run(program, EXAMPLE / "saxpy.py", environment=home) == SAID % (0, 2)

    def test_example_with_the_flags_of_pkg_config(self, cleanups):
        text = (self.prefix / "lib/pkgconfig/tessera.pc").read_text()
        names = {"pcfiledir": str(self.prefix / "lib/pkgconfig"), **dict(re.findall(r"(?m)^(\w+)=(.*)$", text))}

        def flags(field):
            value = re.search(r"(?m)^%s: *(.*)$" % field, text)[1]
            while "${" in value:
                value = re.sub(r"\$\{(\w+)\}", lambda name: names[name[1]], value)
            return value.split()

        assert flags("Version") == [VERSION]
        program = self.folder / "by_hand"
        run("g++", "-std=c++20", EXAMPLE / "main.cpp", "-o", program, *flags("Cflags"), *flags("Libs"))
        deeper = self.prefix / "lib/x86_64-linux-gnu"  # where some install libraries
        deeper.mkdir()
        cleanups.callback(shutil.rmtree, deeper)
        for library in (self.prefix / "lib").glob("libtessera.so*"):
            shutil.copy(library, deeper)
        for folder in (self.prefix / "lib", deeper):
            loader = {"LD_LIBRARY_PATH": str(folder)}
            assert run(program, EXAMPLE / "saxpy.py", environment={**loader, **self.home()}) == SAID % (2, 0)

    def test_another_version_is_refused(self):
        major, minor, _ = VERSION.split(".")
        for version, status in ((minor, 0), (int(minor) + 1, 1), (int(minor) - 1, 1)):
            with tempfile.TemporaryDirectory(dir=self.folder) as folder:
                (pathlib.Path(folder) / "CMakeLists.txt").write_text(
                    "cmake_minimum_required(VERSION 3.16)\nproject(any LANGUAGES NONE)\n"
                    "find_package(tessera %s.%s REQUIRED)\n" % (major, version))
                run("cmake", "-S", folder, "-B", folder + "/out", "-DCMAKE_PREFIX_PATH=%s" % self.prefix, status=status)

    def test_installed_program(self):
        said = run(self.prefix / "bin/tessera", "run", "kernels/tutorials/dilated_window.py", "--lengths", "50,24",
                   "--heads", "2", "--arg", "W=9", environment=self.home())
        assert re.search(r"(?m)^ *O\b", said)


class TestMissing(Installed):
    """Missing files: the error has the path and what to do."""

    @classmethod
    def setup_class(cls):
        super().setup_class()
        cls.program = cls.build(cls, EXAMPLE) / "example"

    def said(self, argument, home=None):
        return run(self.program, argument, environment=home or self.home(), status=1, folder=self.folder)

    def without(self, part, cleanups):
        """Moves a folder of the installation away until the test is over."""
        away = self.folder / "away"
        (self.prefix / part).rename(away)
        cleanups.callback(away.rename, self.prefix / part)

    def test_no_worker(self, cleanups):
        home = self.home()
        run(self.program, EXAMPLE / "saxpy.py", environment=home)
        self.without("libexec", cleanups)
        said = self.said(EXAMPLE / "saxpy.py")
        assert "tessera-worker is not there; looked in:" in said
        assert " %s/libexec/tessera " % self.prefix in said.replace("\n", " ")
        assert re.search(r"HINT: .*cmake --install.*TESSERA_WORKER", said)
        # What was compiled before needs none.
        assert run(self.program, EXAMPLE / "saxpy.py", environment=home) == SAID % (0, 2)

    def test_no_kernels(self, cleanups):
        self.without("share", cleanups)
        said = self.said(EXAMPLE / "saxpy.py")
        assert ("no kernel file kernels/nn/reduce_rows.py: no folder `kernels` or `share/tessera/kernels` "
                      "above %s/lib/libtessera.so.%s or %s, nor in the current folder %s"
                      % (self.prefix, VERSION, self.program, self.folder)) in said
        assert re.search(r"HINT: .*cmake --install.*TESSERA_KERNELS", said)
        # Of the program, which has the runtime inside.
        said = run(self.prefix / "bin/tessera", "run", "kernels/nn/rope.py", environment=self.home(), status=1,
                   folder=self.folder)
        assert " above %s/bin/tessera, nor in" % self.prefix in said

    def test_no_such_kernel(self, cleanups):
        program = shutil.copy(self.program, self.prefix / "bin")  # which has the same folder above it
        cleanups.callback(os.remove, program)
        said = run(program, "kernels/nn/reduce_row.py", environment=self.home(), status=1, folder=self.folder)
        assert ("no kernel file kernels/nn/reduce_row.py in %s/share/tessera/kernels, nor in the current folder %s"
                      % (self.prefix, self.folder)) in said
        assert re.search("HINT: check the name", said)
        assert "no kernel file saxpi.py in the current folder" in self.said("saxpi.py")


class TestTorch(Installed):
    source = ROOT / "tests/install/torch"

    def configure(self, *options, status=0):
        out = tempfile.mkdtemp(dir=self.folder)
        return run("cmake", "-G", "Ninja", "-S", self.source, "-B", out, "-DCMAKE_PREFIX_PATH=%s" % self.prefix, *options,
                   status=status)

    def test_one_runtime(self):
        program = self.build(self.source, "-DTorch_ROOT=" + os.environ["TORCH"]) / "program"
        assert run(program, EXAMPLE / "saxpy.py", environment=self.home()) == (
            "by tessera::kernelStats(): 2, by the op: 2\nattention and its gradients are those of torch\n")

    def test_no_torch(self):
        assert re.search(r"torch \d+\.\d+\s+was\s+not\s+found:\s+set\s+Torch_ROOT", self.configure(status=1))

    def test_another_torch(self):
        folder = self.folder / "torch"
        header = folder / "include/torch/headeronly/version.h"
        header.parent.mkdir(parents=True)
        header.write_text("#define TORCH_VERSION_MAJOR 1\n#define TORCH_VERSION_MINOR 13\n")
        said = " ".join(self.configure("-DTorch_ROOT=%s" % folder, status=1).split())
        assert re.search(r"the torch ops are for torch \d+\.\d+, \S+ is 1\.13: set Torch_ROOT", said)

    def test_ops_not_installed(self, cleanups):
        library = self.prefix / "lib/libtessera_torch.so"
        away = shutil.move(library, self.folder)
        cleanups.callback(shutil.move, away, library)
        said = " ".join(self.configure("-DTorch_ROOT=" + os.environ["TORCH"], status=1).split())
        assert "no %s: install the component torch" % library in said


class TestTraining(Installed):
    """`tessera train` of the installation, with a torch that it was not linked to."""

    def said(self, *arguments, status=0, **environment):
        return run(self.prefix / "bin/tessera", *arguments, folder=self.folder, status=status,
                   environment={**self.home(), **environment})

    def test_dry_run(self):
        said = self.said("train", "--config", "configs/quickstart.yaml", "--dry-run", Torch_ROOT=os.environ["TORCH"])
        assert re.search(r"(?m)^ *train\.seq_len\b.*\b512\b", said)
        assert str(ROOT) not in said
        with tempfile.TemporaryDirectory(dir=self.folder) as own:  # of that name in the current folder
            (pathlib.Path(own) / "configs").mkdir()
            (pathlib.Path(own) / "configs/quickstart.yaml").write_text("train:\n  seq_len: 64\n")
            said = run(self.prefix / "bin/tessera", "train", "--config", "configs/quickstart.yaml", "--dry-run", folder=own,
                       environment={**self.home(), "Torch_ROOT": os.environ["TORCH"]})
            assert re.search(r"(?m)^ *train\.seq_len\b.*\b64\b", said)

    def test_trains_and_writes(self):
        (self.folder / "text").write_text("the tile of stone is laid upon a floor, and walls rise. " * 200)
        out, torch = self.folder / "run", {"Torch_ROOT": os.environ["TORCH"]}
        self.said("train", "--config", "configs/sim_smoke.yaml", "data.path=text", "out=%s" % out, **torch)
        records = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        losses = [record["bpb"] for record in records if "bpb" in record]
        assert len(losses) == 3
        for bits in losses:
            assert abs(bits - 8) < 1  # of a byte, from a model that knows nothing yet
        said = self.said("generate", "--run", out, "--prompt", "the", "--tokens", "5", **torch)
        assert said.startswith("the"), said
        assert "fwd" in self.said("bench", "--help", **torch)

    def test_libraries_are_those_of_the_installation(self):
        program = self.prefix / "libexec/tessera/tessera-train"
        listed = run("ldd", program, environment={"LD_LIBRARY_PATH": os.environ["TORCH"] + "/lib"})
        paths = dict(re.findall(r"(\S+) => (\S+)", listed))
        for name in ("libtessera_torch.so", "libtessera.so." + VERSION.rsplit(".", 1)[0]):
            assert pathlib.Path(paths[name]).resolve().parent == (self.prefix / "lib").resolve(), listed
        assert "not found" not in listed

    def test_torch_of_python(self):
        programs = self.folder / "programs"
        programs.mkdir()
        for torch, status, words in ((os.environ["TORCH"], 0, "train.seq_len"), ("", 1, "torch was not found")):
            (programs / "python3").write_text("#!/bin/sh\nprintf '%%s' '%s'\n" % torch)
            (programs / "python3").chmod(0o755)
            said = self.said("config", status=status, PATH="%s:/usr/bin:/bin" % programs)
            assert words in said
        assert re.search(r"HINT: .*Torch_ROOT", said)

    def test_another_torch_is_refused(self):
        folder = self.folder / "other"
        assert "is not a folder of torch" in self.said("config", status=1, Torch_ROOT=str(folder))
        for name, text in (("lib/libtorch_cpu.so", ""), ("include/torch/headeronly/version.h", "#define TORCH_VERSION_MAJOR 1\n"
                                                         "#define TORCH_VERSION_MINOR 13\n")):
            (folder / name).parent.mkdir(parents=True)
            (folder / name).write_text(text)
        said = self.said("config", status=1, Torch_ROOT=str(folder))
        assert re.search(r"was built for torch \d+\.\d+, and %s is 1\.13" % folder, said)

    def test_without_the_torch_part(self, cleanups):
        away = shutil.move(self.prefix / "libexec/tessera/tessera-train", self.folder)
        cleanups.callback(shutil.move, away, self.prefix / "libexec/tessera")
        said = self.said("train", "--dry-run", status=1)
        assert "tessera-train is not there; looked in: %s/bin %s/libexec/tessera" % (self.prefix, self.prefix) in said
        assert "tessera-torch" in said


if "TORCH" not in os.environ:
    del TestTorch, TestTraining  # a build without torch does not have these files
