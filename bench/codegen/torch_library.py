# bench/codegen/torch_library.py - machine code of FlashAttention 2, taken out of the CUDA library of the installed torch.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""libtorch_cuda.so holds a container of machine code for each CUDA source that it was made of, with an ELF for each GPU. The symbol table
names the source (a FILE symbol) and then the address of its container (fatbinData). So one container is found without reading the others;
cuobjdump of Triton's wheel unpacks it. What is extracted is written below build/bench, which git ignores."""
import importlib.metadata
import importlib.util
import mmap
import pathlib
import struct
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "bench" / "flash_attention"
SYMBOLS, FILE_SYMBOL, LOCAL = 2, 4, 0                        # of the ELF specification: SHT_SYMTAB, STT_FILE, STB_LOCAL
SECTION, SYMBOL, CONTAINER, ENTRY = "<IIQQQQIIQQ", "<IBBHQQ", "<IHHQ", "<HHIQ"
MAGIC, ELF, ARCHITECTURE_AT = 0xBA55ED50, 2, 28              # of a container; kind of an entry, offset of its architecture


class LeftOut(RuntimeError):
    """Why there is nothing to compare with: a file, a section or a kernel is missing."""


def package(name):
    """The folder of an installed Python package. Raises LeftOut if it is not installed."""
    found = importlib.util.find_spec(name)
    if not found or not found.origin:
        raise LeftOut("%s is not installed: run scripts/setup full" % name)
    return pathlib.Path(found.origin).parent


def library():
    """libtorch_cuda.so of the installed torch. Raises LeftOut for a torch without CUDA."""
    path = package("torch") / "lib" / "libtorch_cuda.so"
    if not path.is_file():
        raise LeftOut("torch %s has no lib/libtorch_cuda.so: install a torch wheel for CUDA" % importlib.metadata.version("torch"))
    return path


def tool(name):
    """A program of CUDA that Triton's wheel brings: cuobjdump, nvdisasm. Raises LeftOut if the wheel does not have it."""
    path = package("triton") / "backends" / "nvidia" / "bin" / name
    if not path.is_file():
        raise LeftOut("the triton wheel has no %s: install a triton wheel for CUDA" % name)
    return path


def text_at(data, at):
    return data[at:data.find(b"\0", at)].decode(errors="replace")


def container_at(data, unit):
    """The offset in an ELF file of the container that belongs to the CUDA source `unit`.cu. Raises LeftOut if there is none."""
    offset, = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from(SECTION, data, offset + i * size) for i in range(count)]
    tables = [section for section in sections if section[1] == SYMBOLS]
    if not tables:
        raise LeftOut("libtorch_cuda.so has no symbol table, which names the sources of its machine code: install a wheel that is not stripped")
    at, length, names = tables[0][4], tables[0][5], sections[tables[0][6]][4]
    source = ""
    for name, info, _, section, value, _ in struct.iter_unpack(SYMBOL, data[at:at + length]):
        if info & 15 == FILE_SYMBOL:
            source = text_at(data, names + name)
        elif info >> 4 == LOCAL and "_%s." % unit in source and text_at(data, names + name) == "fatbinData":
            return value - sections[section][3] + sections[section][4]
    raise LeftOut("libtorch_cuda.so has no machine code of %s.cu" % unit)


def only(data, at, architecture):
    """The container at this offset with the ELF for one architecture (80 is sm_80) only. Raises LeftOut if it does not have it."""
    magic, version, header, size = struct.unpack_from(CONTAINER, data, at)
    if magic != MAGIC:
        raise LeftOut("libtorch_cuda.so has no container of machine code where its symbol table names one")
    entry, found = at + header, []
    while entry < at + header + size:
        kind, _, begin, length = struct.unpack_from(ENTRY, data, entry)
        has, = struct.unpack_from("<I", data, entry + ARCHITECTURE_AT)
        found.append("sm_%d" % has)
        if kind == ELF and has == architecture:
            return struct.pack(CONTAINER, magic, version, header, begin + length) + data[entry:entry + begin + length]
        entry += begin + length
    raise LeftOut("libtorch_cuda.so has the code for %s only, not for sm_%d" % (", ".join(found), architecture))


def extract(path, unit, architecture=80):
    """The container of a CUDA source of a library, as bytes."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return only(data, container_at(data, unit), architecture)


def run(*command, cwd):
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LeftOut("%s ended with %d: %s" % (pathlib.Path(command[0]).name, done.returncode, done.stderr.strip()[-300:]))
    return done.stdout


def disassembly(unit):
    """What nvdisasm prints for the kernels of a CUDA source. The text is kept for the library that has this size and time."""
    path = library()
    state = path.stat()
    folder = FOLDER / ("%x-%x" % (state.st_size, state.st_mtime_ns))
    text = folder / (unit + ".sass")
    if not text.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / (unit + ".fatbin")).write_bytes(extract(path, unit))
        run(tool("cuobjdump"), "-xelf", "all", unit + ".fatbin", cwd=folder)
        cubin = next(folder.glob(unit + ".*.cubin"), None)
        if not cubin:
            raise LeftOut("cuobjdump finds no ELF in the machine code of %s.cu" % unit)
        part = text.with_suffix(".part")
        part.write_text(run(tool("nvdisasm"), "-c", cubin.name, cwd=folder), encoding="utf-8")
        part.replace(text)
    return text.read_text(encoding="utf-8")
