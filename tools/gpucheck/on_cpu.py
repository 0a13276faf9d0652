# tools/gpucheck/on_cpu.py - launches on this machine's processor, for shapes that the interpreter takes too long for.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""A launch becomes a case whose results are what our own code for the cpu writes. PROGRAM names the tessera binary."""
import inspect
import json
import os
import pathlib
import subprocess
import tempfile

import record_from_triton as recorder
import torch


def storage(tensor):
    """All elements from the tensor's first to its last in memory order, as a view."""
    return torch.as_strided(tensor, (recorder._span(tensor),), (1,), tensor.storage_offset())


def read_safetensors(path):
    data = pathlib.Path(path).read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    return {name: data[8 + length + e["data_offsets"][0]:8 + length + e["data_offsets"][1]] for name, e in header.items()}


def launch(folder, kernel, grid, args, constexprs, options):
    """Writes the case into `folder`, the results also into the tensors."""
    folder = pathlib.Path(folder)
    jit = recorder.innermost(kernel)
    bound = inspect.signature(jit.fn).bind(*args, **constexprs)
    bound.apply_defaults()
    entries, given, tensors = [], {}, {}
    for name, parameter in inspect.signature(jit.fn).parameters.items():
        value = bound.arguments[name]
        if recorder._is_constexpr(parameter.annotation) or value is None:
            given[name] = recorder._constexpr(value)
        elif isinstance(value, torch.Tensor):
            tensors[name] = value
            entries.append({"name": name, "kind": "pointer", "dtype": recorder.DTYPES[value.dtype][0],
                            "shape": list(value.shape), "strides": list(value.stride()), "elements": recorder._span(value)})
        else:
            entries.append(recorder._scalar(name, value))
    before = {name: recorder._storage(tensor) for name, tensor in tensors.items()}
    case = {"name": folder.name, "kernel": jit.fn.__name__, "kernel_file": "kernel.py", "grid": list(grid), "constexprs": given,
            "args": entries, "written": sorted(tensors), **options}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kernel.py").write_text(recorder.expand(kernel))
    recorder.write_safetensors(folder / "before.safetensors", before)
    recorder.write_safetensors(folder / "after.safetensors", before)  # replaced by what the replay produces
    (folder / "case.json").write_text(json.dumps(case, indent=1) + "\n")
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run([os.environ["PROGRAM"], "replay", str(folder), "--device", "cpu", "--out", out],
                              capture_output=True, text=True)
        path = pathlib.Path(out) / (folder.name + ".safetensors")
        if not path.exists():
            raise RuntimeError(f"{folder.name}: {done.stdout}{done.stderr}")
        produced = read_safetensors(path)
    written = []
    for name, tensor in tensors.items():
        if not tensor.numel():
            continue
        old = before[name].contiguous().reshape(-1)
        new = torch.frombuffer(bytearray(produced[name]), dtype=tensor.dtype)
        if not torch.equal(new.view(torch.uint8), old.view(torch.uint8)):
            written.append(name)
            storage(tensor).copy_(new)
    case["written"] = sorted(written)
    recorder.write_safetensors(folder / "after.safetensors", {name: recorder._storage(tensors[name]) for name in written})
    (folder / "case.json").write_text(json.dumps(case, indent=1) + "\n")
