"""The file of a package: an open header, the encrypted parameters, a signature.

In: a header, `Parameters` and keys; or the bytes of a file. Out: the bytes of a file; or,
once signature and cipher have been checked, the parameters that were sealed (SECRET),
without loss, since every number of a perturbation table is a whole one, and checked like
any other input. The header may be read by everyone; it is covered by the cipher's tag and
by the signature.

    offset  bytes
    0       8       "DCPARAMS"
    8       2       version of the format, high byte first
    10      4       length of the header, h
    14      8       length of the content, c
    22      h       header, JSON in UTF-8
    22+h    c       content: AES-256-GCM, its tag at the end
    22+h+c  64      Ed25519 signature of all before; nothing if not signed
"""

from __future__ import annotations

import json
import secrets
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, Literal, NoReturn

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from discreet._version import __version__
from discreet.errors import DiscreetError, PackageError
from discreet.keygrid import KeyGrid
from discreet.protection.noise import (
    DECIMAL_SCALE,
    MagnitudePart,
    PerturbationFile,
    as_text,
    check_kind,
    pack,
    read_json,
)
from discreet.release.packages.keys import PackageKey, WorkingKeys, is_signed, key_id, public_bytes
from discreet.release.packages.parameters import Parameters, parameters_of

MAGIC = b"DCPARAMS"
FORMAT_VERSION = 1

#: Nobody needs more; a file that claims more is no package.
LARGEST = 64 * 2**20
LARGEST_HEADER = 2**16

_START = struct.Struct(">8sHIQ")
_PURPOSE = b"discreet parameters: signature 1|"
_NONCE_BYTES = 12
_SALT_BYTES = 16
_TAG_BYTES = 16
_SIGNATURE_BYTES = 64

#: Contents are filled up to multiples of this, so that their length tells little.
_BLOCK = 2**16

#: About 128 MB and half a second for each trial of a passphrase.
_COST = (2**17, 8, 1)

Word = Annotated[
    str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")
]
Hex32 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Hex16 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
Hex12 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{24}$")]


