# tests/unit/trainer/safetensors_reader.py - the safetensors format by its specification alone: struct and json.
# SPDX-License-Identifier: Apache-2.0
"""read FILE: prints {NAME: [dtype, shape, values]} as JSON, after checking what the format asks of a file.
write FILE: a file of all types, as another program might write it."""
import json
import struct
import sys


def float8(bits, exponent_bits, mantissa_bits, bias):
    exponent = bits >> mantissa_bits & (1 << exponent_bits) - 1
    mantissa = bits & (1 << mantissa_bits) - 1
    sign = -1.0 if bits >> 7 else 1.0
    if exponent == 0:
        return sign * mantissa * 2.0 ** (1 - bias - mantissa_bits)
    return sign * (1 + mantissa / 2.0 ** mantissa_bits) * 2.0 ** (exponent - bias)


# name: size, code of struct, value of what struct gives
TYPES = {
    "BOOL": (1, "?", bool), "U8": (1, "B", int), "I8": (1, "b", int), "U16": (2, "H", int), "I16": (2, "h", int),
    "U32": (4, "I", int), "I32": (4, "i", int), "U64": (8, "Q", int), "I64": (8, "q", int),
    "F16": (2, "e", float), "F32": (4, "f", float), "F64": (8, "d", float),
    "BF16": (2, "H", lambda bits: struct.unpack("<f", struct.pack("<I", bits << 16))[0]),
    "F8_E4M3": (1, "B", lambda bits: float8(bits, 4, 3, 7)),
    "F8_E5M2": (1, "B", lambda bits: float8(bits, 5, 2, 15)),
    "F8_E8M0": (1, "B", lambda bits: 2.0 ** (bits - 127)),
}


def read(path):
    with open(path, "rb") as handle:
        data = handle.read()
    length, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    body = data[8 + length:]
    assert (8 + length) % 64 == 0, "the tensors begin at %d" % (8 + length)
    result, end = {}, 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        size, code, value = TYPES[entry["dtype"]]
        first, last = entry["data_offsets"]
        count = 1
        for dimension in entry["shape"]:
            count *= dimension
        assert first == end, "a gap or an overlap before " + name
        assert first % size == 0, name + " is not aligned"
        assert last - first == size * count, name + " has another length"
        end = last
        numbers = struct.unpack("<%d%s" % (count, code), body[first:last])
        result[name] = [entry["dtype"], entry["shape"], [value(number) for number in numbers]]
    assert end == len(body), "bytes after the last tensor"
    return result


def write(path):
    header, body = {"__metadata__": {"format": "pt"}}, b""
    for name in reversed(sorted(TYPES)):  # narrow types before wide ones: not aligned
        size, code, _ = TYPES[name]
        # 1, 0, 1 of integers; bits of which the test knows the values else.
        values = {"F16": (1.5, -2.0, 0.0), "F32": (1.5, -2.0, 0.0), "F64": (1.5, -2.0, 0.0), "BF16": (0x3fc0, 0xc000, 0),
                  "F8_E4M3": (0x3c, 0xc0, 0), "F8_E5M2": (0x3e, 0xc0, 0), "F8_E8M0": (0x7f, 0x80, 0x7e),
                  "I8": (-128, 0, 127), "I16": (-32768, 0, 1), "I32": (-1, 0, 7), "I64": (-2 ** 63, 0, 5),
                  "U64": (2 ** 63, 0, 1)}.get(name, (1, 0, 1))
        packed = struct.pack("<3" + code, *values)
        header[name] = {"shape": [1, 3], "data_offsets": [len(body), len(body) + len(packed)], "dtype": name}
        body += packed
    text = json.dumps(header, indent=1).encode()
    with open(path, "wb") as handle:
        handle.write(struct.pack("<Q", len(text)) + text + body)


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(sys.argv[2])
    else:
        print(json.dumps(read(sys.argv[2])))
