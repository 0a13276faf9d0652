# tests/python/record_test.py - launches of the ops, recorded, replay: by tessera, and by Triton's interpreter.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import collections
import importlib.util
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

os.environ["TRITON_INTERPRET"] = "1"
import record_from_triton
import torch
from outliers import outlier_text
from repository import ROOT

LAUNCHES = str(ROOT / "tests/helpers/recorded_launches.py")

DTYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I32": torch.int32, "I64": torch.int64}
LIMITS = {torch.float32: 1e-5, torch.float16: 5e-3, torch.bfloat16: 1.6e-2}

OWN = '''# A file of a user: what is above the kernel does not shift its lines.
import math

import torch
import triton
import triton.language as tl

FACTOR: tl.constexpr = 3.0


def reference(x):
    return 3 * x + math.pi


@triton.jit
def shifted(x, BY: tl.constexpr):
    # comments of a helper stay where they are
    return x + BY


# tessera: cpu(BLOCK=64)
@triton.jit
def own(X, OUT, n, BLOCK: tl.constexpr, BY: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)

    x = tl.load(X + at, mask=at < n) * FACTOR
    tl.store(OUT + at, shifted(x, BY), mask=at < n)


if __name__ == "__main__":
    print(reference(torch.ones(1)))
'''


def read(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        begin, end = (8 + size + at for at in entry["data_offsets"])
        raw = torch.frombuffer(bytearray(data[begin:end]), dtype=torch.uint8) if end > begin else torch.zeros(0).byte()
        tensors[name] = raw.view(DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def view(tensor, entry):
    return torch.as_strided(tensor.reshape(-1), entry["shape"], entry["strides"])


def nested(values):
    """The arguments of a launch: `q.ptr` and `q.token` are the tuple q."""
    result = {}
    for name, value in values.items():
        parameter, _, field = name.partition(".")
        if field:
            result.setdefault(parameter, {})[field] = value
        else:
            result[parameter] = value
    return {name: collections.namedtuple("Fields", value)(**nested(value)) if isinstance(value, dict) else value
            for name, value in result.items()}


def module(path):
    spec = importlib.util.spec_from_file_location(path.parent.name.replace(".", "_") + "_" + path.stem, path)
    result = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(result)
    return result


class TestRecord:

    @classmethod
    def setup_class(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.out = pathlib.Path(cls.folder.name) / "cases"
        cls.recorded = cls.run_tessera("record", "--out", str(cls.out), "--limit", "2", sys.executable, LAUNCHES,
                                       "all")

    @classmethod
    def teardown_class(cls):
        cls.folder.cleanup()

    @staticmethod
    def run_tessera(*arguments):
        return subprocess.run([os.environ["PROGRAM"], *arguments], capture_output=True, text=True)

    def test_lists_what_it_recorded(self):
        assert self.recorded.returncode == 0, self.recorded.stderr
        names = sorted(path.name for path in self.out.iterdir())
        assert len(names) >= 7, names
        for name in ("rmsnorm_fwd", "rmsnorm_bwd", "window_fwd", "dense_fwd"):
            assert name in names
            assert name in self.recorded.stdout

    def test_replays(self):
        for options in ((), ("--serial",)):
            result = self.run_tessera("replay", str(self.out), *options)
            assert result.returncode == 0, result.stdout + result.stderr

    # What a launch needs to know of a batch is its tokens and how many sequences they are: lengths may stay on the device.
    def test_grids_follow_from_tokens_and_sequences(self):
        grids = []
        for lengths in (("28", "12"), ("12", "28"), ("20", "20")):  # as many compressed tokens, too
            out = pathlib.Path(self.folder.name) / "_".join(lengths)
            result = self.run_tessera("record", "--out", str(out), "--", sys.executable, LAUNCHES, "packed", *lengths)
            assert result.returncode == 0, result.stderr
            cases = [json.loads(path.read_text()) for path in sorted(out.glob("*/case.json"))]
            grids.append([(case["kernel"], case["grid"]) for case in cases])
        assert len(grids[0]) >= 19, grids[0]
        assert grids[0] == grids[1]
        assert grids[0] == grids[2]

    # The text that was written is a module for Triton, and computes the same there.
    def test_runs_under_triton(self):
        record_from_triton.mend_interpreter()
        for folder in sorted(self.out.iterdir()):
            case = json.loads((folder / "case.json").read_text())
            tensors = {name: tensor.clone() for name, tensor in read(folder / "before.safetensors").items()}
            values = dict(case["constexprs"])
            for entry in case["args"]:
                values[entry["name"]] = (view(tensors[entry["name"]], entry) if entry["kind"] == "pointer"
                                         else entry["value"])
            kernel = getattr(module(folder / case["kernel_file"]), case["kernel"])
            kernel[tuple(case["grid"])](**nested(values))
            entries = {entry["name"]: entry for entry in case["args"]}
            for name, want in read(folder / "after.safetensors").items():
                got, want = view(tensors[name], entries[name]), view(want, entries[name])
                if not want.dtype.is_floating_point:
                    assert torch.equal(got, want), (folder.name, name)
                    continue
                got, want = got.double(), want.double()
                finite = torch.isfinite(want)
                assert torch.equal(finite, torch.isfinite(got)), (folder.name, name)
                error = (got - want)[finite].norm() / want[finite].norm().clamp(min=1e-30)
                low = any(entry["dtype"] in ("bf16", "fp16") for entry in case["args"])
                limit = LIMITS[torch.bfloat16 if low else view(tensors[name], entries[name]).dtype]
                assert float(error) < limit, (folder.name, name)
                assert outlier_text(got, want, limit) == "", (folder.name, name)

    # A line of the recording is the line of the file it is from, so that what counts by line names the user's own.
    def test_keeps_lines_of_the_file(self):
        folder = pathlib.Path(self.folder.name)
        file, out = folder / "own.py", folder / "own"
        file.write_text(OWN)
        result = self.run_tessera("record", "--out", str(out), "--", sys.executable, LAUNCHES, "file", str(file))
        assert result.returncode == 0, result.stderr
        case = json.loads((out / "own" / "case.json").read_text())
        assert case["source"]["file"] == str(file)
        lines = (out / "own" / case["kernel_file"]).read_text().split("\n")
        for number, line in enumerate(OWN.split("\n")):
            assert (lines[number] if number < len(lines) else "") in (line, ""), number
            if line.startswith((" " * 4 + "at =", " " * 4 + "x = tl", " " * 4 + "tl.store", "def own", "def shifted", "FACTOR")):
                assert lines[number] == line
        result = self.run_tessera("replay", str(out))
        assert result.returncode == 0, result.stdout + result.stderr
        result = self.run_tessera("analyze", str(out / "own"), "--target", "sm_80")
        assert result.returncode == 0, result.stderr
        at = 1 + OWN.split("\n").index("    x = tl.load(X + at, mask=at < n) * FACTOR")
        assert re.search(rf"kernel\.py:{at}\b.*tl\.load", result.stdout)

    # Also kernels that import helpers. The recorded file contains the imported functions below the kernel, so that a case needs no other file.
    def test_keeps_lines_of_kernels_that_import(self):
        importing = 0
        for folder in sorted(self.out.iterdir()):
            case = json.loads((folder / "case.json").read_text())
            text, own = (folder / case["kernel_file"]).read_text(), pathlib.Path(case["source"]["file"]).read_text()
            lines = text.split("\n")
            for number, line in enumerate(own.rstrip("\n").split("\n")):
                future = number == 0 and lines[0] == "from __future__ import annotations"  # instead of the file's first comment
                assert future or (lines[number] if number < len(lines) else "") in (line, ""), (folder.name, number)
            at = next(n for n, line in enumerate(own.split("\n")) if line.startswith(f"def {case['kernel']}("))
            assert lines[at].startswith(f"def {case['kernel']}("), folder.name
            assert "from kernels." not in text
            for module, names in re.findall(r"^from kernels\.(\S+) import ([^(\n]+)$", own, re.M):
                path = ROOT / "kernels" / (module.replace(".", "/") + ".py")
                lines = path.read_text().split("\n")
                taken = [name for name in names.split(", ") if f" {name}(" in text or f"({name}(" in text]
                importing += bool(taken)
                for name in taken:
                    where = next((1 + n for n, line in enumerate(lines) if line.startswith(f"def {name}(")), None)
                    if where is None:
                        assert f"\nclass {name}(NamedTuple):\n" in text
                    else:
                        assert re.search(rf"# {path.name}:{where - 1}\n@triton\.jit\ndef {name}\(", text)
        assert importing >= 4

    def test_choice_and_mistakes(self):
        out = pathlib.Path(self.folder.name) / "chosen"
        result = self.run_tessera("record", "--out", str(out), "--kernels", "rmsnorm_*", "--", sys.executable, LAUNCHES,
                                  "all")
        assert result.returncode == 0, result.stderr
        assert sorted(path.name for path in out.iterdir()) == ["rmsnorm_bwd", "rmsnorm_fwd"]
        for arguments, part in (((), "nothing to run"), (("--otu", "x", "true"), "did you mean `--out`?"),
                                (("no-such-program-here",), "no program"),
                                (("--out", str(out) + "2", "true"), "recorded no launch")):
            result = self.run_tessera("record", *arguments)
            assert result.returncode != 0
            assert part in result.stderr

