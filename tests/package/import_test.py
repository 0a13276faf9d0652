# tests/package/import_test.py - `import tessera`: what it finds, what it offers, and its errors when something is missing.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import ast
import inspect
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import types

import pytest
import torch

import tessera
from tessera import _programs
from tessera._names import references

PACKAGE = pathlib.Path(tessera.__file__).parent
TYPES = {"Tensor": "Tensor", "int": "int", "SymInt": "int", "float": "float", "bool": "bool", "str": "str",
         "number": "float", "Scalar": "float"}


OUTSIDE = types.SimpleNamespace(first=1)


def annotation(kind):
    """How Python writes a type of torch's schemas."""
    text = str(kind)
    if text.startswith("Optional["):
        return annotation(text[9:-1]) + " | None"
    if text.startswith("List["):
        return "Sequence[%s]" % annotation(text[5:-1])
    return TYPES[text]


def child(code, **environment):
    """(exit status, stdout and stderr) of a Python with this environment."""
    own = {**os.environ, **environment}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], env=own, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    return done.returncode, done.stdout


class TestTypes:
    def test_widths_are_those_of_torch(self):
        named = {"int1": None, "float8e4nv": torch.float8_e4m3fn, "float8e5": torch.float8_e5m2}
        widths = {name: kind.primitive_bitwidth for name, kind in tessera.language.DTYPES.items()}
        for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32", "float64"):
            named[name] = getattr(torch, name)
        for name, kind in named.items():
            assert widths[name] == (8 * kind.itemsize if kind else 1), name
        assert {widths[name] for name in widths if name not in named} == {8}, "the other 8-bit floats"


class TestNames:
    def test_references_are_the_longest_chains(self):
        def function(x, y=OUTSIDE.first):
            inside = x.shape
            return OUTSIDE.second.third + inside + len(x)

        source = textwrap.dedent(inspect.getsource(function))
        found = references(ast.parse(source).body[0], function, set())
        assert sorted(one.path for one in found) == [("OUTSIDE", "first"), ("OUTSIDE", "second", "third"), ("len",)]


class TestStubs:
    def test_stubs_are_the_schemas(self, subtests):
        functions = [node for node in ast.parse((PACKAGE / "ops.pyi").read_text()).body
                     if isinstance(node, ast.FunctionDef)]
        assert len(functions) >= 17
        for function in functions:
            with subtests.test(op=function.name):
                schema = torch._C._get_schema("tessera::" + function.name, "")
                want = [(a.name, annotation(a.type)) for a in schema.arguments]
                have = [(a.arg, ast.unparse(a.annotation)) for a in [*function.args.args, *function.args.kwonlyargs]]
                assert have == want
                defaults = [a.default_value for a in schema.arguments if a.has_default_value()]
                given = [*function.args.defaults, *(node for node in function.args.kw_defaults if node)]
                assert [ast.literal_eval(node) for node in given] == defaults
                assert [a.arg for a in function.args.kwonlyargs] == [a.name for a in schema.arguments if a.kwarg_only]
                results = [annotation(r.type) for r in schema.returns]
                result = "None" if not results else results[0] if len(results) == 1 else \
                    "tuple[%s]" % ", ".join(results)
                assert ast.unparse(function.returns) == result
                assert ast.get_docstring(function)
                assert getattr(tessera.ops, function.name) is getattr(torch.ops.tessera, function.name)
        public = {name for name in vars(tessera.ops) if not name.startswith("_")} - {"torch"}
        assert public == {function.name for function in functions}

    def test_typed(self):
        assert (PACKAGE / "py.typed").is_file()


