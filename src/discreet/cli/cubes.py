"""Commands on cubes: ``discreet cube …``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.params import KeyFile, PassphraseEnv, PassphraseFile
from discreet.cli.program import Json, command, group, pairs, show
from discreet.cli.records import ShowValues

if TYPE_CHECKING:
    from discreet.release import PackageKey

app = group("Build partial aggregates where the microdata are, and join them for tables.")

Out = Annotated[Path, typer.Option(help="File to write, .cube, mode 0600. CONFIDENTIAL.")]
Sign = Annotated[Path | None, typer.Option(help="File of the key that signs.")]


def _named(file: Path | None, variable: str | None, passphrase: Path | None) -> PackageKey | None:
    from discreet.release import PackageKey

    return PackageKey.named(key_file=file, passphrase_env=variable, passphrase_file=passphrase)


@command(app, "make", example="discreet cube make part.parquet --programme P.toml --out part.cube")
def make(
    programme: Annotated[Path, typer.Option(help="Table programme, the same for all parts.")],
    out: Out,
    part: Annotated[
        Path | None,
        typer.Argument(
            help="File with part of the microdata (default: the data of the programme)."
        ),
    ] = None,
    source: Annotated[
        str | None, typer.Option(help="Source of the tables (default: the main source).")
    ] = None,
    data: Annotated[
        list[str] | None, typer.Option(help="NAME=FILE: microdata of another source.")
    ] = None,
    sign: Sign = None,
    key_file: KeyFile = None,
    passphrase_env: PassphraseEnv = None,
    passphrase_file: PassphraseFile = None,
    show_values: ShowValues = False,
    as_json: Json = False,
) -> None:
    """Add up records to the cubes that the tables of a programme are made of."""
    from discreet.release import make_cubes, read_programme

    given = pairs(data, "NAME=FILE")
    if part is not None:
        given[source or read_programme(programme).main.name] = str(part)
    key = _named(key_file, passphrase_env, passphrase_file)
    cubes = make_cubes(
        programme, out, data=given, source=source, sign=sign, key=key, show_values=show_values
    )
    described = {"out": str(cubes), "encrypted": key is not None, "signed": sign is not None}
    show(f"The partial aggregates are in {cubes}.", described, as_json=as_json)


@command(app, "join", example="discreet cube join north.cube south.cube --out all.cube")
def join(
    cubes: Annotated[
        list[Path], typer.Argument(help="Files of partial aggregates, each of different records.")
    ],
    out: Out,
    verify_key: Annotated[
        list[Path] | None,
        typer.Option(help="Public keys, one of which must have signed each file."),
    ] = None,
    sign: Sign = None,
    key_file: KeyFile = None,
    passphrase_env: PassphraseEnv = None,
    passphrase_file: PassphraseFile = None,
    as_json: Json = False,
) -> None:
    """Join cubes of different records; in any order, the same bytes come out."""
    from discreet.release import join_cube_files

    key = _named(key_file, passphrase_env, passphrase_file)
    files = join_cube_files(cubes, out, key=key, verify_keys=verify_key or (), sign=sign)
    show(f"{len(cubes):,} files are joined in {files}.", {"out": str(files)}, as_json=as_json)


@command(app, "show", example="discreet cube show all.cube")
def show_cubes(
    file: Annotated[Path, typer.Argument(help="File of partial aggregates.")],
    key_file: KeyFile = None,
    passphrase_env: PassphraseEnv = None,
    passphrase_file: PassphraseFile = None,
    as_json: Json = False,
) -> None:
    """Say what is in a file of cubes. CONFIDENTIAL: numbers of records and cells."""
    from discreet.release import describe_cubes

    key = _named(key_file, passphrase_env, passphrase_file)
    cubes = describe_cubes(file, key)
    lines = [f"{file}: {cubes['records']:,} records, signed by {cubes['signer'] or 'nobody'}"]
    for cube in cubes["cubes"]:
        about = [" × ".join(cube["by"]) or "total", f"{cube['cells']:,} cells"]
        about += [f"where {cube['where']}"] if cube["where"] else []
        about += [f"weight {cube['weight']}"] if cube["weight"] else []
        about += [f"sums of {', '.join(cube['values'])}"] if cube["values"] else []
        lines.append("  " + ", ".join(about))
    show("\n".join(lines), cubes, as_json=as_json)
