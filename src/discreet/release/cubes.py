"""Files of cubes on their way between offices: made, signed, encrypted, joined; and stores.

In: a programme and some of its records; or such files and keys. Out: a store, or a file of cubes
(confidential), which only its owner can read, and which may be signed by whoever made it and
encrypted for whoever joins it:

    offset  bytes
    0       8     "DCCUBESX"
    8       8     length of the header, h, high byte first
    16      h     header, JSON in UTF-8: how the key of the cipher is made
    16+h          the file in blocks of 64 MiB, each AES-256-GCM with its tag at the end; the
                  number of a block and whether it is the last one are covered by its tag
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.confidential import without_values
from discreet.errors import PackageError, ProgrammeError
from discreet.microdata import MAGIC, SIGNATURE, SIGNED, CubeFile, write_cube_bytes
from discreet.release.run.counts import KeyedRecords, cube_queries
from discreet.release.run.data_checks import checked_inputs
from discreet.store import Store

if TYPE_CHECKING:
    from discreet.release.packages.keys import PackageKey

ENCRYPTED = b"DCCUBESX"
_LENGTH, _BLOCK, _TAG, _LARGEST_HEADER = 8, 2**26, 16, 2**16
_PURPOSE = b"discreet cubes: signature 1|"

AnyPath = str | os.PathLike[str]


@without_values
def make_cubes(
    programme: AnyPath,
    out: AnyPath,
    *,
    data: Mapping[str, AnyPath] | None = None,
    source: str | None = None,
    sign: AnyPath | None = None,
    key: PackageKey | None = None,
    show_values: bool = False,
) -> Path:
    """Add up records to the cubes that the tables of a programme are made of.

    Nothing about single records is in the file but what cells of one record tell, and the
    largest contributions where a table needs them: it is as confidential as they are.

    Args:
        programme: The programme, the same for all parts of the records.
        out: The file to write, .cube.
        data: Per source, the file with these records, in place of the one it names.
        source: The source whose tables are meant; the main one if not given.
        sign: Who makes it: the file of a signing key.
        key: Encrypt it for whoever has this key.
        show_values: Whether errors may quote the first wrong value of a column.

    >>> make_cubes("no-such-programme.toml", "part.cube")
    Traceback (most recent call last):
        ...
    discreet.errors.ProgrammeError: [programme-file] no-such-programme.toml: ...
    """
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    from discreet.release.packages.container import new_encryption
    from discreet.tabulation import add_up

    inputs = checked_inputs(programme, show_values=show_values, data=data)
    name = inputs.programme.known_source(source)
    records, record_key = KeyedRecords(inputs).of(name)
    content = add_up(
        records,
        cube_queries(inputs, name),
        record_key=record_key,
        key_grid=inputs.grid,
        allow_unsuitable_keys=inputs.programme.sources[name].keys.allow_unsuitable,
    )
    content = _signed(content, sign)
    if key is None:
        return write_cube_bytes(out, content)
    encryption = new_encryption(key)
    header = encryption.model_dump_json().encode()
    start = ENCRYPTED + len(header).to_bytes(_LENGTH, "big") + header
    blocks = [content[at : at + _BLOCK] for at in range(0, len(content), _BLOCK)]
    cipher, nonce = AESGCM(encryption.working_keys(key).cipher), bytes.fromhex(encryption.nonce)
    locked = (
        cipher.encrypt(*_block(nonce, at, block, at == len(blocks) - 1, start))
        for at, block in enumerate(blocks)
    )
    return write_cube_bytes(out, start + b"".join(locked))


@without_values
def join_cube_files(
    paths: Sequence[AnyPath],
    out: AnyPath,
    *,
    key: PackageKey | None = None,
    verify_keys: Sequence[AnyPath] = (),
    sign: AnyPath | None = None,
) -> Path:
    """Join cubes of different records, in any order, to one file.

    Args:
        paths: The files; each of other records.
        out: The file to write, not encrypted.
        key: What opens those that are encrypted.
        verify_keys: Public keys: each file must be signed with one of them, if any are given.
        sign: Who joins them: the file of a signing key.

    >>> join_cube_files(["no-such.cube"], "all.cube")
    Traceback (most recent call last):
        ...
    discreet.errors.PackageError: [cube-file] no-such.cube: the file cannot be read (No such ...
    """
    from tempfile import TemporaryDirectory

    from discreet.release.packages.keys import read_verify_key
    from discreet.tabulation import joined_files

    if not paths:
        raise PackageError("give the partial aggregates to join", code="cube-file", where="cubes")
    trusted = [read_verify_key(path) for path in verify_keys]
    with TemporaryDirectory(prefix=".cubes-", dir=Path(out).absolute().parent) as folder:
        opened = []
        for number, path in enumerate(map(Path, paths)):
            place = _opened(path, Path(folder) / f"{number}.cube", key)
            _check_signature(place, path, trusted)
            opened.append(place)
        content = joined_files(opened)
    return write_cube_bytes(out, _signed(content, sign))


def describe_cubes(path: AnyPath, key: PackageKey | None = None) -> dict[str, Any]:
    """Describe a file of cubes. CONFIDENTIAL: it contains the number of cells."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="discreet-cubes-") as folder:
        file = CubeFile.read(_opened(Path(path), Path(folder) / "opened.cube", key))
        signer = _check_signature(file.path, Path(path), [])
    manifest = file.manifest
    return {
        "records": manifest["records"],
        "record_key": manifest["record_key"],
        "columns": list(manifest["schema"]),
        "signer": signer,
        "cubes": [
            {
                "by": [axis[0] for axis in about["axes"]],
                **{name: about[name] for name in ("where", "weight", "values", "cells")},
            }
            for about in manifest["cubes"]
        ],
    }


# -- signatures -------------------------------------------------------------------------


def _signed(content: bytes, sign: AnyPath | None) -> bytes:
    from discreet.release.packages.keys import public_bytes, read_signing_key

    if sign is None:
        return content
    signing = read_signing_key(sign)
    return content + SIGNED + public_bytes(signing) + signing.sign(_PURPOSE + content)


def _check_signature(place: Path, named: Path, trusted: Sequence[bytes]) -> str | None:
    """Who signed a file, checked; an error if it had to be somebody else."""
    from discreet.release.packages.keys import is_signed, key_id

    file, content = CubeFile.read(place), place.read_bytes()
    end = file.start + sum(about["length"] for about in file.manifest["cubes"])
    if len(content) == end:
        if trusted:
            message = "the partial aggregates are not signed"
            raise _refused(named, "unsigned", message, "request a signed file")
        return None
    content, part = content[:end], content[end:]
    public = part[len(SIGNED) : -64]
    formed = len(part) == SIGNATURE and part.startswith(SIGNED)
    if not (formed and is_signed(_PURPOSE + content, part[-64:], public)):
        message = "the signature is not valid: the file changed after signing"
        raise _refused(named, "signature", message, "request the file again")
    if trusted and public not in trusted:
        message = f"another key signed the partial aggregates: {key_id(public)}"
        raise _refused(named, "signer", message, "use the public key of their sender")
    return key_id(public)


def _refused(path: Path, code: str, what: str, hint: str) -> PackageError:
    return PackageError(what, code=code, where=str(path), hint=hint)


# -- encryption -------------------------------------------------------------------------


def _block(
    nonce: bytes, at: int, block: bytes, last: bool, start: bytes
) -> tuple[bytes, bytes, bytes]:
    """Nonce, content and what is covered besides, of one block."""
    number = int.from_bytes(nonce, "big") ^ at
    return number.to_bytes(len(nonce), "big"), block, start + at.to_bytes(8, "big") + bytes([last])


def _opened(path: Path, temporary: Path, key: PackageKey | None) -> Path:
    """The file itself; or, of one that is encrypted, its content in a temporary one."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from pydantic import ValidationError

    from discreet.release.packages.container import Encryption

    try:
        content = path.read_bytes()
    except OSError as error:
        message = f"the file cannot be read ({error.strerror})"
        raise _refused(path, "cube-file", message, "") from None
    if not content.startswith(ENCRYPTED):
        return path
    if key is None:
        message = "the partial aggregates are encrypted"
        raise _refused(path, "key", message, "add --key-file FILE, or the place of the passphrase")
    at = len(ENCRYPTED) + _LENGTH
    size = int.from_bytes(content[len(ENCRYPTED) : at], "big")
    try:
        if not 0 < size <= _LARGEST_HEADER:
            raise InvalidTag
        header = json.loads(content[at : at + size])
        encryption = Encryption.model_validate(header)
        start, left = content[: at + size], content[at + size :]
        keys, nonce = encryption.working_keys(key), bytes.fromhex(encryption.nonce)
        blocks = [left[n : n + _BLOCK + _TAG] for n in range(0, len(left), _BLOCK + _TAG)] or [b""]
        plain = [
            AESGCM(keys.cipher).decrypt(*_block(nonce, n, block, n == len(blocks) - 1, start))
            for n, block in enumerate(blocks)
        ]
    except (InvalidTag, ValidationError, ValueError):
        message = "the key is wrong, or the file is damaged"
        raise _refused(path, "key", message, "request the file again, or for its key") from None
    if not plain[0].startswith(MAGIC):
        raise _refused(path, "cube-file", "not a file of partial aggregates", "")
    return write_cube_bytes(temporary, b"".join(plain))


@without_values
def build_store(
    programme: AnyPath,
    out: AnyPath,
    *,
    source: str | None = None,
    sort: str | None = None,
    data: Mapping[str, AnyPath] | None = None,
    show_values: bool = False,
) -> Store:
    """Build the store of what the tables of a programme need."""
    inputs = checked_inputs(programme, show_values=show_values, data=data)
    name = inputs.programme.known_source(source)
    records, record_key = KeyedRecords(inputs).of(name)
    queries = cube_queries(inputs, name)
    spanning = {part.name: part.trees or part.name for query in queries for part in query.variables}
    sizes = {
        part.name: max(len(tree.leaves) for tree in part.trees)
        for query in queries
        for part in query.variables
        if part.trees and all(tree.bounds is None for tree in part.trees)
    }
    first = sort or max(sizes or list(spanning), key=lambda each: sizes.get(each, 0))
    if first not in spanning:
        message, hint = f"{first!r} is not used in tables", f"variables: {', '.join(spanning)}"
        raise ProgrammeError(message, code="variable", where=str(programme), hint=hint)
    columns = dict.fromkeys(column for query in queries for column in query.columns)
    return Store.create(
        out,
        records,
        variables=[spanning.pop(first), *spanning.values()],
        values=[column for column in columns if column != record_key],
        record_key=record_key,
        key_grid=inputs.grid,
        allow_unsuitable_keys=inputs.programme.sources[name].keys.allow_unsuitable,
    )
