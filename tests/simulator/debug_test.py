# tests/simulator/debug_test.py - tessera debug on Triton's PTX of recorded cases: tiles and rows against the recorded tensors.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""PROGRAM names the program `tessera`."""
import collections
import json
import os
import re
import shutil
import struct
import subprocess
import sys

import numpy as np
import sim_test
from repository import ROOT

CASES = ROOT / "tests/replay"


def tensors(path):
    """A safetensors file, in fp64."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    result = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        raw = data[slice(*entry["data_offsets"])]
        if entry["dtype"] == "BF16":
            values = (np.frombuffer(raw, np.uint16).astype(np.uint32) << 16).view(np.float32)
        else:
            values = np.frombuffer(raw, {"F32": np.float32, "I32": np.int32}[entry["dtype"]])
        result[name] = values.reshape(entry["shape"]).astype(np.float64)
    return result


def write_tensors(path, arrays):
    header, data = {}, b""
    for name, array in arrays.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def write_case(folder, kernel, arrays, n, block):
    """A launch of `kernel(*arrays, n, BLOCK)` with one program."""
    folder.mkdir()
    (folder / "kernel.py").write_text(kernel)
    for moment in ("before", "after"):
        write_tensors(folder / f"{moment}.safetensors", arrays)
    arguments = [{"name": name, "kind": "pointer", "dtype": "fp32", "shape": list(array.shape), "strides": [1],
                  "elements": array.size} for name, array in arrays.items()]
    arguments.append({"name": "n", "kind": "int", "dtype": "i32", "value": n})
    (folder / "case.json").write_text(json.dumps({
        "name": folder.name, "kernel": "kernel", "kernel_file": "kernel.py", "grid": [1], "written": ["OUT"], "constexprs": {"BLOCK": block},
        "args": arguments}))


def debug(folder, *arguments):
    done = subprocess.run([os.environ["PROGRAM"], "debug", str(folder), "--json", *arguments], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"tessera debug {' '.join(arguments)}: {done.stderr}")
    return json.loads(done.stdout)


def prepare(name, temporary):
    folder = temporary / name
    shutil.copytree(CASES / name, folder)
    ptx = sim_test.ptx_of(folder)
    (folder / "kernel.ptx").write_text(ptx)
    return folder, ptx


def test_accumulator(tmp_path):
    """The accumulator after the last tl.dot of either program is that program's part of A B."""
    folder, ptx = prepare("own_matmul-bf16.matmul_plain", tmp_path)
    before = tensors(folder / "before.safetensors")
    want = before["A"].reshape(64, 64) @ before["B"].reshape(64, 32)
    line = 1 + next(i for i, text in enumerate((folder / "kernel.py").read_text().splitlines()) if "tl.dot" in text)
    registers = []
    for match in re.finditer(r"^\s*mma\.sync.*?\{([^}]*)\}", ptx, re.M):
        registers += match[1].replace(" ", "").split(",")
    for program in (0, 1):
        got = debug(folder, "--line", str(line), "--hit", "last", "--program", str(program), "--as", "fp32", "--registers",
                    ",".join(registers), "--tile", "32x32", "--layout", "mma(m16n8, warps=2x2)")
        tile = np.array([float(text) for text in got["tile"]["elements"]]).reshape(32, 32)
        error = np.abs(tile - want[32 * program:32 * program + 32]).max()
        print(f"accumulator of program {program}: largest error {error:.1e}")
        assert error <= 1e-4, program


def test_loaded_row(tmp_path):
    """What tl.load brought in the first iteration of a program: its row, and -inf after the last column."""
    folder, _ = prepare("softmax", tmp_path)
    case = json.loads((folder / "case.json").read_text())
    columns = next(entry["value"] for entry in case["args"] if entry["name"] == "cols")
    row = tensors(folder / "before.safetensors")["IN"].reshape(-1)
    stride = next(entry["value"] for entry in case["args"] if entry["name"] == "stride_in")
    line = 1 + next(i for i, text in enumerate((folder / "kernel.py").read_text().splitlines()) if "tl.load" in text)
    program, seen = 3, 0
    got = debug(folder, "--line", str(line), "--program", str(program))
    selected = [entry for entry in got["instructions"] if entry["instruction"].startswith("selp.f32")]
    for entry in selected:
        for warp in entry["warps"]:
            for lane, value in enumerate(warp["registers"][0]["lanes"]):
                column = (32 * warp["warp"] + lane) % 128
                want = row[program * stride + column] if column < columns else "-inf"
                seen += value == want
                assert value == want, (program, column)
    print(f"{seen} elements of a loaded row")
    assert seen >= columns


