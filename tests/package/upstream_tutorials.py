# tests/package/upstream_tutorials.py - runs Triton's own tutorials, which this repository does not have, on the CPU:
#     python tests/package/upstream_tutorials.py TRITON/python/tutorials [NUMBER...]
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The files are unchanged. Benchmarks measure the first point of Triton's lines only. Where a file stops because it needs a GPU, or compares
with something less exact than it allows, the functions defined so far are called with small CPU tensors and compared with fp64."""
import contextlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import types
from unittest import mock

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import tessera.testing  # noqa: E402
import tessera.triton  # noqa: E402

NUMBERS = ["01", "02", "03", "04", "05", "06", "07", "08", "09", "11"]


def text_of(folder, number):
    [path] = pathlib.Path(folder).glob(f"{number}-*.py")
    return path, path.read_text()


def executed(folder, number, name="__main__"):
    """The names that a tutorial defines, and the error at which it stops, or None."""
    path, text = text_of(folder, number)
    names = {"__name__": name, "__file__": str(path)}
    try:
        exec(compile(text, str(path), "exec"), names)  # noqa: S102 (the file to test)
    except (AssertionError, RuntimeError) as error:
        lines = []
        place = error.__traceback__
        while place:
            if place.tb_frame.f_code.co_filename == str(path):
                lines.append(place.tb_lineno)
            place = place.tb_next
        return names, f"stops at line {lines[-1]}: {text.splitlines()[lines[-1] - 1].strip()}"
    return names, None


def close(name, got, want, limit):
    error = ((got.double() - want).abs() / (want.abs() + 1)).max().item()
    assert error <= limit, f"{name} differs from fp64 by {error:.2g} (limit {limit})"


def gradients(f, inputs, output_gradient):
    inputs = [x.detach().requires_grad_() for x in inputs]
    y = f(*inputs)
    return [y.detach(), *torch.autograd.grad(y, inputs, output_gradient.to(y.dtype))]


def layer_norm(names):
    for M, N, dtype, limit in ((1151, 8192, torch.float16, 1e-2), (151, 1000, torch.float32, 1e-4)):
        x, w, b = -2.3 + 0.5 * torch.randn(M, N), torch.rand(N), torch.rand(N)
        inputs, dy = [t.to(dtype) for t in (x, w, b)], (0.1 * torch.randn(M, N)).to(dtype)
        got = gradients(lambda x, w, b: names["layer_norm"](x, w.shape, w, b, 1e-5), inputs, dy)
        want = gradients(lambda x, w, b: torch.nn.functional.layer_norm(x, w.shape, w, b, 1e-5), [t.double() for t in inputs], dy)
        for name, one, other in zip(("y", "dx", "dw", "db"), got, want):
            close(f"{name} of {dtype}", one, other, limit)
    return "kernels and gradients equal fp64 within 0.01 (fp16), 1e-4 (fp32)"


def attention(names):
    """Its own test, also with the descriptors of the host that it makes on a GPU."""
    sizes = [(1, 2, 128, 64), (1, 1, 256, 128)]
    for host in (False, True):
        names["supports_host_descriptor"] = lambda host=host: host
        for size in sizes:
            for causal in (False, True):
                names["test_op"](*size, causal, False, "bwd", "triton-fp16")
                names["test_op"](*size, causal, False, "fwd", "triton-fp8")
    return "test_op passes for fp16 with gradients and fp8, N_CTX 128 and 256; also with descriptors of the host"


def external(names):
    x = 2 * torch.rand(98432) - 1
    y = torch.zeros_like(x)
    names["asin_kernel"][(97,)](x, y, x.numel(), BLOCK_SIZE=1024)
    close("asin", y, torch.asin(x.double()), 1e-6)
    return "asin_kernel equals fp64 within 1e-6"


def persistent(names):
    names["HAS_TMA_CLC"] = True
    for kernel in [value for value in names.values() if isinstance(value, tessera.Autotuner)]:
        kernel.configs = [config for config in kernel.configs if config.num_warps == 4 and config.num_stages == 2]
    plain, flat = ("matmul", "matmul_persistent"), ("matmul_tma", "matmul_tma_persistent", "matmul_tma_clc", "matmul_descriptor_persistent")
    with mock.patch("torch.cuda.get_device_properties", lambda _: types.SimpleNamespace(multi_processor_count=4)), \
            mock.patch("torch.cuda.get_device_capability", lambda: (8, 0)):
        for dtype, limit in ((torch.float16, 2e-3), (torch.float8_e4m3fn, 2**-4)):
            a, b = torch.randn(200, 96).to(dtype), torch.randn(300, 96).to(dtype)
            want = a.double() @ b.double().T
            for name in plain:
                close(f"{name} of {dtype}", names[name](a, b.T), want, limit)
            for name in flat:
                close(f"{name} of {dtype}", names[name](a, b, name != "matmul_tma"), want, limit)
    return f"with 4 for the number of multiprocessors {', '.join(plain + flat)} equal fp64 within 2e-3 (fp16), 2^-4 (fp8)"


AFTER = {"05": layer_norm, "06": attention, "07": external, "09": persistent}


def run(folder, number):
    """What a tutorial does, in a line."""
    torch.manual_seed(0)
    os.environ["PYTEST_VERSION"] = "0"  # 06 has one configuration then
    tessera.triton.install()
    tessera.testing.Benchmark.__init__ = first_point(tessera.testing.Benchmark.__init__)
    start = time.time()
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch), contextlib.redirect_stdout(io.StringIO()), \
            mock.patch.object(sys, "argv", [f"{number}.py"]):
        # The benchmark of 06 needs hours on a CPU: the file is imported, as by pytest.
        names, stop = executed(folder, number, "tutorial" if number == "06" else "__main__")
        done = stop or ("imported" if number == "06" else "runs unchanged")
        if number in AFTER:
            done += "; " + AFTER[number](names)
    return f"{done} ({time.time() - start:.0f} s)"


def first_point(init):
    """Benchmark.__init__ that leaves one point, and Triton's lines: torch's fp16 product takes minutes on a CPU."""
    def changed(self, *arguments, **named):
        init(self, *arguments, **named)
        lines = [pair for pair in zip(self.line_vals, self.line_names) if "triton" in str(pair[0])]
        if lines:
            self.line_vals, self.line_names = map(list, zip(*lines))
        self.x_vals = self.x_vals[:1]
    return changed


def main(folder, *numbers):
    status = 0
    for number in numbers or NUMBERS:
        if len(numbers) == 1:
            print(number, run(folder, number))
            return 0
        done = subprocess.run([sys.executable, __file__, folder, number], check=False, text=True, capture_output=True)
        status |= done.returncode
        print(done.stdout.strip() or f"{number} fails:\n{done.stderr}", flush=True)
    return status


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(f"{pathlib.Path(__file__).name}: pass the folder python/tutorials of a checkout of Triton")
    sys.exit(main(*sys.argv[1:]))
