# tests/mutants/components.py - which sources are mutated, and which tests of `make test` belong to them, closest first.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""A stage is what is built and run together; a mutant goes from stage to stage until a test is red. Names of tests are expressions
that match complete names of ctest's list. Tests of the label `full` never run."""
import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class Stage:
    tests: str
    targets: tuple
    files: str = ""  # only for mutants of the files that this expression finds


@dataclasses.dataclass(frozen=True)
class Component:
    name: str
    files: str  # expression over paths in the repository
    stages: tuple
    alone: tuple = ()  # the libraries whose sources are compiled one by one; empty: all


def _stage(tests, *targets, files=""):
    return Stage(tests, targets, files)


PROGRAM, OPS, SIM = ("tessera", "tessera-worker"), ("tessera", "tessera-worker", "tessera_ops"), ("tessera", "tessera-worker", "tessera_sim_abi")
LIT = _stage("lit", "tessera_lit_tools")
GPU_TESTS = "codegen_gpu_test|codegen_gpu_ptx_test|compiler_gpu_test"
GPU = _stage(GPU_TESTS, *GPU_TESTS.split("|"))
KERNELS_ON_SIM = _stage("cases_own_sim|sim_own_nn|sim_own_sweep_forward|sim_own_sweep_backward|sim_own_forward|sim_own_backward|sim_loops", *SIM)
LANGUAGE_ON_SIM = _stage("triton_language_sim_test|differential_gpu_60", *OPS)
NUMERIC = _stage("numeric_.*", *PROGRAM, "numeric_test")
CASES = _stage("cases", *PROGRAM, "cases")

