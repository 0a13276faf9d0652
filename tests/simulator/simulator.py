# tests/simulator/simulator.py - PTX from Triton or NVRTC, run by the simulator on torch tensors.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The simulator is libtessera_sim_abi.so (SIM_ABI names it). Needs triton and torch, no GPU."""
import ctypes
import hashlib
import json
import os
import pathlib
import pickle
import resource
import struct
import subprocess
import tempfile
import time

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler.compiler import make_backend
from triton._C.libtriton import ir

RANGE_READ_ONLY, RANGE_UNINITIALIZED = 1, 2
SERIAL, UNCHECKED, ISSUES, AT_ISSUE, A100, H100, APART = 1, 2, 4, 8, 16, 32, 64  # ISSUES: the reply has how often each PTX line ran
# Of every launch of this process: a random schedule, flags from a list of names.
SEED = int(os.environ.get("SIM_SEED", "0"))
KEPT = os.environ.get("SIM_KEPT")  # a folder: processes that launch the same kernels compile Triton's once (schedules_test.py)
RECORD = os.environ.get("SIM_RECORD")  # a folder to which every launch is written (schedules_all.py)
FLAGS = sum(dict(at_issue=AT_ISSUE, a100=A100, h100=H100, apart=APART)[f] for f in os.environ.get("SIM_FLAGS", "").split())
totals = dict(launches=0, compiled=0, lane_instructions=0, tensor_instructions=0, compile_seconds=0.0, compile_cpu=0.0, run_seconds=0.0)


def cpu_seconds():
    """Of this process, its threads and the children that have ended."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


class SimError(Exception):
    """The PTX does not load, or the launch is bad."""


class Finding(Exception):
    """A check of the simulator fired."""

    def __init__(self, reply):
        self.findings = reply["findings"]
        super().__init__(self.findings[0]["text"])


def _library():
    path = os.environ.get("SIM_ABI")
    if not path:
        raise RuntimeError("SIM_ABI does not name a library: set it to lib/libtessera_sim_abi.so of the build")
    library = ctypes.CDLL(path)
    library.tessera_sim_load.restype = ctypes.c_void_p
    library.tessera_sim_load.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)]
    library.tessera_sim_unload.argtypes = [ctypes.c_void_p]
    library.tessera_sim_launch.restype = ctypes.c_void_p
    library.tessera_sim_launch.argtypes = (
        [ctypes.c_void_p, ctypes.c_char_p] + [ctypes.c_void_p] * 2 + [ctypes.c_uint32] * 2 + [ctypes.c_void_p, ctypes.c_uint32]
        + [ctypes.c_void_p] * 4 + [ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint32])
    library.tessera_sim_free.argtypes = [ctypes.c_void_p]
    return library


_lib = None


def _reply(pointer):
    text = ctypes.string_at(pointer).decode()
    _lib.tessera_sim_free(pointer)
    reply = json.loads(text)
    if "error" in reply:
        raise SimError(reply["error"])
    return reply


class Module:
    """A loaded PTX text."""

    def __init__(self, ptx, name="<ptx>"):
        global _lib
        _lib = _lib or _library()
        self.ptx = ptx
        reply = ctypes.c_void_p()
        self.handle = _lib.tessera_sim_load(ptx.encode(), name.encode(), ctypes.byref(reply))
        self.kernels = _reply(reply)["kernels"]

    def __del__(self):
        if getattr(self, "handle", None) and _lib:  # no library: the interpreter is being taken down
            _lib.tessera_sim_unload(self.handle)
            self.handle = None

    def launch(self, kernel, grid, block, shared, values, ranges, flags=0, max_instructions=0, raise_findings=True, blocks=(),
               seed=None):
        """values: an int (8 bytes of bits) per parameter; ranges: (name, address, bytes, flags); blocks: the numbers of those that run,
        ascending, x fastest (none: all). Returns the reply."""
        u32 = lambda xs: (ctypes.c_uint32 * max(1, len(xs)))(*xs)
        u64 = lambda xs: (ctypes.c_uint64 * max(1, len(xs)))(*xs)
        three = lambda xs: u32(list(xs) + [1] * (3 - len(xs)))
        if RECORD:
            record(self.ptx, kernel, grid, block, shared, values, ranges)
        start = time.time()
        reply = _reply(_lib.tessera_sim_launch(
            self.handle, kernel.encode(), three(grid), three(block), shared, len(values), u64([v & (1 << 64) - 1 for v in values]),
            len(ranges), (ctypes.c_char_p * max(1, len(ranges)))(*[r[0].encode() for r in ranges]),
            (ctypes.c_void_p * max(1, len(ranges)))(*[r[1] for r in ranges]), u64([r[2] for r in ranges]),
            u32([r[3] for r in ranges]), flags | FLAGS, max_instructions, SEED if seed is None else seed, u64(blocks), len(blocks)))
        totals["run_seconds"] += time.time() - start
        totals["launches"] += 1
        totals["lane_instructions"] += reply["counters"]["lane_instructions"]
        totals["tensor_instructions"] += reply["counters"]["tensor_instructions"]
        if reply["findings"] and raise_findings:
            raise Finding(reply)
        return reply


def record(ptx, kernel, grid, block, shared, values, ranges):
    """A launch as a file: all that it takes to run it again."""
    contents = [ctypes.string_at(address, size) for _, address, size, _ in ranges]
    launch = dict(ptx=ptx, kernel=kernel, grid=tuple(grid), block=tuple(block), shared=shared, values=list(values), ranges=ranges,
                  contents=contents, types=[_types.get(address, "") for _, address, _, _ in ranges])
    number = len(list(pathlib.Path(RECORD).glob("*.pickle")))
    (pathlib.Path(RECORD) / f"{number:04}.pickle").write_bytes(pickle.dumps(launch))


def bits_of(value):
    """A scalar argument's 8 bytes: floats are fp32."""
    if isinstance(value, float):
        return struct.unpack("<I", struct.pack("<f", value))[0]
    return int(value)


