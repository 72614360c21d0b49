"""A writer of small SAS data sets (.sas7bdat), made from public notes on the format.

Uncompressed, 32 bit, little-endian: a header, one page of subheaders, pages of rows.
"""

import struct
from pathlib import Path

_MAGIC = bytes(12) + bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011")
_HEADER, _PAGE, _PAGE_HEAD = 1024, 8192, 24
_ROW_SIZE, _COLUMN_SIZE, _TEXT = 0xF7F7F7F7, 0xF6F6F6F6, 0xFFFFFFFD
_NAMES, _ATTRIBUTES, _FORMAT = 0xFFFFFFFF, 0xFFFFFFFC, 0xFFFFFBFE
_MISSING = bytes.fromhex("0000000000feffff")


def write_sas7bdat(
    path: Path, columns: dict[str, list[object]], formats: dict[str, str] | None = None
) -> Path:
    """Write columns of floats (None: missing) and texts."""
    numeric = {
        name: all(value is None or isinstance(value, float | int) for value in values)
        for name, values in columns.items()
    }
    widths = {
        name: 8 if numeric[name] else max(len(str(value or "").encode()) for value in values)
        for name, values in columns.items()
    }
    height = len(next(iter(columns.values())))
    length = sum(widths.values())
    words = b"".join(_padded(name) + _padded((formats or {}).get(name, "")) for name in columns)
    text = struct.pack("<IH", _TEXT, len(words) + 8 + 0) + bytes(2) + bytes(4) + words
    text = text[:4] + struct.pack("<H", len(text) - 12) + text[6:]
    names, attributes, form, offset = b"", b"", [], 0
    at = 8  # from behind the signature
    for name in columns:
        names += struct.pack("<HHHH", 0, at, len(name.encode()), 0)
        at += len(_padded(name))
        given = (formats or {}).get(name, "")
        form.append(
            struct.pack("<I", _FORMAT)
            + bytes(30)
            + struct.pack("<HHH", 0, at if given else 0, len(given))
            + bytes(12)
        )
        at += len(_padded(given))
        attributes += struct.pack(
            "<IIHBB", offset, widths[name], 0x0400, 1 if numeric[name] else 2, 0
        )
        offset += widths[name]
    row_size = bytearray(480)
    struct.pack_into("<I", row_size, 0, _ROW_SIZE)
    struct.pack_into("<II", row_size, 20, length, height)
    per_page = (_PAGE - _PAGE_HEAD) // length
    subheaders = [
        bytes(row_size),
        struct.pack("<III", _COLUMN_SIZE, len(columns), 0),
        text,
        _listed(_NAMES, names),
        _listed(_ATTRIBUTES, attributes),
        *form,
    ]
    pages = [_meta_page(subheaders)]
    rows = [
        b"".join(_cell(values[at], widths[name], numeric[name]) for name, values in columns.items())
        for at in range(height)
    ]
    for first in range(0, height, per_page):
        part = rows[first : first + per_page]
        head = bytes(16) + struct.pack("<HHHH", 0x0100, len(part), 0, 0)
        pages.append((head + b"".join(part)).ljust(_PAGE, b"\0"))
    path.write_bytes(_header(len(pages)) + b"".join(pages))
    return path


def _padded(text: str) -> bytes:
    raw = text.encode()
    return raw + bytes(-len(raw) % 4)


def _listed(signature: int, entries: bytes) -> bytes:
    """A subheader of entries with its length."""
    whole = struct.pack("<I", signature) + bytes(8) + entries + bytes(8)
    return whole[:4] + struct.pack("<H", len(whole) - 12) + whole[6:]


def _cell(value: object, width: int, numeric: bool) -> bytes:
    if numeric:
        return _MISSING if value is None else struct.pack("<d", float(value))  # type: ignore[arg-type]
    return str(value or "").encode().ljust(width)


def _meta_page(subheaders: list[bytes]) -> bytes:
    pointers, content, end = b"", b"", _PAGE
    for part in subheaders:
        end -= len(part) + -len(part) % 4
        pointers += struct.pack("<IIBBH", end, len(part), 0, 0, 0)
        content = part + bytes(-len(part) % 4) + content
    head = bytes(16) + struct.pack("<HHHH", 0, len(subheaders), len(subheaders), 0)
    return (head + pointers).ljust(end, b"\0") + content


def _header(pages: int) -> bytes:
    start = bytearray(164)
    start[:32] = _MAGIC
    start[32], start[35], start[37], start[39], start[70] = 0x22, 0x22, 1, ord("1"), 20
    start[84:92] = b"SAS FILE"
    start[92:124] = b"DATA".ljust(32)
    start[156:164] = b"DATA    "
    middle = struct.pack("<dd", 0.0, 0.0) + bytes(16) + struct.pack("<III", _HEADER, _PAGE, pages)
    end = b"9.0401M1" + b"Linux".ljust(16, b"\0") + bytes(96)
    return (bytes(start) + middle + bytes(8) + end).ljust(_HEADER, b"\0")
