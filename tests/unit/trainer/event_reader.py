"""tests/unit/trainer/event_reader.py - prints the events of a TensorBoard file; reads records and messages on its own.
SPDX-License-Identifier: Apache-2.0

A line per value: "STEP TAG VALUE", "STEP start" for a session's start and "version TEXT".
"""
import struct
import sys


def crc32c(data):
    """Bit by bit."""
    total = 0xFFFFFFFF
    for byte in data:
        total ^= byte
        for _ in range(8):
            total = (total >> 1) ^ (0x82F63B78 if total & 1 else 0)
    return total ^ 0xFFFFFFFF


def masked(data):
    total = crc32c(data)
    return (((total >> 15) | (total << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def fields(message):
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        number, wire = key >> 3, key & 7
        if wire == 0:
            yield number, varint()
        elif wire == 1:
            yield number, struct.unpack_from("<d", message, at)[0]
            at += 8
        elif wire == 2:
            size = varint()
            yield number, message[at:at + size]
            at += size
        elif wire == 5:
            yield number, struct.unpack_from("<f", message, at)[0]
            at += 4
        else:
            sys.exit("wire type %d" % wire)


def main():
    if crc32c(b"123456789") != 0xE3069283:
        sys.exit("this reader's checksum is wrong")
    data = open(sys.argv[1], "rb").read()
    at = 0
    while at < len(data):
        size, check = struct.unpack_from("<QI", data, at)
        message = data[at + 12:at + 12 + size]
        if check != masked(data[at:at + 8]) or struct.unpack_from("<I", data, at + 12 + size)[0] != masked(message):
            sys.exit("the checksum at byte %d is wrong" % at)
        at += 16 + size
        event = dict(fields(message))
        if not event.get(1, 0) > 1.6e9:
            sys.exit("no time at byte %d" % at)
        if 3 in event:
            print("version", event[3].decode())
        if 7 in event:
            print(event.get(2, 0), "start" if dict(fields(event[7])) == {1: 1} else "session?")
        for _, value in fields(event.get(5, b"")):
            value = dict(fields(value))
            print(event.get(2, 0), value[1].decode(), "%g" % value[2])


if __name__ == "__main__":
    main()
