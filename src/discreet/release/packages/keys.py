"""The keys of packages of parameters: those that open them and those that sign them.

In: a key file, a passphrase, PEM files of Ed25519 keys. Out: a `PackageKey` with the keys
for cipher and digest of a package; a signing key, or a public key and its short name.
SECRET, but for public keys: nothing here is ever shown, logged or pickled.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from discreet.confidential import Unpicklable, without_values
from discreet.errors import PackageError
from discreet.files import check_writable, read_private, write_private, write_text

#: The first line of a PEM file stands in so many bytes.
_HEADER = 64
_MAKE_PAIR = "create a key pair: discreet params keys office"


class KeyPair(NamedTuple):
    """The files of a new pair of keys."""

    signing: Path  # the key that signs; keep it
    public: Path  # the key that verifies; hand it on
    key_id: str  # its short name


def key_id(public: bytes) -> str:
    """The short name of a public key, to compare by telephone.

    >>> key_id(bytes(32))
    '6668-7aad-f862-bd77-6c8f-c18b-8e9f-8e20'
    """
    digits = hashlib.sha256(public).hexdigest()[:32]
    return "-".join(digits[at : at + 4] for at in range(0, 32, 4))


def public_bytes(key: Ed25519PrivateKey | Ed25519PublicKey) -> bytes:
    """The 32 bytes of a public key."""
    public = key.public_key() if isinstance(key, Ed25519PrivateKey) else key
    return public.public_bytes_raw()


def is_signed(content: bytes, signature: bytes, public: bytes) -> bool:
    """Whether a signature of a content is that of the owner of a public key."""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, content)
    except InvalidSignature:
        return False
    return True


def write_key_pair(path: str | os.PathLike[str]) -> KeyPair:
    """Make a pair of keys: NAME.key for the owner only, NAME.pub for everyone.

    Existing files are never replaced.

    Args:
        path: Where to, with or without the suffix .key.
    """
    from cryptography.hazmat.primitives import serialization as forms

    stem = Path(path)
    if stem.suffix in (".key", ".pub"):
        stem = stem.with_suffix("")
    private, public = (stem.with_name(stem.name + suffix) for suffix in (".key", ".pub"))
    check_writable(stem.parent)
    if public.exists():
        raise _unusable("the file exists already", public, "choose another name")
    key = Ed25519PrivateKey.generate()
    pem, bare = forms.Encoding.PEM, forms.NoEncryption()
    secret = key.private_bytes(pem, forms.PrivateFormat.PKCS8, bare)
    write_private(private, secret.decode("ascii"))
    open_half = key.public_key().public_bytes(pem, forms.PublicFormat.SubjectPublicKeyInfo)
    write_text(public, open_half.decode("ascii"))
    return KeyPair(private, public, key_id(public_bytes(key)))


def read_signing_key(path: str | os.PathLike[str]) -> Ed25519PrivateKey:
    """Read a key that signs, from a file that only its owner can open."""
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    refuse_public_key(path, f"not the signing key but the public key; use {Path(path).stem}.key")
    content = read_private(path, "signing key")
    try:
        key = load_pem_private_key(content, None)
    except TypeError:
        message = "the signing key is locked with a passphrase"
        raise _unusable(
            message, path, "write it without passphrase, readable by its owner only"
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        raise _unusable("the file contains no signing key", path, _MAKE_PAIR) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise _unusable("the signing key is of another kind than Ed25519", path, _MAKE_PAIR)
    return key


def refuse_public_key(path: str | os.PathLike[str], hint: str) -> None:
    """Raise if a public key stands where a secret one is needed.

    Otherwise the first complaint would be that others can read it, as they should.
    """
    try:
        with Path(path).open("rb") as file:
            start = file.read(_HEADER)
    except OSError:
        return
    if b"BEGIN PUBLIC KEY" in start:
        raise _unusable("the file contains a public key, not a signing key", path, hint)


def read_verify_key(path: str | os.PathLike[str]) -> bytes:
    """Read a public key."""
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    hint = "use the file NAME.pub of the signer"
    try:
        key = load_pem_public_key(Path(path).read_bytes())
    except OSError as error:
        raise _unusable(f"the public key cannot be read ({error.strerror})", path, hint) from None
    except (ValueError, UnsupportedAlgorithm):
        raise _unusable("the file contains no public key", path, hint) from None
    if not isinstance(key, Ed25519PublicKey):
        raise _unusable("the public key is of another kind than Ed25519", path, hint)
    return public_bytes(key)


def _unusable(what: str, path: str | os.PathLike[str], hint: str) -> PackageError:
    return PackageError(what, code="package-signing-key", where=str(Path(path)), hint=hint)


#: Shorter passphrases could be found by trial.
MINIMUM_CHARACTERS = 12

#: Bytes of a key; a key file holds twice as many hexadecimal digits.
KEY_BYTES = 32

_DIGITS = re.compile(r"[0-9a-fA-F]{64}")
_CIPHER = b"discreet parameters: cipher 1|"
_DIGEST = b"discreet parameters: digest 1"
_MAKE_ONE = "create one: discreet keys secret package.key"

KeyKind = Literal["key-file", "passphrase"]


class WorkingKeys(NamedTuple):
    """The keys for one package. SECRET."""

    cipher: bytes
    digest: bytes

    def __repr__(self) -> str:
        return "<WorkingKeys>"


class PackageKey(Unpicklable):
    """The key of a package; its repr shows nothing.

    Args:
        kind: "key-file" or "passphrase".
        value: The 32 bytes of the key, or the bytes of the passphrase.

    >>> PackageKey.from_passphrase("correct horse battery staple")
    <PackageKey: passphrase>
    """

    __slots__ = ("_value", "kind")

    def __init__(self, kind: KeyKind, value: bytes) -> None:
        self.kind: KeyKind = kind
        self._value = value

    @classmethod
    def of(cls, value: PackageKey | bytes | str | os.PathLike[str]) -> PackageKey:
        """Accept a package key, its 32 bytes, or the path of its file.

        >>> PackageKey.of(bytes(32))
        <PackageKey: key file>
        """
        if isinstance(value, PackageKey):
            return value
        if not isinstance(value, bytes):
            return cls.from_file(value)
        if len(value) != KEY_BYTES:
            raise _wrong(f"a package key needs {KEY_BYTES} bytes", "key", _MAKE_ONE)
        return cls("key-file", value)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> PackageKey:
        """Read a key of 64 hexadecimal digits from a file that only its owner can open."""
        refuse_public_key(path, "give the key file of the package")
        text = read_private(path, "key file").decode("ascii", errors="replace").strip()
        if not _DIGITS.fullmatch(text):
            message = "a key file must contain exactly 64 hexadecimal digits"
            hint = f"{_MAKE_ONE}; for sentences use passphrases"
            raise _wrong(message, str(Path(path)), hint)
        return cls("key-file", bytes.fromhex(text))

    @classmethod
    @without_values
    def from_passphrase(cls, text: str, where: str = "passphrase") -> PackageKey:
        """A key that is made of a passphrase of at least 12 characters."""
        # The same letters, however a keyboard composes their accents.
        plain = unicodedata.normalize("NFC", text)
        if len(plain) < MINIMUM_CHARACTERS:
            message = f"a passphrase needs at least {MINIMUM_CHARACTERS} characters"
            raise _wrong(message, where, "use several random words")
        return cls("passphrase", plain.encode("utf-8", errors="surrogatepass"))

    @classmethod
    @without_values
    def from_passphrase_file(cls, path: str | os.PathLike[str]) -> PackageKey:
        """Read a passphrase, one line, from a file that only its owner can open."""
        where = str(Path(path))
        try:
            text = read_private(path, "passphrase file").decode("utf-8-sig")
        except UnicodeDecodeError:
            raise _wrong("the passphrase file is not text", where, "save it as UTF-8") from None
        line = text.rstrip("\r\n")
        if "\n" in line or "\r" in line:
            raise _wrong(
                "a passphrase must be one line", where, "remove everything else from its file"
            )
        return cls.from_passphrase(line, where)

    @classmethod
    @without_values
    def from_env(cls, name: str) -> PackageKey:
        """Take the passphrase from the environment variable `name`."""
        text = os.environ.get(name)
        if text is None:
            message = "environment variable not found"
            raise _wrong(message, name, "set it to the passphrase, or use a file")
        return cls.from_passphrase(text, name)

    @classmethod
    def named(
        cls,
        *,
        key_file: str | os.PathLike[str] | None = None,
        passphrase_env: str | None = None,
        passphrase_file: str | os.PathLike[str] | None = None,
    ) -> PackageKey | None:
        """The one that is named; None if none is."""
        stated = (key_file, passphrase_env, passphrase_file)
        if sum(name is not None for name in stated) > 1:
            message = "a package needs exactly one key"
            raise _wrong(message, "key", "give a key file, or one place of a passphrase")
        if key_file is not None:
            return cls.from_file(key_file)
        if passphrase_file is not None:
            return cls.from_passphrase_file(passphrase_file)
        return None if passphrase_env is None else cls.from_env(passphrase_env)

    def working_keys(self, salt: bytes, stretching: Mapping[str, Any] | None) -> WorkingKeys:
        """The keys for one package, whose salt makes the cipher's key another one.

        Passphrases are stretched (scrypt) by `salt` in hexadecimal digits, cost `n`, size of
        blocks `r` and number of lanes `p`.
        """
        base = self._value
        if stretching is not None:
            settings = {**stretching, "salt": bytes.fromhex(stretching["salt"])}
            base = Scrypt(length=KEY_BYTES, **settings).derive(base)
        return WorkingKeys(_derived(base, _CIPHER + salt), _derived(base, _DIGEST))

    def __repr__(self) -> str:
        return f"<PackageKey: {self.kind.replace('-', ' ')}>"


def _derived(base: bytes, purpose: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=purpose).derive(base)


def _wrong(what: str, where: str, hint: str) -> PackageError:
    return PackageError(what, code="package-key", where=where, hint=hint)