def test_values(tmp_path):
    """--value prints tiles, rows and scalars by their names, compiled for either GPU."""
    folder = tmp_path / "values"
    shutil.copytree(CASES / "own_matmul-bf16.matmul_plain", folder)
    before = tensors(folder / "before.safetensors")
    a, b = before["A"].reshape(64, 64), before["B"].reshape(64, 32)
    lines = (folder / "kernel.py").read_text().splitlines()
    line = 1 + next(i for i, text in enumerate(lines) if "tl.dot" in text)
    for target in ("sm_80", "sm_90"):
        for program, hit, depth in ((0, "1", 16), (1, "last", 64), (1, "2", 32)):
            got = debug(folder, "--line", str(line), "--program", str(program), "--hit", hit, "--target", target, "--value", "acc",
                        "--value", "k", "--value", "tl.max(acc, axis=1)", "--value", "tl.load(ap)")
            acc, k, most, left = got["values"]
            rows = slice(32 * program, 32 * program + 32)
            want = a[rows, :depth] @ b[:depth]
            error = np.abs(np.array([float(text) for text in acc["elements"]]).reshape(32, 32) - want).max()
            print(f"acc of program {program} after {depth} products on {target}: largest error {error:.1e}")
            assert error <= 1e-4, f"acc of program {program} on {target}: {error}"
            error = np.abs(np.array([float(text) for text in most["elements"]]) - want.max(axis=1)).max()
            assert error <= 1e-4, f"the largest of acc's rows: {error}"
            part = np.array([float(text) for text in left["elements"]]).reshape(left["shape"])
            # Five digits of each value are printed.
            assert np.allclose(part, a[rows, depth - 16:depth], rtol=1e-4, atol=0), f"the left operand of program {program} on {target}"
            assert k["elements"] == [str(depth - 16)] and k["shape"] == [] and k["executions"] == 4, f"k is {k}"
            assert acc["type"] == "fp32[32, 32]" and acc["expression"] == "acc" and got["block"] == [program, 0, 0], f"{acc['type']}"


STATEMENTS = """
@triton.jit
def helper(x):
    y = (x +
         1.0)  # 5
    return (y *
            2.0)


@triton.jit
def one_line(x):
    w = x + 3.0; return w * 2.0


@triton.jit
def kernel(OUT, IN, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(IN + i, mask=i < n,
                other=float("inf"))  # padded
    if n > 2:
        x = helper(x); z = x + 1.0
        v = one_line(x)
    else:
        x = x
    tl.store(OUT + i, x, mask=i < n)
"""


def test_statements(tmp_path):
    """Where the print goes: statements of several lines, comments, brackets, helpers, returns."""
    folder = tmp_path / "statements"
    kernel = "import triton\nimport triton.language as tl\n\n" + STATEMENTS
    write_case(folder, kernel, {"OUT": np.zeros(3, np.float32), "IN": np.arange(3, dtype=np.float32)}, n=3, block=4)
    at = {text.strip(): 1 + i for i, text in enumerate(kernel.splitlines())}
    for text, name, want in (
            ("y = (x +", "y", ["1", "2", "3", "inf"]),
            ("1.0)  # 5", "y - x", ["1", "1", "1", "nan"]),
            ("return (y *", "y", ["1", "2", "3", "inf"]),
            ("2.0)", "y + 1.0", ["2", "3", "4", "inf"]),
            ("w = x + 3.0; return w * 2.0", "w", ["5", "7", "9", "inf"]),
            ("x = tl.load(IN + i, mask=i < n,", "x", ["0", "1", "2", "inf"]),
            ("x = helper(x); z = x + 1.0", "z", ["3", "5", "7", "inf"]),
            ("tl.store(OUT + i, x, mask=i < n)", "i < n", ["True", "True", "True", "False"])):
        got = debug(folder, "--line", str(at[text]), "--value", name)["values"][0]["elements"]
        assert got == want, f"{name} at `{text}`: {got}"
    shown = subprocess.run([os.environ["PROGRAM"], "debug", str(folder), "--line", str(at["y = (x +"]), "--value", "y"],
                           capture_output=True, text=True).stdout
    assert "y fp32[4], 1st of 1\n" in shown and re.search(r"0 +1 +2 +3 +inf\n", shown), shown
    for arguments, message, hint in (
            (["--line", str(at["if n > 2:"]), "--value", "x"], "is the head of a block", "a line of the block's body"),
            (["--line", "3", "--value", "x"], "is not a statement of a kernel", "the line of an assignment"),
            (["--line", str(at["x = x"]), "--value", "x"], "never comes to the line", "another --program or line"),
            (["--line", str(at["x = helper(x); z = x + 1.0"]), "--hit", "2", "--value", "x"], "did not run 2 times", "at most 1"),
            (["--line", str(at["y = (x +"]), "--value", "q"], "`q`", ""),
            (["--line", str(at["y = (x +"]), "--value", "y)"], "--value", ""),
            (["--line", str(at["y = (x +"]), "--value", "y", "--registers", "%r1"], "by itself", "leave out"),
            (["--line", "helper.py:7", "--value", "y"], "another file", "kernel file")):
        done = subprocess.run([os.environ["PROGRAM"], "debug", str(folder), *arguments], capture_output=True, text=True)
        assert done.returncode == 1 and message in done.stderr and hint in done.stderr, f"{arguments}: {done.stderr or done.stdout}"