def mark_unwritten(tensor):
    """No kernel has written the tensor yet: the first launch that gets it must not read it before writing."""
    tensor.unwritten = True
    return tensor


_types = {}  # of the tensors of the latest launch, by the address of their storage: what record() writes


def ranges_of(arguments):
    """One range for each storage; arguments: (name, tensor)."""
    seen = {}
    _types.clear()
    for name, tensor in arguments:
        storage = tensor.untyped_storage()
        address = storage.data_ptr()
        _types.setdefault(address, DTYPES[tensor.dtype])
        if storage.nbytes() == 0 or address in seen:
            continue
        seen[address] = (name, address, storage.nbytes(), RANGE_UNINITIALIZED if getattr(tensor, "unwritten", False) else 0)
        tensor.unwritten = False
    return list(seen.values())


DTYPES = {torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16", torch.float64: "fp64", torch.int8: "i8",
          torch.int16: "i16", torch.int32: "i32", torch.int64: "i64", torch.bool: "i1", torch.uint8: "u8"}

LONG_NAMES = {"fp64": "float64", "fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "i8": "int8", "i16": "int16",
              "i32": "int32", "i64": "int64", "i1": "int1", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64"}


def _kept(what, make):
    """make(), or what an earlier process with the same KEPT made of the same `what`."""
    if not KEPT:
        return make()
    file = pathlib.Path(KEPT) / hashlib.sha256(repr(what).encode()).hexdigest()
    if not file.exists():
        written = file.with_suffix(f".{os.getpid()}")
        written.write_bytes(pickle.dumps(make()))
        written.rename(file)
    return pickle.loads(file.read_bytes())


class Compiled:
    """Triton's PTX of one specialization; stops before ptxas."""

    def __init__(self, source, options, target="sm_80"):
        start, cpu = time.time(), cpu_seconds()
        what = (source.fn.fn.__code__.co_filename, source.fn.__name__, source.signature, source.constants, source.attrs, options, target,
                os.environ.get("TRITON_F32_DEFAULT"))
        self.ptx, self.name, self.shared, self.warps = _kept(what, lambda: self._compile(source, options, target))
        totals["compiled"] += 1
        totals["compile_seconds"] += time.time() - start
        totals["compile_cpu"] += cpu_seconds() - cpu
        self.module = Module(self.ptx, source.fn.__name__ + ".ptx")

    @staticmethod
    def _compile(source, options, target):
        target = GPUTarget("cuda", int(target.removeprefix("sm_")), 32)
        backend = make_backend(target)
        options = backend.parse_options(dict(options))
        context = ir.context()
        ir.load_dialects(context)
        backend.load_dialects(context)
        module = source.make_ir(target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context)
        stages, metadata = {}, {"target": target, **options.__dict__}
        backend.add_stages(stages, options, source.language)
        for stage in ("ttir", "ttgir", "llir", "ptx"):
            module = stages[stage](module, metadata)
        return module, metadata["name"], metadata["shared"], metadata["num_warps"]


def specialize(fn, args, constexprs):
    """Signature, constexprs, attributes and the run-time arguments, by Triton's rules. A tuple has a type for each value; constexprs and
    attributes are named by the way to the value: (3,), or (3, 0) in a tuple."""
    signature, constants, attributes, actual = {}, {}, {}, []
    skip = getattr(fn, "do_not_specialize", None) or []
    given = iter(args)
    constexprs = {**{p.name: p.default for p in fn.params if p.is_constexpr and p.has_default}, **constexprs}

    def type_of(name, value, way, special):
        if isinstance(value, tuple):
            types = [type_of(f"{name}.{field}", item, (*way, i), True) for i, (field, item) in enumerate(fields_of(value))]
            return type(value)(*types) if hasattr(value, "_fields") else tuple(types)
        if value is None or type(value) is int and value == 1 and special:
            constants[way] = value
            return "constexpr"
        actual.append((name, value))
        if isinstance(value, float):
            return "fp32"
        if special and (value.data_ptr() if isinstance(value, torch.Tensor) else value) % 16 == 0:
            attributes[way] = [["tt.divisibility", 16]]
        if isinstance(value, torch.Tensor):
            return "*" + DTYPES[value.dtype]
        return "i32" if -(1 << 31) <= value < 1 << 31 else "i64"

    for i, name in enumerate(fn.arg_names):
        if name in constexprs:
            signature[name], constants[(i,)] = "constexpr", constexprs[name]
        else:
            value = next(given)
            signature[name] = type_of(name, value, (i,), isinstance(value, torch.Tensor) or name not in skip and i not in skip)
    return signature, constants, attributes, actual


def fields_of(value):
    """(name, item) of each value of a tuple; the names of a plain tuple are numbers."""
    return list(zip(getattr(value, "_fields", range(len(value))), value))


def leaves_of(signature):
    """(name, type, way) of each value of a signature: ("q.ptr", "*fp32", (0, 0))."""
    def below(name, type, way):
        if not isinstance(type, tuple):
            return [(name, type, way)]
        return [leaf for i, (field, item) in enumerate(fields_of(type)) for leaf in below(f"{name}.{field}", item, (*way, i))]
    return [leaf for i, (name, type) in enumerate(signature.items()) for leaf in below(name, type, (i,))]


def _written(value):
    """A constexpr as a kernel file would have it."""
    if isinstance(value, triton.language.dtype):
        return "tl." + LONG_NAMES[str(value)]
    return json.dumps(value) if isinstance(value, str) else value


def check_syntax(ptx, target):
    """Raises SimError unless ptxas accepts the text. The compiler runs ptxas up to four times to choose registers; -O0 does not optimize."""
    ptxas = pathlib.Path(triton.__file__).parent / "backends/nvidia/bin/ptxas"
    done = subprocess.run([str(ptxas), "-O0", f"--gpu-name={target}", "-", "-o", os.devnull], input=ptx, capture_output=True, text=True)
    if done.returncode:
        raise SimError(f"ptxas refuses the PTX:\n{done.stdout}{done.stderr}")


class OwnCompiled:
    """PTX of `tessera compile` for one specialization. PROGRAM names the binary. Without the option `occupancy`, ptxas only checks the
    text, and min_blocks is 0; the PTX is the same."""

    def __init__(self, path, name, signature, constants, attributes, options, target="sm_80"):
        start, cpu = time.time(), cpu_seconds()
        leaves = leaves_of(signature)
        types = {name: type + (":16" if way in attributes else "") for name, type, way in leaves if type != "constexpr"}
        with tempfile.TemporaryDirectory(prefix="tessera-sim-") as folder:
            command = [os.environ["PROGRAM"], "compile", str(path), "--kernel", name, "--target", target,
                       "--signature", ", ".join(f"{n}={t}" for n, t in types.items()),
                       "--num-warps", str(options["num_warps"]), "--num-stages", str(options["num_stages"]),
                       "--emit", "ptx,meta", "--output", folder]
            if not options.get("hints", True):
                command.append("--no-hints")
            for name, type, way in leaves:
                if type == "constexpr":
                    command += ["--define", f"{name}={_written(constants[way])}"]
            environment = dict(os.environ, TESSERA_F32_DEFAULT=os.environ.get("TRITON_F32_DEFAULT", "tf32"))
            if not options["occupancy"]:
                environment["TESSERA_PTXAS"] = "none"
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            if done.returncode:
                raise SimError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
            read = lambda end: next(f for f in pathlib.Path(folder).iterdir() if f.name.endswith(end)).read_text()
            self.ptx, meta = read(".ptx"), json.loads(read(".json"))
        if not options["occupancy"]:
            check_syntax(self.ptx, target)
        self.name = meta["symbol"]
        self.threads, self.shared = meta["threads"], meta.get("shared_bytes", 0)
        self.min_blocks = meta.get("min_blocks", 0)
        totals["compiled"] += 1
        totals["compile_seconds"] += time.time() - start
        totals["compile_cpu"] += cpu_seconds() - cpu
        self.module = Module(self.ptx, name + ".ptx")


_compiled = {}
last = None  # the Compiled or OwnCompiled of the latest launch


def launch_tessera(path, name, fn, grid, args, constexprs, options, flags=0, target="sm_80", blocks=()):
    """The same launch with our own compiler's PTX."""
    signature, constants, attributes, actual = specialize(fn, args, constexprs)
    own = {"occupancy": True} | {k: options[k] for k in ("num_warps", "num_stages", "hints", "occupancy") if k in options}
    key = ("tessera", str(path), name, tuple(signature.items()), tuple(constants.items()), str(attributes), tuple(own.items()),
           os.environ.get("TRITON_F32_DEFAULT"), target)
    if key not in _compiled:
        _compiled[key] = OwnCompiled(path, name, signature, constants, attributes, own, target)
    global last
    last = done = _compiled[key]
    values = [value.data_ptr() if isinstance(value, torch.Tensor) else bits_of(value) for _, value in actual]
    tensors = [(n, value) for n, value in actual if isinstance(value, torch.Tensor)]
    return done.module.launch(done.name, grid, (done.threads,), done.shared, values, ranges_of(tensors), flags, blocks=blocks)


def launch_triton(fn, grid, args, constexprs, options, flags=0, target="sm_80"):
    """Compiles (once per specialization) and runs a JITFunction."""
    signature, constants, attributes, actual = specialize(fn, args, constexprs)
    key = (fn, tuple(signature.items()), tuple(constants.items()), str(attributes), tuple(options.items()),
           os.environ.get("TRITON_F32_DEFAULT"), target)
    if key not in _compiled:
        _compiled[key] = Compiled(ASTSource(fn, signature, constants, attributes), options, target)
    global last
    last = done = _compiled[key]
    values = [value.data_ptr() if isinstance(value, torch.Tensor) else bits_of(value) for _, value in actual]
    # Triton appends pointers to scratch memory that these kernels do not use.
    values += [0] * (len(done.module.kernels[done.name]["params"]) - len(values))
    tensors = [(name, value) for name, value in actual if isinstance(value, torch.Tensor)]
    return done.module.launch(done.name, grid, (32 * done.warps,), done.shared, values, ranges_of(tensors), flags)


def summary():
    rate = totals["lane_instructions"] / max(totals["run_seconds"], 1e-9) / 1e6
    return (f"{totals['launches']} launches of {totals['compiled']} compiled kernels; "
            f"{totals['lane_instructions'] / 1e6:.1f} M lane instructions ({rate:.0f} M/s), "
            f"{totals['tensor_instructions']} tensor instructions; compile {totals['compile_seconds']:.1f} s, "
            f"run {totals['run_seconds']:.1f} s")
