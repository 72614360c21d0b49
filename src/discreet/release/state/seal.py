"""The seal of a release: who made it, and that nothing of it was changed since.

In: the digests of all published files and of what the release remembers, and the keys of an
office (SECRET). Out: a text that stands beside the files as `release.seal`: keyed (HMAC with
SHA-256), which only the office can check, or signed (Ed25519), which everyone with its public key
can, or both. What is remembered of one table is keyed by itself, so that interrupted work can be
taken up again.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints, ValidationError

from discreet.confidential import Unpicklable
from discreet.errors import PublicationError
from discreet.files import file_digest
from discreet.release.packages.keys import is_signed, key_id, public_bytes

if TYPE_CHECKING:
    from discreet.microdata import Secret

#: The file of the seal.
SEAL = "release.seal"

#: The folder of what a release remembers, inside its own.
FOLDER = ".discreet"

_LARGEST = 64 * 2**20
_KEYED = b"discreet release seal: keyed 1|"
_SIGNED = b"discreet release seal: signature 1|"
_ENTRY = b"discreet release memory 1|"
_MEMORY_KEY = b"discreet release memory: key of whoever signs 1"


def is_plain(name: object) -> bool:
    """Whether a file name stays in its folder and is one that a release can have."""
    return isinstance(name, str) and Path(name).name == name and name[:1] not in ("", ".")


def is_as_made(path: Path, digest: str) -> bool:
    """Whether a file is there, is no link, and holds what it held."""
    return not path.is_symlink() and path.is_file() and file_digest(path) == digest


class SealKeys(Unpicklable):
    """The keys that seal a release: one at least. SECRET, shows nothing of itself.

    >>> from discreet.microdata import Secret
    >>> SealKeys(Secret.generate(), None)
    <SealKeys: keyed>
    """

    __slots__ = ("_memory", "_signing", "_whole", "public")

    def __init__(self, secret: Secret | None, signing: Ed25519PrivateKey | None) -> None:
        if secret is None and signing is None:
            raise PublicationError("a signature needs a key", code="seal", where="[release]")
        self._signing = signing
        self.public = None if signing is None else public_bytes(signing)
        self._whole = None if secret is None else secret.derive("discreet release seal 1")
        if secret is not None:
            self._memory = secret.derive("discreet release memory 1")
        elif signing is not None:
            derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=_MEMORY_KEY)
            self._memory = derived.derive(signing.private_bytes_raw())

    @property
    def secret(self) -> Secret:
        """Key for digests of sources without an own secret."""
        from discreet.microdata import Secret

        return Secret(self._memory)

    @property
    def keyed(self) -> bool:
        """Whether seals are keyed with the secret of the record keys."""
        return self._whole is not None

    def entry(self, name: str, memory: Mapping[str, Any]) -> str:
        """The seal of what is remembered under a name, but for the seal in it."""
        plain = {key: value for key, value in memory.items() if key != "seal"}
        text = _canonical([name, plain])
        return hmac.new(self._memory, _ENTRY + text, "sha256").hexdigest()

    def fits_entry(self, name: str, memory: Mapping[str, Any]) -> bool:
        """Whether this is what was remembered under a name."""
        found = memory.get("seal")
        return isinstance(found, str) and hmac.compare_digest(
            found.encode(), self.entry(name, memory).encode()
        )

    def whole(self, body: bytes) -> str | None:
        """The keyed seal of a release; None without a secret."""
        if self._whole is None:
            return None
        return hmac.new(self._whole, _KEYED + body, "sha256").hexdigest()

    def signature(self, body: bytes) -> str | None:
        """The signature of a release; None without a key that signs."""
        return None if self._signing is None else self._signing.sign(_SIGNED + body).hex()

    def __repr__(self) -> str:
        kinds = [*(["keyed"] if self.keyed else []), *(["signed"] if self.public else [])]
        return f"<SealKeys: {', '.join(kinds)}>"


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()


def _plain_name(value: str) -> str:
    if not is_plain(value):
        raise ValueError("not the name of a file")
    return value


_Name = Annotated[str, AfterValidator(_plain_name)]
_Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
_Signature = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{128}$")]


class ReleaseSeal(BaseModel):
    """Content of the file of a seal. Public."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    format: Literal["discreet-release-seal"] = "discreet-release-seal"  # tells the file from others
    format_version: Literal[1] = 1
    programme: str  # the file name of the programme
    files: dict[_Name, _Digest]  # published file → SHA-256
    memory: dict[_Name, _Digest]  # file in the folder of the memory → SHA-256
    signer: _Digest | None  # the public key of whoever signs; None if nobody does
    keyed: _Digest | None = None  # HMAC of all before; None without a secret
    signature: _Signature | None = None  # the signature of all but `keyed`

    @classmethod
    def made(
        cls, programme: str, files: Mapping[str, str], memory: Mapping[str, str], keys: SealKeys
    ) -> ReleaseSeal:
        """The seal of a release."""
        signer = None if keys.public is None else keys.public.hex()
        bare = cls(
            programme=programme,
            files=dict(sorted(files.items())),
            memory=dict(sorted(memory.items())),
            signer=signer,
        )
        body = bare._body()
        update = {"keyed": keys.whole(body), "signature": keys.signature(body)}
        return bare.model_copy(update=update)

    @property
    def identity(self) -> str:
        """A short name that no other release has, to read out or print elsewhere."""
        return key_id(self._body())

    @property
    def signer_id(self) -> str | None:
        """The short name of the key that signed."""
        return None if self.signer is None else key_id(bytes.fromhex(self.signer))

    def text(self) -> str:
        """As it stands in its file."""
        return json.dumps(self.model_dump(), ensure_ascii=False, indent=2) + "\n"

    def wrong_for(self, keys: SealKeys) -> str:
        """Why this is not a seal of the office; empty if it is."""
        if keys.keyed:
            if self.keyed is None:
                return "the fingerprint does not use the secret of the record keys"
            if not hmac.compare_digest(self.keyed, keys.whole(self._body()) or ""):
                return "the fingerprint changed, or was computed with another secret"
        return "" if keys.public is None else self.wrong_for_public(keys.public)

    def wrong_for_public(self, public: bytes) -> str:
        """Why this is not signed with the key of a public one; empty if it is."""
        if self.signer is None or self.signature is None:
            return "the release is not signed: add sign = … to [release]"
        if self.signer != public.hex():
            asked = key_id(public)
            return f"the release is signed with another key: {self.signer_id}, not {asked}"
        whole = is_signed(_SIGNED + self._body(), bytes.fromhex(self.signature), public)
        return "" if whole else "the signature is not valid: the release changed"

    def _body(self) -> bytes:
        return _canonical(self.model_dump(exclude={"keyed", "signature"}))


