"""tools/gpucheck/time_triton.py - times Triton on the sources of packed cases.

    python tools/gpucheck/time_triton.py FOLDER RESULT.json

Adds `triton_us` to every case of the result that tessera-gpu-check wrote: the same
kernel text, arguments, constexprs, warps and stages, median of as many launches.
Without torch, Triton or a GPU it says so and leaves the result as it is.

Copyright the tessera authors.
SPDX-License-Identifier: Apache-2.0
"""

import importlib.util
import json
import pathlib
import statistics
import sys

DTYPES = {"i1": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "fp16": "float16",
          "bf16": "bfloat16", "fp32": "float32", "fp64": "float64"}


def skip(why):
    print(f"Triton is not timed: {why}")
    raise SystemExit(0)


def tensors_of(path):
    """Name to (dtype, shape, bytes) of a safetensors file."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    return {name: (e["dtype"], e["shape"], data[8 + length + e["data_offsets"][0]:8 + length + e["data_offsets"][1]])
            for name, e in header.items()}


def arguments_of(folder, case, torch, device):
    """Name to value, tensors with the recorded strides."""
    stored = tensors_of(folder / "before.safetensors")
    values = dict(case["constexprs"])
    for name, value in values.items():
        if isinstance(value, str):
            import triton.language as tl
            word = value.rsplit(".", 1)[-1]
            values[name] = getattr(tl, DTYPES.get(word, word), value)
    for argument in case["args"]:
        if argument["kind"] != "pointer":
            values[argument["name"]] = argument["value"]
            continue
        dtype = getattr(torch, DTYPES[argument["dtype"]])
        raw = stored.get(argument["name"], (None, [0], b""))[2]
        flat = torch.frombuffer(bytearray(raw), dtype=dtype) if raw else torch.empty(0, dtype=dtype)
        flat = flat.to(device)
        span = 1 + sum((n - 1) * s for n, s in zip(argument["shape"], argument["strides"]))
        fits = flat.numel() == span and 0 not in argument["shape"] and all(s >= 0 for s in argument["strides"])
        values[argument["name"]] = flat.as_strided(argument["shape"], argument["strides"]) if fits else flat
    return values


def function_of(folder, case):
    """The jit function; decorators around it are undone."""
    spec = importlib.util.spec_from_file_location(f"case_{folder.name}".replace("-", "_").replace(".", "_"),
                                                  folder / case["kernel_file"])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function = getattr(module, case["kernel"])
    while type(function).__name__ in ("Autotuner", "Heuristics"):
        function = function.fn
    return function


def launcher(folder, torch, device):
    case = json.loads((folder / "case.json").read_text())
    function = function_of(folder, case)
    values = arguments_of(folder, case, torch, device)
    options = {}
    if device == "cuda":
        options = {key: case[key] for key in ("num_warps", "num_stages") if case.get(key) is not None}
    grid = tuple(case["grid"])
    return lambda: function[grid](**values, **options)


def microseconds(launch, torch, count):
    for _ in range(3):
        launch()
    times = []
    for _ in range(count):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        launch()
        end.record()
        end.synchronize()
        times.append(1000 * start.elapsed_time(end))
    return statistics.median(times)


def main():
    folder, path = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    try:
        import torch
        import triton
    except ImportError as error:
        skip(error)
    if not torch.cuda.is_available():
        skip("torch sees no GPU")
    result = json.loads(path.read_text())
    result["triton"] = triton.__version__
    for row in result["cases"]:
        case = folder / pathlib.Path(row["case"]).name
        try:
            row["triton_us"] = microseconds(launcher(case, torch, "cuda"), torch, result["launches_timed"])
        except Exception as error:  # a case that Triton refuses is a row without a time
            row["triton_error"] = f"{type(error).__name__}: {error}"[:300]
        if "us" in row and "triton_us" in row:
            print(f"{row['name']:40} {row['us']:10.1f} us, Triton {row['triton_us']:10.1f} us, "
                  f"{row['us'] / row['triton_us']:.2f} x")
        elif "triton_error" in row:
            print(f"{row['name']:40} Triton: {row['triton_error']}")
    path.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
