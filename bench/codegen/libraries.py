# bench/codegen/libraries.py - calls of flash-linear-attention's and Liger-Kernel's own functions, on small CPU tensors.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""CALLS[library] is a list of (name, function): the function imports what it needs and calls it, forward and where there is one
backward. peers.catch() gets the launches."""
import torch

generator = torch.Generator().manual_seed(23)


def rand(*dims, dtype=torch.float32, grad=True):
    return torch.randn(dims, generator=generator).to(dtype).requires_grad_(grad)


def differentiate(outputs):
    """Backward of the sum of outputs times random numbers."""
    outputs = [o for o in (outputs if isinstance(outputs, (tuple, list)) else [outputs])
               if isinstance(o, torch.Tensor) and o.requires_grad]
    torch.autograd.backward(outputs, [rand(*o.shape, grad=False).to(o.dtype) for o in outputs])


# ---------------------------------------------------------------- flash-linear-attention

def nsa(dim, block, count, dtype, tokens=128):
    """Compressed attention, selection and selected attention."""
    def call():
        from fla.ops.nsa.parallel import parallel_nsa
        heads, group = 1, 16
        q = rand(1, tokens, heads * group, dim, dtype=dtype)
        k, v = (rand(1, tokens, heads, dim, dtype=dtype) for _ in range(2))
        gates = [rand(1, tokens, heads * group, dtype=dtype).detach().sigmoid().requires_grad_() for _ in range(2)]
        differentiate(parallel_nsa(q, k, v, *gates, block_counts=count, block_size=block))
    return call


def attention(dim, heads, dtype):
    def call():
        from fla.ops.attn.parallel import parallel_attn
        q = rand(1, 128, 2 * heads, dim, dtype=dtype)
        k, v = (rand(1, 128, heads, dim, dtype=dtype) for _ in range(2))
        differentiate(parallel_attn(q, k, v))
    return call


def heads_of(function, dim, dtype, *gates):
    """function(q, k, v, *gates) on [1, 128, 2, dim]; gates are functions of no argument."""
    def call():
        module, name = function.rsplit(".", 1)
        q, k, v = (rand(1, 128, 2, dim, dtype=dtype) for _ in range(3))
        chunk = getattr(__import__(module, fromlist=[name]), name)
        differentiate(chunk(q, k, v, *(gate() for gate in gates)))
    return call


def decay(*shape):
    return lambda: torch.nn.functional.logsigmoid(rand(*shape)).detach().requires_grad_()


def share(*shape):
    return lambda: rand(*shape).detach().sigmoid().requires_grad_()


def rows_of(module, name, *arguments, **named):
    """One function on tensors made when it is called."""
    def call():
        function = getattr(__import__(module, fromlist=[name]), name)
        differentiate(function(*(a() if callable(a) else a for a in arguments), **named))
    return call


def tensor(*dims, dtype=torch.float32):
    return lambda: rand(*dims, dtype=dtype)


def plain(*dims, dtype=torch.float32):
    return lambda: rand(*dims, dtype=dtype, grad=False)


def labels(rows, classes):
    return lambda: torch.randint(0, classes, (rows,), generator=generator)


BF16, FP16 = torch.bfloat16, torch.float16
FLA = [
    ("selected and compressed attention, 64", nsa(64, 32, 4, BF16)),
    ("selected and compressed attention, 128", nsa(128, 32, 2, BF16, 64)),
    ("selected and compressed attention, fp32", nsa(64, 32, 2, torch.float32, 64)),
    ("attention, 64", attention(64, 1, BF16)),
    ("attention, 128", attention(128, 1, FP16)),
    ("linear attention", heads_of("fla.ops.simple_gla.chunk_simple_gla", 64, BF16, decay(1, 128, 2))),
    ("gated linear attention", heads_of("fla.ops.gla.chunk_gla", 64, BF16, decay(1, 128, 2, 64))),
    ("retention", heads_of("fla.ops.retention.chunk_retention", 64, BF16)),
    ("gated delta rule", heads_of("fla.ops.gated_delta_rule.chunk_gated_delta_rule", 64, BF16, decay(1, 128, 2), share(1, 128, 2))),
    ("gated linear attention, recurrent", heads_of("fla.ops.gla.fused_recurrent_gla", 32, BF16, decay(1, 128, 2, 32))),
    ("forgetting attention", heads_of("fla.ops.forgetting_attn.parallel.parallel_forgetting_attn", 64, BF16, decay(1, 128, 2))),
    ("sums along time", rows_of("fla.ops.utils.cumsum", "chunk_global_cumsum", plain(1, 128, 2))),
    ("softmax", rows_of("fla.ops.utils.softmax", "softmax_fwd", plain(8, 300))),
    ("log of sums of exponentials", rows_of("fla.ops.utils.logsumexp", "logsumexp_fwd", plain(8, 300))),
    ("RMS norm", rows_of("fla.modules.norm.layernorm", "rms_norm", tensor(32, 256, dtype=BF16), tensor(256), None)),
    ("layer norm", rows_of("fla.modules.norm.layernorm", "layer_norm", tensor(32, 256, dtype=BF16), tensor(256), tensor(256))),
    ("swish and product", rows_of("fla.modules.activations", "swiglu", tensor(32, 256, dtype=BF16), tensor(32, 256, dtype=BF16))),
    ("cross entropy", rows_of("fla.modules.fused_cross_entropy", "cross_entropy_loss", tensor(16, 1000), labels(16, 1000))),
    ("rotary", rows_of("fla.modules.rotary", "rotary_embedding", tensor(1, 64, 2, 64, dtype=BF16), plain(64, 32, dtype=BF16), plain(64, 32, dtype=BF16))),
    ("convolution", rows_of("fla.modules.causal_conv1d", "causal_conv1d", tensor(1, 64, 64, dtype=BF16), tensor(64, 4, dtype=BF16),
                            activation="silu")),
]


# ---------------------------------------------------------------- Liger-Kernel

def liger(module, name, *arguments):
    """The autograd function of a module of liger_kernel.ops."""
    def call():
        function = getattr(__import__("liger_kernel.ops." + module, fromlist=[name]), name)
        differentiate(function.apply(*(a() if callable(a) else a for a in arguments)))
    return call


def probabilities(rows, classes):
    return lambda: torch.randn(rows, classes, generator=generator).log_softmax(-1).requires_grad_()


LIGER = [
    ("RMS norm", liger("rms_norm", "LigerRMSNormFunction", tensor(32, 256, dtype=BF16), tensor(256, dtype=BF16), 1e-6, 0.0, "llama", False)),
    ("RMS norm, fp32", liger("rms_norm", "LigerRMSNormFunction", tensor(8, 1000), tensor(1000), 1e-6, 0.0, "gemma", False)),
    ("layer norm", liger("layer_norm", "LigerLayerNormFunction", tensor(32, 256), tensor(256), tensor(256), 1e-5)),
    ("rotary", liger("rope", "LigerRopeFunction", tensor(1, 4, 32, 64, dtype=BF16), tensor(1, 2, 32, 64, dtype=BF16),
                     plain(1, 32, 64), plain(1, 32, 64))),
    ("softmax", liger("softmax", "LigerSoftmaxFunction", tensor(16, 1000))),
    ("SwiGLU", liger("swiglu", "LigerSiLUMulFunction", tensor(16, 512, dtype=BF16), tensor(16, 512, dtype=BF16))),
    ("GeGLU", liger("geglu", "LigerGELUMulFunction", tensor(16, 512, dtype=BF16), tensor(16, 512, dtype=BF16))),
    ("cross entropy", liger("cross_entropy", "LigerCrossEntropyFunction", tensor(16, 1000), labels(16, 1000), None)),
    ("cross entropy, smoothed and capped", liger("cross_entropy", "LigerCrossEntropyFunction", tensor(16, 1000, dtype=BF16),
                                                 labels(16, 1000), None, -100, 1e-4, 0.1, "mean", 30.0, True)),
    ("KL divergence", liger("kl_div", "LigerKLDivLossFunction", probabilities(8, 500), lambda: torch.softmax(rand(8, 500, grad=False), -1))),
    ("Jensen-Shannon divergence", liger("jsd", "LigerJSDFunction", probabilities(8, 500), lambda: probabilities(8, 500)().detach())),
    ("total variation", liger("tvd", "LigerTVDLossFunction", lambda: rand(8, 500).softmax(-1).detach().requires_grad_(),
                              lambda: rand(8, 500, grad=False).softmax(-1))),
    ("group norm", liger("group_norm", "LigerGroupNormFunction", tensor(4, 8, 60), tensor(8), tensor(8), 8, 2, 1e-5)),
    ("dynamic tanh", liger("dyt", "LigerDyTFunction", tensor(16, 256), tensor(1), tensor(256), tensor(256))),
    ("polynomial norm", liger("poly_norm", "LigerPolyNormFunction", tensor(16, 256), tensor(3), tensor())),
    ("sum and RMS norm", liger("fused_add_rms_norm", "LigerFusedAddRMSNormFunction", tensor(16, 256, dtype=BF16),
                               tensor(16, 256, dtype=BF16), tensor(256, dtype=BF16), 1e-6)),
    ("sparsemax", liger("sparsemax", "LigerSparsemaxFunction", tensor(8, 200), -1)),
    ("squared ReLU", liger("relu_squared", "LigerReLUSquaredFunction", tensor(16, 256))),
]

CALLS = dict(fla=FLA, liger=LIGER)
# Kernels whose first Config has one stage or one warp, also at a depth that has a pipeline.
DEEPER = {name: dict(num_warps=4, num_stages=3) for name in ("parallel_nsa_fwd_kernel", "parallel_nsa_bwd_kernel_dq",
                                                             "parallel_nsa_bwd_kernel_dkv", "parallel_nsa_compression_fwd_kernel")}
UNORDERED = {"prepare_block_csr_kernel"}  # places are given out by an atomic counter