def read_seal(path: Path) -> ReleaseSeal | None:
    """The seal in a file, in the very form it was written; None if it has none."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST:
        return None
    data = path.read_bytes()
    try:
        found = ReleaseSeal.model_validate_json(data)
    except ValidationError:
        return None
    return found if found.text().encode() == data else None


@dataclass(frozen=True, kw_only=True)
class SealedDifferences:
    """Changed files of a sealed release, as paths inside its folder."""

    missing: tuple[str, ...] = ()  # files that are gone
    changed: tuple[str, ...] = ()  # files that hold something else
    extra: tuple[str, ...] = ()  # files that do not belong to it


def differences(out: Path, seal: ReleaseSeal) -> SealedDifferences:
    """Hold a release folder against its seal.

    A copy for readers may lack the memory altogether; what there is of it must be whole.
    """
    sealed = dict(seal.files)
    if (out / FOLDER).is_dir() or (out / FOLDER).is_symlink():
        sealed |= {f"{FOLDER}/{name}": digest for name, digest in seal.memory.items()}
    found = set(_inside(out))
    missing = [name for name in sealed if name not in found]
    changed = [n for n, digest in sealed.items() if n in found and not is_as_made(out / n, digest)]
    extra = sorted(found - set(sealed) - {SEAL, f"{FOLDER}/lock"})
    return SealedDifferences(missing=tuple(missing), changed=tuple(changed), extra=tuple(extra))


def memory_differences(out: Path, seal: ReleaseSeal) -> list[str]:
    """Changed internal files of a sealed release, as paths inside its folder."""
    folder = out / FOLDER
    found = [path.name for path in sorted(folder.glob("*.json"))]
    names = dict.fromkeys([*seal.memory, *found])
    return [
        f"{FOLDER}/{name}"
        for name in names
        if name not in seal.memory or not is_as_made(folder / name, seal.memory[name])
    ]


def _inside(out: Path) -> Iterator[str]:
    """Everything in a release folder; of other folders the name alone."""
    for path in sorted(out.iterdir()):
        if path.name == FOLDER and path.is_dir() and not path.is_symlink():
            yield from (f"{FOLDER}/{inner.name}" for inner in sorted(path.iterdir()))
        else:
            yield path.name
