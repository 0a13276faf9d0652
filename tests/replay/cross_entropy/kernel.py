import triton
import triton.language as tl


@triton.jit
def cross_entropy(LOGITS, LABELS, LOSS, GRAD, stride, classes, ignored, smoothing, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    label = tl.load(LABELS + row)
    LOGITS += row * stride
    GRAD += row * classes
    if label == ignored:
        for start in range(0, classes, BLOCK):
            c = start + tl.arange(0, BLOCK)
            tl.store(GRAD + c, 0.0, mask=c < classes)
        tl.store(LOSS + row, 0.0)
        return
    peak = float("-inf")
    total = 0.0
    for start in range(0, classes, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(LOGITS + c, mask=c < classes, other=float("-inf"))
        new = tl.maximum(peak, tl.max(x))
        total = total * tl.exp(peak - new) + tl.sum(tl.exp(x - new))
        peak = new
    lse = peak + tl.log(total)
    picked = tl.load(LOGITS + label)
    tl.store(LOSS + row, lse - (1 - smoothing) * picked)
    for start in range(0, classes, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(LOGITS + c, mask=c < classes, other=float("-inf"))
        p = tl.exp(x - lse)
        p = tl.where(c == label, p - (1 - smoothing), p)
        tl.store(GRAD + c, p, mask=c < classes)
