"""Packages of parameters: made, verified, shown, opened.

In: `Parameters` (SECRET) and keys. Out: one file, encrypted and signed, that an office
hands to others; and from the file the same parameters again. What `describe_package`
and `verify_package` say holds nothing secret.
"""

from __future__ import annotations

import dataclasses
import hmac
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from discreet.confidential import without_values
from discreet.errors import PackageError, Problem
from discreet.files import atomic_path
from discreet.keygrid import KeyGrid
from discreet.release.packages import container
from discreet.release.packages.container import (
    FORMAT_VERSION,
    Header,
    Sealed,
    from_bytes,
    to_bytes,
)
from discreet.release.packages.keys import (
    PackageKey,
    WorkingKeys,
    read_signing_key,
    read_verify_key,
)
from discreet.release.packages.parameters import Parameters

#: What the name of a package ends with.
SUFFIX = ".dcparams"

AnyPath = str | os.PathLike[str]
AnyKey = PackageKey | bytes | AnyPath


@dataclass(frozen=True, kw_only=True)
class PackageDescription:
    """Public description of a package."""

    path: Path  # the file
    header: Header  # what stands in it openly
    trusted: bool = False  # whether the signature is that of a key that was asked for
    opened: bool = False  # whether the content was opened and checked too

    @property
    def signature(self) -> str:
        """Text on the signature; an invalid one is an error before."""
        return "none" if self.header.signer is None else "valid"

    def described(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        header = self.header
        return {
            "file": str(self.path),
            "format_version": FORMAT_VERSION,
            "statistic": header.statistic,
            "version": header.version,
            "made_with": header.made_with,
            "kinds": header.kinds,
            "key_grid": header.grid,
            "digest": header.digest,
            "encryption": header.encryption.cipher,
            "opened_with": header.encryption.key,
            "signer": header.signer_id,
            "signature": self.signature,
            "trusted": self.trusted,
            "opened": self.opened,
        }

    def text(self) -> str:
        """As text."""
        header, key = self.header, self.header.encryption.key.replace("-", " ")
        who = "the expected key" if self.trusted else "not compared with a known key"
        signature = f"valid, key {header.signer_id} ({who})" if header.signer else "none"
        stretched = " (scrypt)" if header.encryption.scrypt is not None else ""
        rows = {
            "statistic": header.statistic,
            "version": header.version,
            "parameters": ", ".join(header.kinds),
            "key grid": str(KeyGrid.of(header.grid)),
            "digest": header.digest,
            "encryption": f"{header.encryption.cipher}, opened with a {key}{stretched}",
            "signature": signature,
            "content": "opened and checked" if self.opened else "not opened",
            "made with": f"discreet {header.made_with}, format {FORMAT_VERSION}",
        }
        return "\n".join([str(self.path), *(f"  {name:<11} {row}" for name, row in rows.items())])


@without_values
def pack_parameters(
    parameters: Parameters,
    path: AnyPath,
    *,
    statistic: str,
    version: str,
    sign_key: AnyPath | None,
    key: AnyKey | None = None,
    passphrase: str | None = None,
    overwrite: bool = False,
) -> Path:
    """Put the parameters of a statistic into one file that is encrypted and signed.

    The secret of record keys is in the file only if `parameters` hold it.

    Args:
        parameters: The parameters; `discreet.release.read_parameters` takes them from a
            programme, `parameters_of` from plain values.
        path: Where to; ends with .dcparams.
        statistic: The statistic, such as "census-2026". Everyone can read it.
        version: The version, such as "3". Everyone can read it.
        sign_key: The file of the key that signs; None leaves the package unsigned.
        key: The key that opens it: a `PackageKey`, its 32 bytes or its file.
        passphrase: Instead of a key, a passphrase of at least 12 characters.
        overwrite: Replace a file that is there.

    >>> import tempfile
    >>> from discreet import PerturbationTable
    >>> from discreet.release.packages import parameters_of, write_key_pair
    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.5, 1: 0.5}})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     office = write_key_pair(Path(folder) / "office")
    ...     package = pack_parameters(
    ...         parameters_of({}, ptable), Path(folder) / "example.dcparams",
    ...         statistic="example", version="1", sign_key=office.signing, key=bytes(32),
    ...     )
    ...     open_parameters(package, key=bytes(32), verify_key=office.public)
    <Parameters of example, version 1: secret>
    """
    target = Path(path)
    if target.suffix != SUFFIX:
        message = f"the name of a package must end with {SUFFIX}"
        hint = f"such as {target.stem or 'statistic'}{SUFFIX}"
        raise PackageError(message, code="package-file", where=str(target), hint=hint)
    if target.exists() and not overwrite:
        message = "the file exists already"
        hint = "choose another name, or add --overwrite, overwrite=True"
        raise PackageError(message, code="package-exists", where=str(target), hint=hint)
    opener = _opener(key, passphrase)
    content = to_bytes(parameters)
    try:
        data = container.seal(
            lambda keys: (content, parameters.digest(keys.digest)),
            opener,
            None if sign_key is None else read_signing_key(sign_key),
            statistic=statistic,
            version=version,
            kinds=parameters.kinds,
            grid=parameters.grid.size,
        )
    except ValidationError as error:
        message = "must be one line of 1 to 200 characters"
        places = [str(details["loc"][0]) for details in error.errors(include_input=False)]
        problems = [Problem(message, place) for place in places]
        raise PackageError(message, code="parameters", where=places[0], problems=problems) from None
    if len(data) > container.LARGEST:
        message = "the parameters are too large for a package"
        raise PackageError(message, code="parameters", where=str(target))
    with atomic_path(target, private=True) as temporary:
        temporary.write_bytes(data)
    return target


@without_values
def open_parameters(
    path: AnyPath,
    *,
    key: AnyKey | None = None,
    passphrase: str | None = None,
    verify_key: AnyPath | None = None,
    statistic: str | None = None,
    version: str | None = None,
    signer: str | None = None,
    allow_unsigned: bool = False,
) -> Parameters:
    """Open a package: check its signature, decrypt it, check what is in it.

    Args:
        path: The package.
        key: The key that opens it: a `PackageKey`, its 32 bytes or its file.
        passphrase: Instead of a key, the passphrase.
        verify_key: The file of the public key that must have signed it. Without one, a
            signature must be valid, whoever made it.
        statistic: The statistic that it must be of; None for any.
        version: The version that it must have; None for any.
        signer: The short name of the key that must have signed it, as an office reads it
            out; None for any.
        allow_unsigned: Take a package that nobody signed: whoever can open packages could
            have made it.

    Raises:
        PackageError: If anything about it is not as it was made, or it is another package
            than the one asked for.

    >>> open_parameters("missing.dcparams", key=bytes(32))
    Traceback (most recent call last):
        ...
    discreet.errors.PackageError: [package-file] missing.dcparams: the package cannot be
    read (No such file or directory)
    """
    sealed = _read(path, verify_key)
    sealed.check_pins(
        signer=signer, allow_unsigned=allow_unsigned, statistic=statistic, version=version
    )
    return _opened(sealed, sealed.working_keys(_opener(key, passphrase)))


def verify_package(
    path: AnyPath,
    *,
    verify_key: AnyPath | None = None,
    key: AnyKey | None = None,
    passphrase: str | None = None,
    signer: str | None = None,
    allow_unsigned: bool = False,
) -> PackageDescription:
    """Check a package as far as the keys that are given allow.

    Args:
        path: The package.
        verify_key: As for `open_parameters`.
        key: As for `open_parameters`; without it the content stays closed.
        passphrase: As for `open_parameters`.
        signer: As for `open_parameters`.
        allow_unsigned: As for `open_parameters`.

    Raises:
        PackageError: If anything about it is not as it was made, or nothing can be
            checked: a package without a signature is checked by opening it.
    """
    sealed = _read(path, verify_key)
    closed = key is None and passphrase is None
    if closed and signer is None and sealed.header.signer is None:
        message = "the package is not signed: a check needs its key"
        hint = "add the key file or the passphrase"
        raise PackageError(message, code="package-unsigned", where=sealed.where, hint=hint)
    sealed.check_pins(signer=signer, allow_unsigned=allow_unsigned)
    if not closed:
        _opened(sealed, sealed.working_keys(_opener(key, passphrase)))
    return PackageDescription(
        path=Path(path),
        header=sealed.header,
        trusted=verify_key is not None or signer is not None,
        opened=not closed,
    )


def describe_package(path: AnyPath) -> PackageDescription:
    """Describe a package without a key; its signature must be valid.

    Args:
        path: The package.
    """
    return PackageDescription(path=Path(path), header=_read(path).header)


def _read(path: AnyPath, verify_key: AnyPath | None = None) -> Sealed:
    """A package whose signature is valid."""
    place = Path(path)
    try:
        with place.open("rb") as file:
            data = file.read(container.LARGEST + 1)
    except OSError as error:
        message = f"the package cannot be read ({error.strerror})"
        hint = "check the path and its permissions"
        raise PackageError(message, code="package-file", where=str(place), hint=hint) from None
    sealed = container.parse(data, str(place))
    sealed.check_signature(None if verify_key is None else read_verify_key(verify_key))
    return sealed


def _opened(sealed: Sealed, keys: WorkingKeys) -> Parameters:
    header = sealed.header
    parameters = from_bytes(
        sealed.opened(keys),
        where=sealed.where,
        statistic=header.statistic,
        version=header.version,
    )
    # The open header says what is in the package; it must be so.
    digest = parameters.digest(keys.digest)
    same = hmac.compare_digest(digest, header.digest)
    if not same or header.kinds != parameters.kinds or header.grid != parameters.grid.size:
        message = "the package contradicts its description"
        hint = "pack it again; another version of this program may have made it"
        raise PackageError(message, code="package-content", where=sealed.where, hint=hint)
    return dataclasses.replace(parameters, signer=header.signer_id or "")


def _opener(key: AnyKey | None, passphrase: str | None) -> PackageKey:
    if (key is None) == (passphrase is None):
        message = "a package needs a key or a passphrase"
        hint = "to see which one, run: discreet params show"
        raise PackageError(message, code="package-key", where="key", hint=hint)
    return PackageKey.from_passphrase(passphrase or "") if key is None else PackageKey.of(key)