class _HeaderForm(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Scrypt(_HeaderForm):
    """Bounded parameters of the key derivation from a passphrase; they are not yet verified."""

    salt: Hex16
    n: Literal[16384, 32768, 65536, 131072, 262144, 524288, 1048576]
    r: Literal[8]
    p: Annotated[int, Field(ge=1, le=4)]


class Encryption(_HeaderForm):
    """Encryption of the content."""

    cipher: Literal["AES-256-GCM"] = "AES-256-GCM"
    key: Literal["key-file", "passphrase"]
    salt: Hex16
    nonce: Hex12
    scrypt: Scrypt | None = None

    def working_keys(self, key: PackageKey) -> WorkingKeys:
        """The keys that are made of the one that is given."""
        stretching = None if self.scrypt is None else self.scrypt.model_dump()
        return key.working_keys(bytes.fromhex(self.salt), stretching)


class Header(_HeaderForm):
    """Public header of a package."""

    statistic: Word
    version: Word  # the version of its parameters
    made_with: Word  # the version of this program
    kinds: list[Word]  # the kinds of parameters there are
    grid: Annotated[int, Field(ge=2, le=KeyGrid().size)]  # size of the key grid
    digest: Hex32  # keyed digest of the content
    encryption: Encryption  # how the content is encrypted
    signer: Hex32 | None  # the public key of whoever signed; None if nobody did

    @property
    def signer_id(self) -> str | None:
        """The short name of the signer's key."""
        return None if self.signer is None else key_id(bytes.fromhex(self.signer))


@dataclass(frozen=True, repr=False)
class Sealed:
    """A package as it was read; nothing of it has been checked but its form."""

    where: str  # the file, for messages
    header: Header  # the header, not to be trusted yet
    start: bytes  # all bytes before the content
    content: bytes  # the encrypted content
    signature: bytes  # the signature; empty if there is none

    def check_signature(self, trusted: bytes | None = None) -> None:
        """Raise unless the file is as it was signed."""
        signer = self.header.signer
        if signer is None:
            if trusted is not None:
                self._refuse("package-unsigned", "the package is not signed", _ASK)
            return
        if trusted is not None and signer != trusted.hex():
            message = f"the package is signed with another key: {self.header.signer_id}"
            self._refuse("package-signer", message, f"expected key: {key_id(trusted)}")
        signed = _PURPOSE + self.start + self.content
        if not is_signed(signed, self.signature, bytes.fromhex(signer)):
            message = "the signature is not valid: the package is changed or damaged"
            self._refuse("package-signature", message, _ASK)

    def check_pins(self, *, signer: str | None, allow_unsigned: bool, **pins: str | None) -> None:
        """Raise unless this is the package that is wanted, of any where a pin is None."""
        header = self.header
        if header.signer is None and signer is not None:
            self._refuse("package-unsigned", "the package is not signed", _ASK)
        if header.signer is None and not allow_unsigned:
            message = "the package is not signed: anyone who can open packages could have made it"
            hint = "request a signed one, or accept it with allow_unsigned = true, --allow-unsigned"
            self._refuse("package-unsigned", message, hint)
        if signer not in (None, header.signer_id):
            message = f"the package is signed with another key: {header.signer_id}"
            self._refuse("package-signer", message, f"expected key: {signer}")
        for name, wanted in pins.items():
            if wanted not in (None, getattr(header, name)):
                message = f"the package has another {name}: {getattr(header, name)!r}"
                hint = f"expected {name}: {wanted!r}"
                self._refuse(f"package-{name}", message, hint)

    def working_keys(self, key: PackageKey) -> WorkingKeys:
        """The keys for this package, made of the one that is given."""
        encryption = self.header.encryption
        if key.kind != encryption.key:
            wanted, given = (kind.replace("-", " ") for kind in (encryption.key, key.kind))
            message = f"the package needs a {wanted}, not a {given}"
            self._refuse(
                "package-key", message, "to see how a package opens, run: discreet params show"
            )
        return encryption.working_keys(key)

    def opened(self, keys: WorkingKeys) -> bytes:
        """The content. SECRET."""
        nonce = bytes.fromhex(self.header.encryption.nonce)
        try:
            return AESGCM(keys.cipher).decrypt(nonce, self.content, self.start)
        except InvalidTag:
            message = (
                "the package cannot be opened: the key is wrong"
                if self.header.signer is not None
                else "the package cannot be opened: the key is wrong, or the file is damaged"
            )
            self._refuse("package-key", message, "request the key from the sender of the package")

    def _refuse(self, code: str, what: str, hint: str) -> NoReturn:
        raise PackageError(what, code=code, where=self.where, hint=hint)

    def __repr__(self) -> str:
        return f"<Sealed {self.where}>"


_ASK = "request the package again from its sender"


def seal(
    content: Callable[[WorkingKeys], tuple[bytes, str]],
    key: PackageKey,
    signing: Ed25519PrivateKey | None,
    *,
    statistic: str,
    version: str,
    kinds: list[str],
    grid: int,
) -> bytes:
    """The bytes of a package."""
    encryption = new_encryption(key)
    keys = encryption.working_keys(key)
    plain, digest = content(keys)
    padded = plain + b" " * (-len(plain) % _BLOCK)
    header = Header(
        statistic=statistic,
        version=version,
        made_with=__version__,
        kinds=kinds,
        grid=grid,
        digest=digest,
        encryption=encryption,
        signer=None if signing is None else public_bytes(signing).hex(),
    )
    text = header.model_dump_json().encode()
    length = len(padded) + _TAG_BYTES
    start = _START.pack(MAGIC, FORMAT_VERSION, len(text), length) + text
    sealed = AESGCM(keys.cipher).encrypt(bytes.fromhex(encryption.nonce), padded, start)
    signature = b"" if signing is None else signing.sign(_PURPOSE + start + sealed)
    return start + sealed + signature


def new_encryption(key: PackageKey) -> Encryption:
    """Encryption of new content for the owner of a key."""
    n, r, p = _COST
    salt = secrets.token_hex(_SALT_BYTES)
    stretched = key.kind == "passphrase"
    scrypt = {"salt": secrets.token_hex(_SALT_BYTES), "n": n, "r": r, "p": p}
    return Encryption(
        key=key.kind,
        salt=salt,
        nonce=secrets.token_hex(_NONCE_BYTES),
        scrypt=Scrypt.model_validate(scrypt) if stretched else None,
    )


def parse(data: bytes, where: str) -> Sealed:
    """The parts of a package, by form alone."""
    if not data.startswith(MAGIC):
        hint = "create packages with: discreet params pack"
        message = "not a package of parameters"
        raise PackageError(message, code="package-file", where=where, hint=hint)
    if len(data) < _START.size:
        raise _damaged(where)
    _, form, header_length, length = _START.unpack_from(data)
    if form != FORMAT_VERSION:
        message = f"the package has format version {form}"
        hint = f"this program reads version {FORMAT_VERSION}; a newer version may read it"
        raise PackageError(message, code="package-version", where=where, hint=hint)
    end = _START.size + header_length + length
    if header_length > LARGEST_HEADER or length < _TAG_BYTES or end > len(data):
        raise _damaged(where)
    start = data[: _START.size + header_length]
    try:
        header = Header.model_validate_json(start[_START.size :])
    except ValidationError:
        raise _damaged(where) from None
    signature = data[end:]
    stretched = header.encryption.scrypt is not None
    if len(signature) != (0 if header.signer is None else _SIGNATURE_BYTES) or stretched != (
        header.encryption.key == "passphrase"
    ):
        raise _damaged(where)
    return Sealed(where, header, start, data[len(start) : end], signature)


def _damaged(where: str) -> PackageError:
    message = "the package is damaged: parts are missing, changed or extra"
    return PackageError(message, code="package-damaged", where=where, hint=_ASK)


_FIELDS = {"tables", "magnitude_tables", "sections", "secret"}


def to_bytes(parameters: Parameters) -> bytes:
    """The parameters as JSON. SECRET."""
    table = parameters.perturbation_table
    text = as_text(table.content, "json", name=table.name, version=table.version)
    magnitudes = {
        column: {
            "name": magnitude.table.name,
            "parts": [
                {
                    "kind": part.kind,
                    "classes": list(part.classes),
                    "step": part.step,
                    "closed": part.content.closed,
                    "rows": [
                        {"upper": upper, "noise": noise} for _, upper, noise in part.content.rows()
                    ],
                }
                for part in magnitude.table.parts
            ],
        }
        for column, magnitude in parameters.magnitudes.items()
    }
    secret = None if parameters.secret is None else parameters.secret.reveal().hex()
    content = {
        "tables": json.loads(text),
        "magnitude_tables": magnitudes,
        "sections": parameters.sections(),
        "secret": secret,
    }
    return json.dumps(content, ensure_ascii=False, allow_nan=False).encode()


def from_bytes(content: bytes, *, where: str, statistic: str, version: str) -> Parameters:
    """The parameters that JSON holds. SECRET."""
    from discreet.microdata import Secret

    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        raise _other_form(where) from None
    if not isinstance(data, dict) or set(data) != _FIELDS:
        raise _other_form(where)
    from discreet.protection.noise import MagnitudePerturbationTable, PerturbationTable

    secret = data["secret"]
    try:
        counts = read_json(PerturbationFile(where, json.dumps(data["tables"]).encode()))
        return parameters_of(
            data["sections"],
            PerturbationTable(*counts),
            {
                column: MagnitudePerturbationTable(tuple(map(_part, table["parts"])), table["name"])
                for column, table in data["magnitude_tables"].items()
            },
            secret=None if secret is None else Secret(bytes.fromhex(secret)),
            statistic=statistic,
            version=version,
        )
    except DiscreetError as error:
        raise PackageError(
            "the package has unusable parameters",
            code="package-content",
            where=where,
            hint="a newer version of this program may support them",
            problems=error.problems,
        ) from None
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError):
        raise _other_form(where) from None  # values of other kinds than were written


