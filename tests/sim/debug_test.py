# tests/sim/debug_test.py - tessera debug on Triton's PTX of recorded cases: tiles and rows against the recorded tensors.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""PROGRAM names the program `tessera`."""
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CASES = HERE.parent / "cases"
sys.path.insert(0, str(CASES))
import sim_test  # ends with 77 where triton is not installed
import numpy as np

failures = []


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


def accumulator(temporary):
    """The accumulator behind the last tl.dot of either program is that program's part of A B."""
    folder, ptx = prepare("own_matmul-bf16.matmul_plain", temporary)
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
        if not error <= 1e-4:
            failures.append(f"accumulator of program {program}: {error}")


def loaded_row(temporary):
    """What tl.load brought in the first turn of a program: its row, and -inf behind the last column."""
    folder, _ = prepare("softmax", temporary)
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
                if value != want:
                    failures.append(f"row {program}, column {column}: {value}, recorded {want}")
    print(f"{seen} elements of a loaded row")
    if seen < columns:
        failures.append(f"only {seen} of {columns} columns seen")


def main():
    with tempfile.TemporaryDirectory() as temporary:
        for test in (accumulator, loaded_row):
            test(pathlib.Path(temporary))
    print("failures:", failures[:5] or "none")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
