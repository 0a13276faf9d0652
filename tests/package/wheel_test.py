# tests/package/wheel_test.py - the wheel, installed without network into a Python of its own, works and leaves nothing.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

from repository import ROOT

LIMIT = 120 << 20
# What manylinux promises, and what torch brings.
PROMISED = re.compile(r"(linux-vdso|ld-linux|lib(c|m|dl|rt|util|pthread|stdc\+\+|gcc_s)\.)")
PROGRAM = """
import importlib.metadata
import pathlib
import sys

import torch

import tessera
import tessera.language as tl

assert pathlib.Path(tessera.__file__).is_relative_to(sys.prefix), tessera.__file__
assert tessera.__version__ == importlib.metadata.version("tessera-kernels"), tessera.__version__


@tessera.jit
def matmul(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(A + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(B + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(C + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


torch.manual_seed(0)
a, b, c = torch.randn(100, 70), torch.randn(70, 50), torch.empty(100, 50)
matmul[(4, 2)](a, b, c, 100, 50, 70, BM=32, BN=32, BK=16, num_warps=4)
torch.testing.assert_close(c, a @ b, atol=1e-4, rtol=1e-4)
cu = torch.tensor([0, 20, 29], dtype=torch.int32)
q, k, v = torch.randn(29, 4, 16), torch.randn(29, 2, 16), torch.randn(29, 2, 16)
o, lse = tessera.ops.nsa_window_attention(q, k, v, cu, 20, 4)
rows = torch.arange(20)
seen = (rows[None, :] <= rows[:, None]) & (rows[None, :] > rows[:, None] - 4)
scores = torch.einsum("qhd,khd->hqk", q[:20], k[:20].repeat_interleave(2, 1)) / 4
want = torch.einsum("hqk,khd->qhd", scores.masked_fill(~seen, -torch.inf).softmax(-1),
                    v[:20].repeat_interleave(2, 1))
torch.testing.assert_close(o[:20], want, atol=1e-5, rtol=1e-5)
print("compiled", tessera.ops.kernel_stats()[0])
"""