CALLS = """
import triton
import triton.language as tl


@triton.jit
def row(P, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    return tl.load(P + i, mask=i < n, other=0.0)


@triton.jit
def kernel(OUT, IN, n, BLOCK: tl.constexpr):
    x = row(IN, n, BLOCK)
    y = row(OUT, n, BLOCK)
    tl.store(OUT + tl.arange(0, BLOCK), x + y, mask=tl.arange(0, BLOCK) < n)
"""


def test_calls(tmp_path):
    """The load of a helper that is called twice counts for each of its calls."""
    folder = tmp_path / "calls"
    write_case(folder, CALLS, {"OUT": np.zeros(64, np.float32), "IN": np.arange(64, dtype=np.float32)}, n=64, block=64)
    at = {text.strip(): 1 + i for i, text in enumerate(CALLS.splitlines())}
    load = at["return tl.load(P + i, mask=i < n, other=0.0)"]
    for target in ("sm_80", "sm_90"):
        done = subprocess.run([os.environ["PROGRAM"], "analyze", str(folder), "--target", target, "--json"], capture_output=True,
                              text=True)
        assert done.returncode == 0, done.stderr
        sectors = collections.Counter()
        for place, sums in json.loads(done.stdout)["lines"].items():
            if match := re.fullmatch(rf"kernel\.py:{load}:\d+, inlined at kernel\.py:(\d+):\d+", place):
                sectors[int(match[1])] += sums["sectors"]
        # 64 floats are 8 sectors.
        assert sectors == {at["x = row(IN, n, BLOCK)"]: 8, at["y = row(OUT, n, BLOCK)"]: 8}, f"sectors by call on {target}: {sectors}"
    shown = subprocess.run([os.environ["PROGRAM"], "analyze", str(folder)], capture_output=True, text=True).stdout
    for call in ("x = row(IN, n, BLOCK)", "y = row(OUT, n, BLOCK)"):
        assert f"kernel.py:{load} in kernel.py:{at[call]} " in shown, shown


def test_machine_code(tmp_path):
    """Each instruction of the disassembly appears once, below its line, and a load below the line that loads."""
    case = CASES / "own_matmul-bf16.matmul_plain"
    found = subprocess.run([os.environ["PROGRAM"], "analyze", str(case), "--sass", "--json"], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    text = (case / "kernel.py").read_text().splitlines()
    grouped, seen = json.loads(found.stdout)["sass"], collections.Counter()
    words = {"LDGSTS": "tl.load", "LDG": "tl.load", "HMMA": "tl.dot", "STG": "tl.store"}
    addresses = []
    for place, code in grouped.items():
        line = text[int(place.split(":")[1]) - 1] if place != "-" else ""
        for instruction in code:
            match = re.fullmatch(r"([0-9a-f]{4,})  (?:@!?U?P(?:\d+|T) )?([A-Z0-9]+)\b.*", instruction)
            assert match, instruction
            addresses.append(int(match[1], 16))
            if match[2] in words and line:
                seen[match[2]] += 1
                assert words[match[2]] in line, f"{instruction} below `{line}`"
        assert code == sorted(code), f"not by address: {place}"
    assert len(set(addresses)) == len(addresses) > 100 and 0 in addresses and all(at % 16 == 0 for at in addresses), "an address is there twice"
    assert seen["HMMA"] and seen["STG"], f"{seen}"
    shown = subprocess.run([os.environ["PROGRAM"], "analyze", str(case), "--sass"], capture_output=True, text=True).stdout
    shown = shown.split("\nmachine code by line\n\n")[1].splitlines()
    for place, code in grouped.items():
        at = next(i for i, line in enumerate(shown) if line.startswith(("(no line)" if place == "-" else place) + "  "))
        assert f"  {len(code)} instruction" in shown[at], shown[at]
        assert [line[4:] for line in shown[at + 1:at + 1 + len(code)]] == code, f"below {place}"
    other = subprocess.run([os.environ["PROGRAM"], "analyze", str(tmp_path / "none.ptx"), "--sass"], capture_output=True, text=True)
    assert other.returncode == 1, other.stdout
