"""Files of cubes: what records were added up to, with a manifest. CONFIDENTIAL.

In: a manifest and one frame per cube. Out: a file, the same bytes for the same cubes; from
such files the manifests and, one by one, the frames again, once their digests are checked.

    offset  bytes
    0       8     "DCCUBES1"
    8       8     length of the manifest, m, high byte first
    16      m     manifest, JSON in UTF-8, with length and SHA-256 digest of each cube
    16+m          the cubes one after the other, Arrow IPC files
            104   "DCSIGNED", public key, Ed25519 signature of all before; nothing if not signed
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from discreet.errors import MicrodataError, Problem
from discreet.files import atomic_path
from discreet.microdata.distant_frames import KeyedBefore

MAGIC, SIGNED = b"DCCUBES1", b"DCSIGNED"
#: Bytes of the part that holds a signature.
SIGNATURE = len(SIGNED) + 32 + 64
_FORMAT, _LENGTH, _LARGEST_MANIFEST = 1, 8, 2**26
_KEYS = {"format", "records", "schema", "record_key", "grid", "keys", "cubes"}
#: What the cubes of several files must have in common to be joined.
SHARED = ("schema", "record_key", "grid")


def damaged(
    path: Path, what: str = "not a file of partial aggregates, or damaged"
) -> MicrodataError:
    """The error for a file that cannot be what it claims to be."""
    hint = "build it again with discreet cube make, or copy it again"
    return MicrodataError(what, code="cube-file", where=str(path), hint=hint)


def cube_bytes(manifest: Mapping[str, Any], cubes: Sequence[pl.DataFrame]) -> bytes:
    """The file of some cubes; `manifest["cubes"]` describes each of them."""
    contents = []
    for cube in cubes:
        buffer = io.BytesIO()
        cube.rechunk().write_ipc(buffer, compression="uncompressed")
        contents.append(buffer.getvalue())
    described = [
        {**about, "length": len(part), "sha256": hashlib.sha256(part).hexdigest()}
        for about, part in zip(manifest["cubes"], contents, strict=True)
    ]
    whole = {**manifest, "format": _FORMAT, "cubes": described}
    text = json.dumps(whole, sort_keys=True, ensure_ascii=False).encode()
    return b"".join([MAGIC, len(text).to_bytes(_LENGTH, "big"), text, *contents])


def write_cube_bytes(path: str | os.PathLike[str], content: bytes) -> Path:
    """Write a file that only its owner can read, at once."""
    place = Path(path)
    with atomic_path(place, private=True) as temporary:
        temporary.write_bytes(content)
    return place


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class CubeFile:
    """A file of cubes whose manifest was read (confidential)."""

    path: Path  # the file
    manifest: Mapping[str, Any]  # what it holds
    start: int  # where the first cube begins

    @classmethod
    def read(cls, path: Path) -> CubeFile:
        """Read the manifest, and check that the file is as long as it says."""
        try:
            with path.open("rb") as file:
                head = file.read(len(MAGIC) + _LENGTH)
                size = int.from_bytes(head[len(MAGIC) :], "big")
                if not head.startswith(MAGIC) or not 0 < size <= _LARGEST_MANIFEST:
                    raise damaged(path)
                manifest = json.loads(file.read(size))
        except (OSError, ValueError, RecursionError):
            raise damaged(path) from None
        start = len(MAGIC) + _LENGTH + size
        try:
            if set(manifest) != _KEYS or manifest["format"] != _FORMAT:
                raise damaged(
                    path, "another version of discreet made this file of partial aggregates"
                )
            lengths = sum(int(about["length"]) for about in manifest["cubes"])
            if path.stat().st_size - start - lengths not in (0, SIGNATURE):
                raise damaged(path)
            cube = cls(path=path, manifest=manifest, start=start)
            cube.schema  # noqa: B018 - types that there are
        except (TypeError, KeyError, ValueError, AttributeError):
            raise damaged(path) from None
        return cube

    @property
    def schema(self) -> dict[str, Any]:
        """The columns that the records had, and their types."""
        return {name: _dtype(kind) for name, kind in self.manifest["schema"].items()}

    def cubes(self) -> Iterator[tuple[dict[str, Any], pl.DataFrame]]:
        """Each cube: what it is, and its cells."""
        with self.path.open("rb") as file:
            file.seek(self.start)
            for about in self.manifest["cubes"]:
                part = file.read(about["length"])
                if hashlib.sha256(part).hexdigest() != about["sha256"]:
                    raise damaged(self.path)
                yield about, pl.read_ipc(io.BytesIO(part))

    def __repr__(self) -> str:
        return f"<CubeFile {self.path} (confidential)>"


def dtype_name(dtype: Any) -> str:
    """A type's name in manifests; texts for codes of any kind.

    >>> dtype_name(pl.Int64()), dtype_name(pl.Enum(["m", "w"]))
    ('Int64', 'String')
    """
    name = str(dtype.base_type().__name__)
    return name if dtype.is_numeric() or name in ("Boolean", "Date", "Datetime") else "String"


def _dtype(name: str) -> Any:
    if name.startswith("_") or not isinstance(dtype := getattr(pl, name), type):
        raise ValueError(name)
    return dtype() if issubclass(dtype, pl.DataType) else None


class DistantCubes(KeyedBefore):
    """Records that were added up elsewhere: what is left of them is in files of cubes."""

    def __init__(self, files: Sequence[CubeFile]) -> None:
        self.files = tuple(files)
        first = self.files[0]
        different = [
            Problem(f"its {key} differs from that of {first.path.name}", str(file.path))
            for file in self.files[1:]
            for key in SHARED
            if file.manifest[key] != first.manifest[key]
        ]
        seen = [file.manifest["cubes"] for file in self.files if file.manifest["records"]]
        twice = next((at for at, one in enumerate(seen) if one in seen[:at]), None)
        if twice is not None:
            raise MicrodataError(
                "the same partial aggregates occur twice",
                code="cubes-twice",
                where=str(self.files[twice].path),
                hint="remove one of the files, so that records are counted once",
            )
        if different:
            message = "these partial aggregates differ in structure and cannot be joined"
            hint = "build all of them with the same programme"
            raise MicrodataError(
                message,
                code="cubes-differ",
                where=different[0].where,
                hint=hint,
                problems=different,
            )

    @classmethod
    def of_paths(cls, paths: Sequence[Path]) -> DistantCubes:
        """The cubes of some files."""
        return cls([CubeFile.read(path) for path in paths])

    @property
    def schema(self) -> dict[str, Any]:
        """The columns that the records had, and their types."""
        return self.files[0].schema

    @property
    def records(self) -> int:
        """Number of records in the sums."""
        return sum(int(file.manifest["records"]) for file in self.files)

    @property
    def record_key(self) -> str | None:
        """The column of keys that were added up."""
        name: str | None = self.files[0].manifest["record_key"]
        return name

    def fetched(self, columns: Sequence[str], most: int | None) -> Iterator[pl.DataFrame]:
        """Cubes hold no records: whoever asks for them cannot be served."""
        raise MicrodataError(
            "this step needs the records; the file holds partial aggregates",
            code="cubes-only",
            where=str(self.files[0].path),
            hint=(
                "run it where the records are; partial aggregates give tables of counts and sums"
            ),
        )