def files(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


class TestWheel:
    @classmethod
    def setup_class(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.environment = {name: value for name, value in os.environ.items()
                           if not re.match("TESSERA_|LIBTESSERA|PYTHON|LD_LIBRARY_PATH", name)}
        cls.environment["TESSERA_CACHE_DIR"] = str(cls.folder / "cache")
        cls.environment["TESSERA_LOG"] = "warning"  # without the lines of progress of a busy machine
        cls.printed = cls.run_program(sys.executable, ROOT / "scripts/wheel", os.environ["BUILD"], "--out",
                                      cls.folder / "dist", "--also", cls.older_build())
        [cls.wheel] = (cls.folder / "dist").iterdir()
        cls.venv = cls.folder / "venv"
        cls.run_program(sys.executable, "-m", "venv", "--without-pip", cls.venv)
        cls.site = next((cls.venv / "lib").glob("python3.*")) / "site-packages"
        [torch] = [path for path in map(pathlib.Path, sys.path) if (path / "torch").is_dir()]
        cls.torch = str(torch / "torch/__init__.py")
        (cls.site / "existing_torch.pth").write_text(str(torch) + "\n")
        cls.before = files(cls.venv)
        cls.pip("install", "--no-index", "--no-deps", cls.wheel)

    @classmethod
    def older_build(cls):
        """A folder like that of a build with torch 2.13. Its files are those of the real build: the test checks only their paths."""
        older, torch = cls.folder / "older", cls.folder / "torch-2.13/torch"
        older.mkdir()
        torch.mkdir(parents=True)
        (torch / "version.py").write_text("__version__ = '2.13.1+cpu'\n")
        (older / "CMakeCache.txt").write_text(f"TESSERA_TORCH_ROOT:PATH={torch}\n")
        for name in ("lib", "bin"):
            (older / name).symlink_to(os.path.join(os.environ["BUILD"], name))
        return older

    @classmethod
    def teardown_class(cls):
        cls.temporary.cleanup()

    @classmethod
    def run_program(cls, *command):
        done = subprocess.run([str(part) for part in command], env=cls.environment, cwd=cls.folder, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode:
            raise AssertionError("%s: status %d\n%s" % (command, done.returncode, done.stdout))
        return done.stdout

    @classmethod
    def pip(cls, *arguments):
        return cls.run_program(sys.executable, "-m", "pip", "--disable-pip-version-check", "--python",
                               cls.venv / "bin/python", *arguments)

    def test_1_size_and_tag(self):
        assert self.wheel.stat().st_size < LIMIT
        assert re.search(r"^tessera_kernels-[\d.]+-py3-none-manylinux_2_\d+_x86_64\.whl$", self.wheel.name)
        assert re.search(r"MB  tessera/lib/compiler/libLLVM", self.printed)
        with zipfile.ZipFile(self.wheel) as wheel:
            [metadata] = [name for name in wheel.namelist() if name.endswith("/METADATA")]
            text = wheel.read(metadata).decode()
            licences = [name for name in wheel.namelist() if "/licenses/" in name]
        assert re.findall("^Requires-Dist: (.*)$", text, re.M) == ["torch>=2.13,!=2.14.*,<2.16", 'pyarrow==26.*; extra == "parquet"']
        assert "Requires-Python: >=3.11" in text
        for package in ("LICENSE", "NOTICE", "libllvm22.txt", "libmlir-22.txt"):
            assert package in [name.rsplit("/", 1)[1] for name in licences]
        assert str(ROOT) not in text

    def test_2_a_kernel_and_an_op(self):
        program = self.folder / "program.py"
        program.write_text(PROGRAM)
        assert re.search(r"^compiled [2-9]\n$", self.run_program(self.venv / "bin/python", program))

    def test_2_another_release_of_torch_has_its_own_library(self):
        def imported(version):
            stub = self.folder / version  # a folder for each: Python takes a compiled file of equal size and time
            stub.mkdir()
            (stub / "torch.py").write_text(f"__version__ = '{version}'\n\n\nclass ops:\n    tessera = None\n\n    def load_library(path):\n"
                                           "        raise SystemExit(path)\n")
            return subprocess.run([self.venv / "bin/python", "-c", "import tessera"], text=True, capture_output=True, check=False,
                                  env={**self.environment, "PYTHONPATH": str(stub)}).stderr

        assert imported("2.13.0") == f"{self.site}/tessera/lib/libtessera_torch-2.13.so\n"
        assert imported("2.15.2") == f"{self.site}/tessera/lib/libtessera_torch.so\n"
        assert "tessera is built for torch 2.13 and 2.15, and this Python has torch 2.14.0\n" in imported("2.14.0")
        # Programs that train are linked with one release.
        folder = self.folder / "installed/torch"
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("")
        (folder / "version.py").write_text("__version__ = '2.13.0'\n")
        for arguments, refused in ((["tessera-train"], True), (["tessera", "train"], True), (["tessera", "--version"], False)):
            done = subprocess.run([self.venv / "bin/python", "-c", "import sys\nsys.modules['tessera'] = type(sys)('tessera')\n"
                                   f"sys.modules['tessera'].__path__ = ['{self.site}/tessera']\nsys.argv = {arguments}\n"
                                   f"from tessera import _programs\n_programs.{arguments[0].replace('-', '_')}()"], text=True,
                                  capture_output=True, check=False, env={**self.environment, "PYTHONPATH": str(folder.parent)})
            message = f"{arguments[0]}: training needs torch 2.15, and this Python has torch 2.13; "
            assert done.stderr.startswith(message) == refused, done.stderr
            assert (done.returncode != 0) == refused, done.stderr

    def outside(self, names_and_paths):
        """Of libraries those that neither lie in the package nor are promised."""
        return [path for path in names_and_paths
                if str(self.site / "tessera") not in path and not PROMISED.match(path.rsplit("/", 1)[-1])]

    def test_3_the_worker_uses_what_came_with_it(self):
        done = subprocess.run([self.site / "tessera/bin/tessera-worker", "--selftest"], text=True, capture_output=True,
                              check=True, env={**self.environment, "LD_DEBUG": "libs"})
        loaded = [os.path.normpath(path) for path in re.findall(r"calling init: (/\S+)", done.stderr)]
        assert [path for path in loaded if "tessera/lib/compiler/libLLVM" in path]
        compiled = "/proc/self/fd/"  # the kernel of the self-test, from memory
        assert [path for path in self.outside(loaded) if not path.startswith(compiled)] == []

    def test_3_libraries_find_each_other(self):
        for binary, libraries in (("bin/tessera", "lib"), ("lib/libtessera_torch.so", None)):
            environment = {**self.environment, **({"LD_LIBRARY_PATH": str(self.site / "tessera/lib")}
                                                  if libraries else {})}
            listed = subprocess.run(["ldd", str(self.site / "tessera" / binary)], text=True, capture_output=True,
                                    check=True, env=environment).stdout
            paths = re.findall(r"=> (/\S+)", listed)
            assert [path for path in paths if "/tessera/lib/libfmt" in path], listed
            assert [path for path in self.outside(paths) if not re.search("/torch/|/nvidia/|/libgomp", path)] == []

    def test_3_stacks_have_names(self):
        """SIGUSR1 prints functions by the symbols of tessera-train; other binaries have none."""
        def symbols(name):
            return subprocess.run(["nm", self.site / "tessera/bin" / name], text=True, capture_output=True, check=True).stdout

        assert "_ZN7tessera7trainer3Run4stepEv" in symbols("tessera-train")
        assert "_ZN7tessera" not in symbols("tessera")

    def test_4_programs(self):
        for name in ("tessera", "tessera-train"):
            assert "tessera" in self.run_program(self.venv / "bin" / name, "--help")
        said = self.run_program(self.venv / "bin/tessera", "run", "kernels/tutorials/dilated_window.py", "--lengths",
                                "50,24", "--heads", "2", "--arg", "W=9")
        assert re.search(r"(?m)^ *O\b", said)

    def test_4_parquet_through_pyarrow(self):
        import pyarrow
        import pyarrow.parquet

        texts = ["one document of forty bytes or so. " * 20, "and another one", ""]
        pyarrow.parquet.write_table(pyarrow.table({"text": texts}), self.folder / "texts.parquet")
        said = self.run_program(self.venv / "bin/tessera", "data", "inspect", "texts.parquet")
        assert re.search(r"\b3\b.* rows|rows.*\b3\b", said)
        self.run_program(self.venv / "bin/tessera", "data", "verify", "texts.parquet")
        self.run_program(self.venv / "bin/tessera", "data", "prepare", "texts.parquet", "--out", "shards")
        assert list((self.folder / "shards").glob("train_*.bin"))
        # Without pyarrow the error names the package to install.
        reader = self.site / "tessera/bin/tessera-parquet"
        alone = subprocess.run([self.site / "tessera/bin/tessera", "data", "inspect", "texts.parquet"], cwd=self.folder,
                               text=True, capture_output=True, check=False,
                               env={**self.environment, "LD_LIBRARY_PATH": os.pathsep.join(
                                   [str(self.site / "tessera/lib"), os.path.join(os.path.dirname(self.torch), "lib")])})
        assert reader.is_file()
        assert alone.returncode == 1
        assert "pip install 'tessera-kernels[parquet]'" in alone.stderr

    def test_5_uninstall_leaves_nothing(self):
        assert len(files(self.venv) - self.before) > 60
        self.pip("uninstall", "-y", "tessera-kernels")
        assert files(self.venv) == self.before
        assert list(self.site.glob("tessera*")) == []