class TestImport:
    def test_an_op_runs(self):
        cu = torch.tensor([0, 5, 12], dtype=torch.int32)
        q, k, v = torch.randn(12, 2, 16), torch.randn(12, 1, 16), torch.randn(12, 1, 16)
        o, lse = tessera.ops.dense_attention(q, k, v, cu, 7)
        scores = torch.einsum("qhd,kd->hqk", q[:5].double(), k[:5, 0].double()) / 4
        scores = scores.masked_fill(~torch.ones(5, 5).tril().bool(), float("-inf"))
        want = torch.einsum("hqk,kd->qhd", scores.softmax(-1), v[:5, 0].double())
        assert (o[:5] - want).abs().max().item() < 1e-5
        assert (lse[:, :5] - scores.logsumexp(-1)).abs().max().item() < 1e-5

    def test_import_leaves_triton_alone(self):
        code = "import sys; known = 'triton' in sys.modules; import tessera; assert ('triton' in sys.modules) == known"
        assert child(code) == (0, "")

    def test_named_library(self):
        code = "import tessera; print(tessera._library.path())"
        library = os.environ["LIBTESSERA_TORCH"]
        assert child(code) == (0, f"{library}\n")
        status, text = child(code, LIBTESSERA_TORCH="/nowhere/lib.so")
        assert status == 1
        assert "ImportError: LIBTESSERA_TORCH=/nowhere/lib.so is not a file\nHINT: set it to the path of" in text

    def test_no_library_next_to_the_package(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder, "python", "tessera")
            copy.mkdir(parents=True)
            for file in PACKAGE.glob("*.py*"):
                (copy / file.name).write_bytes(file.read_bytes())
            status, text = child("import tessera", LIBTESSERA_TORCH="", PYTHONPATH=str(copy.parent))
            assert status == 1
            assert f"is not in {copy}/lib or {folder}/build/release/lib\n" in text
            assert "HINT: in a checkout, run scripts/build release tessera_ops" in text

    def test_a_library_that_is_none(self):
        with tempfile.TemporaryDirectory() as folder:
            library = pathlib.Path(folder, "libtessera_torch.so")
            library.write_text("no library")
            status, text = child("import tessera", LIBTESSERA_TORCH=str(library))
        assert status == 1
        assert f"ImportError: {library} cannot be loaded" in text
        assert "HINT:" in text

    def test_a_library_that_others_can_change(self):
        with tempfile.TemporaryDirectory() as folder:
            shared = pathlib.Path(folder, "shared")
            shared.mkdir()
            library = shared / "libtessera_torch.so"
            library.write_text("no library")
            for changed, mode in ((library, 0o666), (shared, 0o777)):
                before = changed.stat().st_mode
                changed.chmod(mode)
                status, text = child("import tessera", LIBTESSERA_TORCH=str(library))
                changed.chmod(before)
                assert status == 1
                assert (f"ImportError: {library} is not loaded: {changed} is writable by others\n"
                              f"HINT: if you trust its contents, run: chmod go-w {changed}") in text
            shared.chmod(0o1777)
            assert "cannot be loaded" in child("import tessera", LIBTESSERA_TORCH=str(library))[1]

    def fake_torch(self, text):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "torch.py").write_text(text)
            return child("import tessera", PYTHONPATH=folder + os.pathsep + os.environ["PYTHONPATH"])

    def test_no_torch(self):
        status, text = self.fake_torch("raise ImportError('none')")
        assert status == 1
        assert ("ImportError: tessera runs on torch, which this Python does not have\n"
                      "HINT: pip install 'torch==2.15.*'") in text

    def test_another_torch(self):
        status, text = self.fake_torch("__version__ = '2.1.1'")
        assert status == 1
        assert ("ImportError: tessera is built for torch 2.15, and this Python has torch 2.1.1\n"
                      "HINT: pip install 'torch==2.15.*'") in text


class TestPrograms:
    """The console scripts with an older torch than training needs."""

    def run(self, monkeypatch, tmp_path, program, *arguments):
        """How the script of the program ends: the arguments of os.execv, or the message."""
        (tmp_path / "version.py").write_text("__version__ = '2.1.0'\n")
        monkeypatch.setattr(_programs.importlib.util, "find_spec", lambda name: types.SimpleNamespace(origin=str(tmp_path / "__init__.py")))
        monkeypatch.setattr(_programs, "__file__", str(tmp_path / "_programs.py"))
        monkeypatch.setattr(sys, "argv", [program, *arguments])
        monkeypatch.setenv("LD_LIBRARY_PATH", "")
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / program).touch()
        found = []
        monkeypatch.setattr(os, "execv", lambda file, words: found.append((str(file), words)))
        try:
            {"tessera": _programs.tessera, "tessera-train": _programs.tessera_train}[program]()
        except SystemExit as end:
            return str(end)
        return found[0]

    @pytest.mark.parametrize("words", [("tessera",), ("tessera", "compile", "train"), ("tessera", "--help")])
    def test_other_commands_start(self, monkeypatch, tmp_path, words):
        assert self.run(monkeypatch, tmp_path, *words) == (str(tmp_path / "bin" / "tessera"), list(words))

    @pytest.mark.parametrize("words", [("tessera", "train"), ("tessera", "bench", "nsa"), ("tessera-train",), ("tessera-train", "--help")])
    def test_training_needs_its_torch(self, monkeypatch, tmp_path, words):
        assert f"{words[0]}: training needs torch {_programs.TORCH}, and this Python has torch 2.1;" in self.run(monkeypatch, tmp_path, *words)
