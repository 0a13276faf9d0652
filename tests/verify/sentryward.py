# tests/verify/sentryward.py - runs sentryward, a static verifier of races and synchronization in PTX, on one launch.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The wheel is that of [verify] in scripts/deps.lock. install() puts it into build/verify, which only `make verify-ptx` uses."""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "verify" / "sentryward"
FLOATS = dict(f32="<f", f64="<d")
INTEGERS = dict(i32=("I", 4), i64=("Q", 8))  # as unsigned numbers: the verifier accepts no others
SIZES = dict(b8=1, u8=1, s8=1, b16=2, u16=2, s16=2, b32=4, u32=4, s32=4, f32=4, b64=8, u64=8, s64=8, f64=8)


def requirements():
    """The lines of [verify] in scripts/deps.lock."""
    lines, inside = [], False
    for line in (ROOT / "scripts" / "deps.lock").read_text().splitlines():
        if line.startswith("["):
            inside = line == "[verify]"
        elif inside and line.strip() and not line.startswith("#"):
            lines.append(line.strip())
    return lines


def install():
    """Installs the wheel with its hash, once for a version."""
    stamp, wanted = FOLDER / "requirements.txt", "\n".join(requirements()) + "\n"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(wanted)
        file.flush()
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:",
                        "--require-hashes", "--upgrade", "--target", FOLDER, "-r", file.name], check=True)
    stamp.write_text(wanted)


def parameters(ptx, kernel):
    """The types of the kernel's parameters, in order: "u64", "b32", ..."""
    head = ptx[ptx.index(f".entry {kernel}("):]
    head = head[head.index("("):head.index(")")]
    return [line.split(".param .")[1].split()[0] for line in head.splitlines() if ".param ." in line]


def pointers(ptx, kernel):
    """Whether each of the kernel's parameters is declared as a pointer, in order."""
    head = ptx[ptx.index(f".entry {kernel}("):]
    head = head[head.index("("):head.index(")")]
    return [".ptr" in line for line in head.splitlines() if ".param ." in line]


def scalar(number, value, type_):
    """A number that the launch passes, as an argument; `value`: its bits."""
    size = SIZES[type_]
    raw = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
    if type_ in FLOATS:
        return dict(parameter=number, type=type_, value=struct.unpack(FLOATS[type_], raw)[0])
    return dict(parameter=number, type=f"u{8 * size}", value=int.from_bytes(raw, "little"))


def integers(launch, address):
    """The values that a pointer addresses, for integers that the kernel reads, such as the offsets of packed sequences; None for another pointer.
    Branches and addresses depend on them, so the verifier needs their values."""
    for (_, first, size, flags), content, type_ in zip(launch["ranges"], launch["contents"], launch.get("types", ())):
        if first <= address < first + size and type_ in INTEGERS and not flags and size <= 16384:
            code, width = INTEGERS[type_]
            used = content[address - first:]
            return "u" + str(8 * width), list(struct.unpack(f"<{len(used) // width}{code}", used[:len(used) // width * width]))
    return None


def description(launch, blocks=2):
    """The launch as sentryward's input. Numbers and integer tensors that the kernel reads have the values of the launch. Other pointers
    stay symbolic, each to a separate object, also a null pointer, of which the verifier accepts no value. The grid has at most `blocks`
    programs on each axis, since the time grows with their number."""
    inside = [(address, address + size) for _, address, size, _ in launch["ranges"]]
    arguments, arrays = [], []
    kinds = zip(launch["values"], parameters(launch["ptx"], launch["kernel"]), pointers(launch["ptx"], launch["kernel"]))
    for number, (value, type_, pointer) in enumerate(kinds):
        if not pointer and not any(first <= value < end for first, end in inside):
            arguments.append(scalar(number, value, type_))
        elif known := integers(launch, value):
            arrays.append(dict(parameter=number, element_type=known[0], shapes=[known[1]]))
    three = [*launch["grid"], 1, 1][:3]
    what = dict(schema="spverify.kernel-input/v1",
                launch=dict(block_dim=[*launch["block"], 1, 1][:3], grid_dim=[min(blocks, extent) for extent in three],
                            dynamic_shared_bytes=launch["shared"]),
                arguments=arguments)
    return dict(what, shape_arrays=arrays) if arrays else what


def text(launch):
    """The PTX of the launch with its number of programs as constants, because the verified grid is smaller: a kernel that divides its
    work by tl.num_programs() would else do that of another launch. Comments and source locations are removed, so that a moved line of
    a kernel does not change the text."""
    ptx = "\n".join(line for line in launch["ptx"].splitlines() if not line.lstrip().startswith(("//", ".loc", ".file"))) + "\n"
    for axis, extent in zip("xyz", [*launch["grid"], 1, 1]):
        ptx = ptx.replace(f"%nctaid.{axis};", f"{extent};")
    return ptx


def verify(ptx, what, seconds):
    """(result, [codes of diagnostics], [texts]) for a PTX text and a description."""
    with tempfile.TemporaryDirectory(prefix="tessera-verify-") as folder:
        kernel, configuration = pathlib.Path(folder) / "kernel.ptx", pathlib.Path(folder) / "input.json"
        kernel.write_text(ptx)
        configuration.write_text(json.dumps(what))
        command = [sys.executable, "-m", "sentryward", kernel, "--input", configuration, "--timeout", str(seconds), "--memory-limit-mib", "6144"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 30, env=dict(os.environ, PYTHONPATH=str(FOLDER)))
        except subprocess.TimeoutExpired:
            return "timeout", [], []
    try:
        reply = json.loads(done.stdout)
    except ValueError:
        return "tool_failure", [f"exit status {done.returncode}"], [done.stderr[-300:]]
    found = reply.get("diagnostics", [])
    return reply["result"], sorted({one.get("code", "") for one in found}), [one.get("message", "") for one in found]
