"""Commands on packages of parameters: ``discreet params …``."""

from __future__ import annotations

from pathlib import Path

import typer

from discreet.cli.program import command, group, show, warn

app = group("Pack all parameters of a protected result into one signed, encrypted file.")


@command(app, "keys")
def keys(
    out: Path,
    as_json: bool = False,
) -> None:
    """Make a pair of keys that sign packages and verify them."""
    from discreet.release import write_key_pair

    pair = write_key_pair(out)
    text = (
        f"{pair.signing} is the signing key: keep it secret.\n{pair.public} is the public key: "
        f"pass it on.\nKey {pair.key_id}"
    )
    described = {
        "signing": str(pair.signing),
        "public": str(pair.public),
        "key_id": pair.key_id,
    }
    show(text, described, as_json=as_json)


@command(app, "pack")
def pack(
    programme: Path,
    out: Path,
    statistic: str,
    version: str,
    sign_key: Path | None = None,
    unsigned: bool = False,
    key_file: Path | None = None,
    passphrase_env: str | None = None,
    passphrase_file: Path | None = None,
    with_secret: bool = False,
    overwrite: bool = False,
    as_json: bool = False,
) -> None:
    """Put the parameters of a programme into one encrypted, signed file."""
    from discreet.protection.noise import noise_warnings
    from discreet.release import (
        PackageKey,
        describe_package,
        pack_parameters,
        read_parameters,
        warnings_about_parameters,
    )

    if (sign_key is None) is not unsigned:
        raise typer.BadParameter("add --sign-key FILE or --unsigned")
    opener = PackageKey.named(
        key_file=key_file, passphrase_env=passphrase_env, passphrase_file=passphrase_file
    )
    if opener is None:
        raise typer.BadParameter("add --key-file, --passphrase-env or --passphrase-file")
    parameters = read_parameters(programme, with_secret=with_secret)
    written = pack_parameters(
        parameters,
        out,
        statistic=statistic,
        version=version,
        sign_key=sign_key,
        key=opener,
        overwrite=overwrite,
    )
    described = describe_package(written)
    warn([*warnings_about_parameters(programme), *noise_warnings(parameters)])
    if with_secret:
        who = "anyone who can open it can create record keys"
        warn([f"the package contains the secret of the record keys: {who}"])
    show(described.text(), described.described(), as_json=as_json)


@command(app, "verify")
def verify(
    file: Path,
    verify_key: Path | None = None,
    key_file: Path | None = None,
    passphrase_env: str | None = None,
    passphrase_file: Path | None = None,
    signer: str | None = None,
    allow_unsigned: bool = False,
    as_json: bool = False,
) -> None:
    """Check a package: its signature, and with its key all that is in it."""
    from discreet.release import PackageKey, verify_package

    opener = PackageKey.named(
        key_file=key_file, passphrase_env=passphrase_env, passphrase_file=passphrase_file
    )
    verified = verify_package(
        file, verify_key=verify_key, key=opener, signer=signer, allow_unsigned=allow_unsigned
    )
    if not verified.trusted and verified.header.signer is not None:
        warn(["the signature is valid, but the signer was not checked; add --verify-key FILE"])
    show(verified.text(), verified.described(), as_json=as_json)


@command(app, "show")
def show_package(file: Path, as_json: bool = False) -> None:
    """Say what a package is; needs no key and shows no parameter."""
    from discreet.release import describe_package

    described = describe_package(file)
    show(described.text(), described.described(), as_json=as_json)
