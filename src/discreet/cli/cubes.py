"""Commands on cubes: ``discreet cube …``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.cli.program import command, group, pairs, show

if TYPE_CHECKING:
    from discreet.release import PackageKey

app = group("Build partial aggregates where the microdata are, and join them for tables.")


def _named(file: Path | None, variable: str | None, passphrase: Path | None) -> PackageKey | None:
    from discreet.release import PackageKey

    return PackageKey.named(key_file=file, passphrase_env=variable, passphrase_file=passphrase)


@command(app, "make")
def make(
    programme: Path,
    out: Path,
    part: Path | None = None,
    source: str | None = None,
    data: list[str] | None = None,
    sign: Path | None = None,
    key_file: Path | None = None,
    passphrase_env: str | None = None,
    passphrase_file: Path | None = None,
    show_values: bool = False,
    as_json: bool = False,
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


@command(app, "join")
def join(
    cubes: list[Path],
    out: Path,
    verify_key: list[Path] | None = None,
    sign: Path | None = None,
    key_file: Path | None = None,
    passphrase_env: str | None = None,
    passphrase_file: Path | None = None,
    as_json: bool = False,
) -> None:
    """Join cubes of different records; in any order, the same bytes come out."""
    from discreet.release import join_cube_files

    key = _named(key_file, passphrase_env, passphrase_file)
    files = join_cube_files(cubes, out, key=key, verify_keys=verify_key or (), sign=sign)
    show(f"{len(cubes):,} files are joined in {files}.", {"out": str(files)}, as_json=as_json)


@command(app, "show")
def show_cubes(
    file: Path,
    key_file: Path | None = None,
    passphrase_env: str | None = None,
    passphrase_file: Path | None = None,
    as_json: bool = False,
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
