# tests/package/for_triton/launchers.py - launch code as people write it for Triton: occupancy, options of several
# back ends, streams, reports. Nothing in it knows of tessera.
# SPDX-License-Identifier: Apache-2.0
import torch

import triton
import triton.language as tl
from triton.runtime import driver
from triton.tools.tensor_descriptor import TensorDescriptor

DEVICE = triton.runtime.driver.active.get_active_torch_device()
properties = driver.active.utils.get_device_properties(DEVICE.index)
MULTIPROCESSORS, REGISTERS = properties["multiprocessor_count"], properties["max_num_regs"]
SHARED, WARP = properties["max_shared_mem"], properties["warpSize"]
OPTIONS = [{"num_ctas": 1}, {"maxnreg": 128}, {"waves_per_eu": 2}, {"enable_fp_fusion": True}, {"ir_override": None},
           {"num_consumer_groups": 0}, {"matrix_instr_nonkdim": 16, "kpack": 2}, {"launch_cooperative_grid": False},
           {"clc": False, "min_shared_mem": 0, "sched4reg": True}, {"wgp_cu_mode": True, "llvm_fn_attrs": ()}, {"fpsan_homomorphic_casts": False}]


def configurations():
    tiles = {"BM": 32, "BN": 32, "BK": 32}
    if driver.active.get_current_target().backend == "cuda":
        return [triton.Config(tiles, num_stages=3, num_warps=8, num_ctas=1, maxnreg=None, pre_hook=None)]
    return [triton.Config({**tiles, "waves_per_eu": 2}, num_warps=4, num_stages=2),
            triton.Config({**tiles, "BM": 16, "matrix_instr_nonkdim": 16, "kpack": 1}, num_warps=4, num_stages=2)]


@triton.jit
def scale_rows(y_ptr, x_ptr, row_stride, n_rows, n_cols, BLOCK: tl.constexpr, num_stages: tl.constexpr):
    for row in tl.range(tl.program_id(0), n_rows, tl.num_programs(0), num_stages=num_stages):
        at = tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * row_stride + at, mask=at < n_cols, other=0.0)
        tl.store(y_ptr + row * row_stride + at, x / tl.sum(x, axis=0), mask=at < n_cols)


def occupied(x):
    """Each row divided by its sum, by as many programs as fit the device."""
    y = torch.empty_like(x)
    n_rows, n_cols = x.shape
    block, num_warps = triton.next_power_of_2(n_cols), 8
    num_stages = 4 if SHARED > 200000 else 2
    kernel = scale_rows.warmup(y, x, x.stride(0), n_rows, n_cols, BLOCK=block, num_stages=num_stages,
                               num_warps=num_warps, grid=(1, ))
    kernel._init_handles()
    occupancy = min(REGISTERS // (kernel.n_regs * WARP * num_warps), SHARED // kernel.metadata.shared)
    programs = min(MULTIPROCESSORS * occupancy, n_rows)
    kernel[(programs, 1, 1)](y, x, x.stride(0), n_rows, n_cols, block, num_stages)
    return y, programs


@triton.autotune(configs=configurations(), key=["M", "N", "K"], warmup=1, rep=1)
@triton.jit
def product_kernel(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, BM: tl.constexpr,
                   BN: tl.constexpr, BK: tl.constexpr, ACTIVATION: tl.constexpr):
    rows = (tl.program_id(0) * BM + tl.arange(0, BM)) % M
    columns = (tl.program_id(1) * BN + tl.arange(0, BN)) % N
    at = tl.arange(0, BK)
    tl.assume(stride_am >= 0)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_ptr + rows[:, None] * stride_am + (k * BK + at)[None, :] * stride_ak,
                    mask=at[None, :] < K - k * BK, other=0.0)
        b = tl.load(b_ptr + (k * BK + at)[:, None] * stride_bk + columns[None, :] * stride_bn,
                    mask=at[:, None] < K - k * BK, other=0.0)
        total = tl.dot(a, b, total)
    if ACTIVATION == "leaky_relu":
        total = tl.where(total >= 0, total, 0.01 * total)
    m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    tl.store(c_ptr + m[:, None] * N + n[None, :], total.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))


def product(a, b, activation=""):
    c = torch.empty(a.shape[0], b.shape[1], device=a.device, dtype=torch.float16)
    M, N, K = *c.shape, a.shape[1]
    grid = lambda META: (triton.cdiv(M, META["BM"]), triton.cdiv(N, META["BN"]))  # noqa: E731
    return c, product_kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), ACTIVATION=activation)


@triton.jit
def convert(y_ptr, x_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def reinterpreted(x):
    """float16 as float8e5 in int8, and back."""
    small, back = torch.empty(x.shape, dtype=torch.int8, device=x.device), torch.empty_like(x)
    convert[(1, )](triton.reinterpret(small, tl.float8e5), x, x.numel(), BLOCK=64)
    convert[(1, )](back, triton.reinterpret(small, tl.float8e5), x.numel(), BLOCK=64)
    return back


def descriptor(x):
    return TensorDescriptor.from_tensor(x, [4, 4]), TensorDescriptor(x, x.shape, x.stride(), [8, 8])


@triton.testing.perf_report([
    triton.testing.Benchmark(x_names=["M", "N"], x_vals=[(4, 64), 32], line_arg="provider",
                             line_vals=["ours", "torch"], line_names=["Ours", "Torch"],
                             styles=[("green", "-"), ("blue", "-")], ylabel="GB/s", plot_name=f"rows-{dtype}",
                             x_log=True, args={"dtype": dtype}) for dtype in (torch.float32, torch.float64)
])
def benchmark(M, N, provider, dtype):
    stream = getattr(torch, DEVICE.type).Stream()
    getattr(torch, DEVICE.type).set_stream(stream)
    x = torch.rand(M, N, device=DEVICE, dtype=dtype)
    fn = (lambda: occupied(x)) if provider == "ours" else (lambda: x / x.sum(1, keepdim=True))
    ms, low, high = triton.testing.do_bench(fn, warmup=1, rep=1, quantiles=[0.5, 0.2, 0.8])
    return x.nbytes / ms, x.nbytes / high, x.nbytes / low
