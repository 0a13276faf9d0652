import triton
import triton.language as tl


@triton.jit
def count_bins(IN, BINS, n, low, width, BINS_COUNT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(IN + at, mask=at < n, other=0.0)
    bin = ((x - low) / width).to(tl.int32)
    bin = tl.minimum(tl.maximum(bin, 0), BINS_COUNT - 1)
    tl.atomic_add(BINS + bin, 1, mask=at < n)
