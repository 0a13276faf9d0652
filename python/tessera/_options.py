"""Keywords of a launch that are not parameters of the kernel.

Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
"""

# They change the code.
OPTIONS = ("num_warps", "num_stages", "debug")
# Options of GPUs, or of Triton's own compiler: accepted, without effect on the code.
IGNORED = {
    "allow_flush_denorm", "allowed_dot_input_precisions", "arch", "backend_name", "clc", "cluster_dims",
    "default_dot_input_precision", "deprecated_fp8_dot_operand_dtypes", "enable_fp_fusion", "enable_persistent",
    "enable_reflect_ftz", "enable_warp_specialization", "extern_libs", "fpsan_homomorphic_casts",
    "instrumentation_mode", "ir_override", "kpack", "launch_cooperative_grid", "launch_pdl", "llvm_fn_attrs",
    "matrix_instr_nonkdim", "max_num_imprecise_acc_default", "maxnreg", "min_shared_mem", "noinline",
    "num_buffers_warp_spec", "num_consumer_groups", "num_ctas", "optimize_epilogue", "ptx_options", "ptx_version",
    "reg_dec_producer", "reg_inc_consumer", "sanitize_overflow", "sched4reg", "schedule_hint",
    "supported_fp8_dtypes", "warp_size", "waves_per_eu", "wgp_cu_mode"}