def _part(data: Mapping[str, Any]) -> MagnitudePart:
    """A part whose every row is sound."""
    classes, step, rows = tuple(data["classes"]), data["step"], data["rows"]
    packed = [list(zip(row["upper"], row["noise"], strict=True)) for row in rows]
    sound = (
        _whole([step, *classes])
        and step >= 1
        and len(classes) == len(packed)
        and classes[:1] == (0,)
        and all(earlier < later for earlier, later in pairwise(classes))
        and not any(rows[0]["noise"])
        and data["closed"] in ("left", "right")
        and all(_sound_row(row, size * step) for size, row in zip(classes, packed, strict=True))
    )
    if not sound:
        raise ValueError  # becomes an error about the package
    content = pack(packed, closed=data["closed"])
    return MagnitudePart(check_kind(data["kind"]), classes, step, content)


def _sound_row(row: list[tuple[int, int]], middle: int) -> bool:
    """Whether bounds rise to the end of the grid and no noise changes the sign."""
    if not row or not _whole([number for pair in row for number in pair]):
        return False
    bounds = [bound for bound, _ in row]
    rising = bounds[0] >= 0 and all(earlier < later for earlier, later in pairwise(bounds))
    return rising and bounds[-1] == DECIMAL_SCALE and all(middle + noise >= 0 for _, noise in row)


def _whole(numbers: list[Any]) -> bool:
    return all(isinstance(number, int) and not isinstance(number, bool) for number in numbers)


def _other_form(where: str) -> PackageError:
    message = "unknown form of the package content"
    hint = "a newer version of this program may read it"
    return PackageError(message, code="package-content", where=where, hint=hint)
