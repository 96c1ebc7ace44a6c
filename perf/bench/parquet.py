"""Reads flat tables from Parquet files, as far as the straggler jobs need:
integers, floats and texts, plain or with a dictionary, as they are or packed
with snappy.  Source: the format's own description, apache/parquet-format."""

import struct

MAGIC = b"PAR1"
SNAPPY, UNPACKED = 1, 0
DATA_PAGE, DICTIONARY_PAGE = 0, 2
PLAIN, PLAIN_DICTIONARY, RLE_DICTIONARY = 0, 2, 8
OPTIONAL = 1
NUMBERS = {1: "i", 2: "q", 4: "f", 5: "d"}  # physical types: struct's letters
TEXT = 6


class Damaged(Exception):
    pass


class Bytes:
    """Reads from the front of bytes."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def take(self, n):
        part = self.data[self.at : self.at + n]
        if n < 0 or len(part) < n:
            raise Damaged("it ends too early")
        self.at += n
        return part

    def byte(self):
        return self.take(1)[0]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            if shift > 63:
                raise Damaged("a number is too long")

    def zigzag(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)


# ---- headers: Thrift's compact protocol ----


def _value(data, kind):
    if kind in (1, 2):
        return kind == 1
    if kind == 3:
        return data.byte()
    if kind in (4, 5, 6):
        return data.zigzag()
    if kind == 7:
        return struct.unpack("<d", data.take(8))[0]
    if kind == 8:
        return data.take(data.varint())
    if kind in (9, 10):
        head = data.byte()
        n = head >> 4 if head >> 4 < 15 else data.varint()
        return [_value(data, head & 15) for _ in range(n)]
    if kind == 12:
        return fields(data)
    raise Damaged(f"a header has the unknown type {kind}")


def fields(data):
    """{number of the field: value} of the struct in front."""
    found, number = {}, 0
    while True:
        head = data.byte()
        if head == 0:
            return found
        number = number + (head >> 4) if head >> 4 else data.zigzag()
        found[number] = _value(data, head & 15)


# ---- pages ----


def unsnap(packed):
    """Source: google/snappy, format_description.txt."""
    data, out = Bytes(packed), bytearray()
    size = data.varint()
    while data.at < len(packed):
        tag = data.byte()
        kind, n = tag & 3, tag >> 2
        if kind == 0:
            if n >= 60:
                n = int.from_bytes(data.take(n - 59), "little")
            out += data.take(n + 1)
            continue
        if kind == 1:
            n, back = (n & 7) + 4, tag >> 5 << 8 | data.byte()
        else:
            n, back = n + 1, int.from_bytes(data.take(2 * kind - 2), "little")
        if not 0 < back <= len(out):
            raise Damaged("a packed page refers to nothing")
        for _ in range(n):
            out.append(out[-back])
    if len(out) != size:
        raise Damaged("a packed page has a wrong size")
    return bytes(out)


def runs(data, width, n):
    """n numbers of that many bits: runs of equal ones, and groups of eight."""
    out, size = [], (width + 7) // 8
    while len(out) < n:
        head = data.varint()
        if head & 1:
            groups = head >> 1
            bits = int.from_bytes(data.take(groups * width), "little")
            mask = (1 << width) - 1
            for i in range(min(8 * groups, n - len(out))):
                out.append(bits >> i * width & mask)
        else:
            value = int.from_bytes(data.take(size), "little")
            out += [value] * min(head >> 1, n - len(out))
        if head < 2:
            raise Damaged("a run is empty")
    return out


def plain(data, kind, n):
    if kind == TEXT:
        return [
            data.take(int.from_bytes(data.take(4), "little")).decode()
            for _ in range(n)
        ]
    if kind not in NUMBERS:
        raise Damaged(f"a column has the unknown type {kind}")
    letter = "<" + str(n) + NUMBERS[kind]
    return list(struct.unpack(letter, data.take(struct.calcsize(letter))))


def page_values(data, header, kind, optional, dictionary):
    n = header[5][1]
    if optional:
        levels = Bytes(data.take(int.from_bytes(data.take(4), "little")))
        if not all(runs(levels, 1, n)):
            raise Damaged("a value is missing")
    if header[5][2] == PLAIN:
        return plain(data, kind, n)
    if header[5][2] not in (PLAIN_DICTIONARY, RLE_DICTIONARY):
        raise Damaged(f"a page has the unknown encoding {header[5][2]}")
    found = runs(data, data.byte(), n)
    if dictionary is None or max(found, default=0) >= len(dictionary):
        raise Damaged("a page refers to nothing")
    return [dictionary[i] for i in found]


def column(file, about, optional):
    """The values of a column of a row group."""
    at = about.get(11, about[9])
    data, values, dictionary = Bytes(file, at), [], None
    while len(values) < about[5]:
        header = fields(data)
        page = data.take(header[3])
        if about[4] == SNAPPY:
            page = unsnap(page)
        elif about[4] != UNPACKED:
            raise Damaged(f"a column is packed in the unknown way {about[4]}")
        if header[1] == DICTIONARY_PAGE:
            dictionary = plain(Bytes(page), about[1], header[7][1])
        elif header[1] == DATA_PAGE:
            values += page_values(
                Bytes(page), header, about[1], optional, dictionary
            )
        else:
            raise Damaged(f"a page has the unknown kind {header[1]}")
    return values


def _table(file, names):
    if len(file) < 12 or file[:4] != MAGIC or file[-4:] != MAGIC:
        raise Damaged("it does not begin and end as a Parquet file does")
    size = int.from_bytes(file[-8:-4], "little")
    about = fields(Bytes(file, max(0, len(file) - 8 - size)))
    optional = {s[4].decode(): s.get(3) == OPTIONAL for s in about[2][1:]}
    table = {name: [] for name in names}
    for group in about[4]:
        for chunk in group[1]:
            name = b".".join(chunk[3][3]).decode()
            if name in table:
                table[name] += column(file, chunk[3], optional[name])
    for name, values in table.items():
        if len(values) != about[3]:
            raise Damaged(f"it has no whole column '{name}'")
    return table


def read(path, names):
    """{name: values} of the columns."""
    with open(path, "rb") as source:
        file = source.read()
    try:
        return _table(file, names)
    except (KeyError, IndexError, TypeError, ValueError, struct.error):
        raise Damaged("a header says what cannot be") from None
