"""Commands on packages of parameters: ``discreet params …``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.program import Json, command, group, show, warn

app = group("Pack all parameters of a protected result into one signed, encrypted file.")

Package = Annotated[Path, typer.Argument(help="Package, NAME.dcparams.")]
KeyFile = Annotated[Path | None, typer.Option(help="Key file of the package, mode 0600.")]
PassphraseEnv = Annotated[
    str | None, typer.Option(help="Environment variable with the passphrase of the package.")
]
PassphraseFile = Annotated[
    Path | None, typer.Option(help="File with the passphrase of the package, mode 0600.")
]


@command(app, "keys", example="discreet params keys office")
def keys(
    out: Annotated[Path, typer.Argument(help="Name of the key pair: NAME.key and NAME.pub.")],
    as_json: Json = False,
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


@command(
    app,
    "pack",
    example="discreet params pack programme.toml --out census.dcparams --statistic census-2026 "
    "--version 3 --sign-key office.key --key-file package.key",
)
def pack(
    programme: Annotated[
        Path, typer.Argument(help="Programme, or TOML file with its parameter sections.")
    ],
    out: Annotated[Path, typer.Option(help="Package to write, NAME.dcparams.")],
    statistic: Annotated[
        str, typer.Option(help="Name of the statistic (readable without the key).")
    ],
    version: Annotated[str, typer.Option(help="Version (readable without the key).")],
    sign_key: Annotated[Path | None, typer.Option(help="Signing key.")] = None,
    unsigned: Annotated[
        bool, typer.Option("--unsigned", help="Package without signature.")
    ] = False,
    key_file: KeyFile = None,
    passphrase_env: PassphraseEnv = None,
    passphrase_file: PassphraseFile = None,
    with_secret: Annotated[
        bool, typer.Option("--with-secret", help="Include the secret of the record keys.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an existing package.")
    ] = False,
    as_json: Json = False,
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
        warn(
            [
                (
                    "the package contains the secret of the record keys: anyone who can open it "
                    "can create record keys"
                )
            ]
        )
    show(described.text(), described.described(), as_json=as_json)


@command(app, "verify", example="discreet params verify census.dcparams --verify-key office.pub")
def verify(
    file: Package,
    verify_key: Annotated[
        Path | None, typer.Option(help="Expected public key of the signature.")
    ] = None,
    key_file: KeyFile = None,
    passphrase_env: PassphraseEnv = None,
    passphrase_file: PassphraseFile = None,
    signer: Annotated[
        str | None, typer.Option(help="Expected short name of the signing key.")
    ] = None,
    allow_unsigned: Annotated[
        bool, typer.Option("--allow-unsigned", help="Accept a package without signature.")
    ] = False,
    as_json: Json = False,
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


@command(app, "show", example="discreet params show census.dcparams")
def show_package(file: Package, as_json: Json = False) -> None:
    """Say what a package is; needs no key and shows no parameter."""
    from discreet.release import describe_package

    described = describe_package(file)
    show(described.text(), described.described(), as_json=as_json)