COMPONENTS = (
    Component("language", r"language/.*\.cpp", (
        _stage("pattern_test|pattern_visibility_test|pattern_derivative_test", "pattern_test", "pattern_text", files=r"language/pattern/"),
        _stage("patterns_(parameters|op|wrong|masks)", *OPS, files=r"language/pattern/"),
        _stage("syntax_test", "syntax_test"), _stage("semantics_.*|errors_test", "semantics_values_test", "semantics_kernels_test", "errors_test"),
        _stage("fuzz_(lexer|parser|manifest|request)", "fuzz_lexer", "fuzz_parser", "fuzz_manifest", "fuzz_request"), LIT, CASES,
        _stage("triton_language_test|author_test", *OPS, "author_test"))),
    Component("compiler", r"compiler/(semantics/|semantics/builtins/|cuda/|)[^/]*\.cpp", (
        _stage("semantics_.*|errors_test", "semantics_values_test", "semantics_kernels_test", "errors_test"),
        _stage("compiler_.*|codegen_kernels_test|worker_selftest", "compiler_compile_test", "compiler_gpu_test", "compiler_worker_test",
               "compiler_cuda_test", "codegen_kernels_test", "tessera-worker"), LIT, CASES,
        _stage("triton_language_test|differential_100|author_test", *OPS, "author_test"), LANGUAGE_ON_SIM)),
    Component("dialect", r"dialect/.*\.cpp", (
        _stage("layout_.*", "layout_test"), LIT, GPU, CASES, LANGUAGE_ON_SIM, KERNELS_ON_SIM)),
    Component("codegen/cpu", r"codegen/(cpu|math)/.*\.cpp", (
        _stage("codegen_(object|math|lower|kernels|instances)_test", *(f"codegen_{t}_test" for t in ("object", "math", "lower", "kernels", "instances"))),
        LIT, CASES, _stage("triton_language_test|differential_100|python_pointer_tiles", *OPS), NUMERIC)),
    Component("codegen/gpu", r"codegen/((gpu|analysis)/.*|[^/]*)\.cpp", (
        _stage("codegen_axis_info_test|ptx_test", "codegen_axis_info_test", "ptx_test"),
        GPU, LIT, _stage("cases_own_sim|sim_loops|sim_own_nn", *SIM), LANGUAGE_ON_SIM, KERNELS_ON_SIM)),
    Component("runtime", r"(runtime|replay|library|support)/.*\.cpp", (
        _stage("support_test|runtime_test|cases_test|faults_test|device_.*_test|tune_test|pack_test", "support_test", "runtime_test", "cases_test",
               "faults_test", "device_sim_test", "device_cuda_test", "device_results_test", "tune_test", "pack_test"),
        _stage("cases|gpu_check_test|fuzz_(artifact|frames|case|safetensors)", "cases", "gpu_check_test", "fuzz_artifact", "fuzz_frames", "fuzz_case",
               "fuzz_safetensors"),
        _stage("author_test|command_line_test|python_.*|errors_launch_test", *OPS, "author_test", "command_line_test"))),
    Component("autotune", r"autotune/.*\.cpp", (
        _stage("autotune_test|tune_test|cost_rows_test", "autotune_test", "tune_test", "cost_rows_test"),
        _stage("tune_search_test", *PROGRAM, "tune_search_test"))),
    Component("simulator", r"(simulator|ptx)/.*\.cpp", (
        _stage("sim_arith_.*|sim_machine_.*|device_sim_test|ptx_test|fuzz_ptx", "sim_arith_test", "sim_machine_test",
               "device_sim_test", "ptx_test", "fuzz_ptx"),
        _stage("sim_counts|sim_debug|sim_own_nn|cases_own_sim", *SIM), _stage("sim_tutorials|sim_mutants|sim_cuda|cases_sim|sim_nn", *SIM))),
    Component("ops", r"ops/.*\.cpp", (
        _stage("torch_launch_test|torch_cuda_test", "torch_launch_test", "torch_cuda_test"), NUMERIC,
        _stage("python_.*|errors_launch_test|triton_language_test", *OPS),
        _stage("models-tests|custom-attention-tests|sim-smoke-tests", "models-tests", "custom-attention-tests", "sim-smoke-tests"))),
    Component("kernels", r"kernels/.*\.py", (
        _stage("triton_nn_test|sim_own_nn", *SIM, files=r"kernels/nn/"),
        _stage("triton_tutorials_test|sim_tutorials", *SIM, files=r"kernels/tutorials/"),
        _stage("sim_own_sweep_forward", *SIM, files=r"kernels/(nsa/|dense/|tiles)"),
        _stage("sim_own_sweep_backward", *SIM, files=r"kernels/(nsa/|dense/|tiles)"),
        _stage("triton_forward_test|triton_lists_test", files=r"kernels/(nsa/|dense/|tiles)"),
        _stage("triton_backward_test", files=r"kernels/(nsa/|dense/|tiles)"),
        NUMERIC, _stage("python_.*", *OPS))),
    Component("tools", r"tools/(.*\.cpp|(gpucheck|templates)/.*\.py)", (
        _stage("command_line_test|check_parts_test|inspect_parts_test|lsp_test", *PROGRAM, "command_line_test", "check_parts_test",
               "inspect_parts_test", "lsp_test"),
        _stage("author_test|errors_test", *PROGRAM, "author_test", "errors_test", files=r"tools/(check|commands|compile|diff|sim|templates)/|tools/[^/]*$"),
        _stage("tune_search_test|tune_cuda_test", *PROGRAM, "sim_cuda", "tune_search_test", "tune_cuda_test",
               files=r"tools/(tune|commands|gpucheck)/"),
        _stage("gpu_check_test|gpu_check_record|pack_test", *PROGRAM, "tessera-gpu-check", "gpu_check_test", "pack_test",
               files=r"tools/(gpucheck|pack|commands)/"),
        _stage("bench_command_test|bench_result_test", *PROGRAM, "bench_command_test", "bench_result_test", files=r"tools/(bench|commands)/"),
        _stage("pages_(inspect|profile|report)|lsp", *PROGRAM, files=r"tools/(inspect|profile|report|lsp|commands)/"),
        _stage("cases|faults_test", *PROGRAM, "cases", "faults_test", files=r"tools/(commands|sim)/|tools/[^/]*$"))),
    Component("python", r"python/tessera/.*\.py", (
        _stage("package_(autotune|autotune_prune|jit|triton|docs|import)", *OPS), _stage("python_.*", *OPS, files=r"_library|ops|__init__"),
        _stage("package_wheel", "all", files=r"_programs"), _stage("package_triton_sim", *OPS))),
    Component("models", r"models/.*\.cpp", (
        _stage("models-tests", "models-tests"),
        _stage("kernel-sources-tests|train-tests", "kernel-sources-tests", "train-tests"))),
    Component("trainer", r"trainer/.*\.cpp", (
        _stage("settings-tests|data-tests|trainer-tests", "settings-tests", "data-tests", "trainer-tests"),
        _stage("train-tests|train_learning_rate", *PROGRAM, "train-tests"), _stage("kernel-sources-tests", "kernel-sources-tests"))),
)

# The GPU compiler's code for barriers, waits, tokens, aliasing and addresses. Its files are also those of codegen/gpu and dialect: it runs only if it
# is named.
MEMORY = Component("memory", "|".join((
    r"codegen/analysis/(MemoryModel|PointerOrigins)\.cpp|codegen/analysis/ForwardWalk\.h", r"codegen/gpu/memory/[^/]*\.cpp",
    r"codegen/gpu/pipeline/(PipelineLoops|PromoteOperands|StagedLoads|SplitLoads)\.cpp", r"codegen/gpu/lower/shared/Shared\.cpp",
    r"dialect/tile/SharedOps\.cpp")), (
        _stage("codegen_memory_model_test", "codegen_memory_model_test"), LIT, _stage("codegen_gpu_test", "codegen_gpu_test"),
        _stage("cases_own_sim|sim_loops|sim_own_nn", *SIM), KERNELS_ON_SIM), alone=("tessera_codegen_analysis", "tessera_codegen_gpu"))
NAMED_ONLY = (MEMORY,)


def stages_of(component, path):
    return [stage for stage in component.stages if not stage.files or re.search(stage.files, path)]
