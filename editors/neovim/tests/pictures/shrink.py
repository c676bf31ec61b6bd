"""shrink.py PNG: rewrites a PNG with a palette, which a terminal's picture hardly needs more than."""
import struct
import sys
import zlib
from collections import Counter

EXACT = 256 # colours


def chunks(data):
    at = 8
    while at < len(data):
        size, = struct.unpack(">I", data[at:at + 4])
        yield data[at + 4:at + 8], data[at + 8:at + 8 + size]
        at += 12 + size


def rows(raw, width, height, depth):
    """Undoes the filters of PNG."""
    stride, before, at = width * depth, bytes(width * depth), 0
    for _ in range(height):
        kind, line = raw[at], bytearray(raw[at + 1:at + 1 + stride])
        at += 1 + stride
        if kind == 2 and any(line):
            line = bytearray((x + y) & 255 for x, y in zip(line, before))
        elif kind == 2:
            line = bytearray(before)
        elif kind:
            for i in range(stride):
                a = line[i - depth] if i >= depth else 0
                b = before[i]
                if kind == 1:
                    line[i] = (line[i] + a) & 255
                elif kind == 3:
                    line[i] = (line[i] + (a + b) // 2) & 255
                else:
                    c = before[i - depth] if i >= depth else 0
                    p = a + b - c
                    line[i] = (line[i] + min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]) & 255
        before = bytes(line)
        yield before


def main(path):
    with open(path, "rb") as f:
        data = f.read()
    width = height = depth = 0
    packed = b""
    for kind, body in chunks(data):
        if kind == b"IHDR":
            width, height, bits, colour = struct.unpack(">IIBB", body[:10])
            if bits != 8 or colour not in (2, 6):
                sys.exit(f"{path}: an 8-bit RGB picture is wanted")
            depth = 3 if colour == 2 else 4
        elif kind == b"IDAT":
            packed += body
    pixels = [[line[i:i + 3] for i in range(0, len(line), depth)] for line in rows(zlib.decompress(packed), width, height, depth)]
    counts = Counter()
    for line in pixels:
        counts.update(line)
    # a sign in a colour of its own has few pixels and much to say
    kept = sorted(counts, key=lambda c: (-counts[c] * (1 + max(c) - min(c)), c))[:EXACT]
    table = {c: i for i, c in enumerate(kept)}
    for c in counts:  # the rest, edges of letters, go to the nearest that is kept
        if c not in table:
            table[c] = min(range(len(kept)), key=lambda i: sum((x - y) ** 2 for x, y in zip(kept[i], c)))
    out = b"".join(b"\0" + bytes(table[p] for p in line) for line in pixels)

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0))
                + chunk(b"PLTE", b"".join(kept)) + chunk(b"IDAT", zlib.compress(out, 9)) + chunk(b"IEND", b""))


main(sys.argv[1])
