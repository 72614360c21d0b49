"""Commands on cell suppression: ``discreet suppress`` and ``discreet audit``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from discreet.cli.program import (
    FAILURE,
    Json,
    Trees,
    command,
    names,
    progress_bar,
    show,
    trees_from,
)
from discreet.files import check_writable

if TYPE_CHECKING:
    from discreet.assessment.pictures.picture import Picture
    from discreet.tables import ProtectedTable

Metadata = Annotated[
    Path | None, typer.Option(help="The .rda file that describes a file of cells.")
]

Drawn = Annotated[
    Path | None,
    typer.Option(help="Also draw the published table: png, svg or html. Shows what it tells."),
]
View = Annotated[
    Literal["cells", "codes", "parts"] | None,
    typer.Option(help="What is drawn: its cells, or shares by code or by table part."),
]
Repair = Annotated[
    bool, typer.Option("--repair", help="Add up totals anew that are no sum of their parts.")
]
Listed = Annotated[
    Path | None,
    typer.Option(help="List totals of a problem that are no sum, in CSV. CONFIDENTIAL."),
]
Anew = Annotated[
    bool, typer.Option("--anew", help="Forget the secondary suppressions that a .jj file has.")
]


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    command(app, "suppress", example="discreet suppress table.jj --out safe.jj")(suppress)
    command(app, "audit", example="discreet audit safe.jj")(audit)


def suppress(
    table: Annotated[
        Path, typer.Argument(help="A problem (.jj), or cells with status (.tab). CONFIDENTIAL.")
    ],
    out: Annotated[
        Path,
        typer.Option(help="The pattern (.jj, CONFIDENTIAL), or a table to publish: csv, xlsx, …"),
    ],
    method: Annotated[
        Literal["auto", "fast", "optimal", "modular", "hypercube"],
        typer.Option(help="How cells are found that must be hidden besides sensitive ones."),
    ] = "auto",
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds; then the best audited pattern is taken.")
    ] = None,
    metadata: Metadata = None,
    repair: Repair = False,
    differences: Listed = None,
    anew: Anew = False,
    picture: Drawn = None,
    view: View = None,
    language: Annotated[
        Literal["en", "de"], typer.Option(help="Language of what is published.")
    ] = "en",
    as_json: Json = False,
) -> None:
    """Hide cells until every sensitive one is proven to be protected."""
    from discreet.argus.runs import suppress_file
    from discreet.publication import write

    if table.suffix == ".toml":
        words = f"a programme is carried out with: discreet protect {table} --out DIR"
        raise typer.BadParameter(words)
    _check_places(table, metadata, out, picture, differences)
    if view is not None and picture is None:
        raise typer.BadParameter("--view says what is drawn: name --picture FILE too")

    def publish(safe: ProtectedTable, path: Path) -> None:
        write(safe, path, language=language)
        if picture is not None:
            _draw(safe, picture, view or "cells", language)

    with progress_bar("Suppressing") as report:
        done = suppress_file(
            table,
            out,
            metadata=metadata,
            method=method,
            time_limit=time_limit,
            repair=repair,
            differences=differences,
            anew=anew,
            progress=lambda line: report(0, 1, line),
            write=publish,
        )
    text, described = done
    if picture is not None:
        text, described = f"{text}\nDrawn: {picture}", {**described, "picture": str(picture)}
    show(text, described, as_json=as_json)


def _check_places(
    table: Path, metadata: Path | None, out: Path, picture: Path | None, differences: Path | None
) -> None:
    """Refuse places that are used otherwise or cannot be written, before the long search."""
    from discreet.publication.formats import check_place, format_of, place_of

    read = {place.resolve() for place in (table, metadata) if place is not None}
    if out.resolve() in read:
        raise typer.BadParameter("--out names a file that is read; choose another")
    check_place(out)
    pattern = out.suffix.lower() == ".jj"
    if not pattern and not table.name.lower().removesuffix(".gz").endswith(".jj"):
        format_of(place_of(out), None)
    if picture is not None:
        from discreet.assessment.pictures import check_picture_place

        if pattern:
            raise typer.BadParameter("a picture is drawn of a table to publish: --out NAME.csv, …")
        if picture.resolve() in {*read, out.resolve()}:
            raise typer.BadParameter("--picture names a file that is used otherwise")
        check_picture_place(picture)
        check_writable(picture.parent)
    if differences is not None:
        drawn = set() if picture is None else {picture.resolve()}
        if differences.resolve() in {*read, out.resolve(), *drawn}:
            raise typer.BadParameter("--differences names a file that is used otherwise")
        check_writable(differences.parent)


def _draw(safe: ProtectedTable, picture: Path, view: str, language: str) -> None:
    from discreet.assessment.pictures import hidden_by_code, hidden_by_part, hidden_cells

    ways: Mapping[str, Callable[..., Picture]] = {
        "cells": hidden_cells,
        "codes": hidden_by_code,
        "parts": hidden_by_part,
    }
    ways[view](safe, language=language).save(picture)


def audit(
    table: Annotated[
        Path,
        typer.Argument(
            help="A pattern (.jj), cells with status (.tab), published cells, or a programme."
        ),
    ],
    release: Annotated[
        Path | None, typer.Option(help="The finished release of a programme.")
    ] = None,
    beside: Annotated[
        list[Path] | None,
        typer.Option(help="Another release of the same data that anyone can lay beside it."),
    ] = None,
    coalition: Annotated[
        int, typer.Option(min=0, help="What so many respondents together can learn; of a release.")
    ] = 0,
    metadata: Metadata = None,
    by: Annotated[
        list[str] | None, typer.Option(help="Spanning variables of published cells with blanks.")
    ] = None,
    value: Annotated[str, typer.Option(help="Column of the published values.")] = "value",
    decimals: Annotated[int, typer.Option(min=0, max=9, help="Digits that are published.")] = 0,
    rounding: Annotated[
        float,
        typer.Option(min=0, help="By how many units of the last digit values may be off."),
    ] = 0.0,
    classification: Trees = None,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="Work out the interval of each hidden cell.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Find out what an attacker can still learn from a table with hidden cells."""
    published: dict[str, object] = {"by": by, "classification": classification}
    published |= {"value": value != "value", "decimals": decimals, "rounding": rounding}
    _check_kind(table, published, {"metadata": metadata, "intervals": intervals})
    if table.suffix == ".toml":
        _audit_release(table, release, beside or [], coalition, as_json=as_json)
        return
    if release is not None or beside or coalition:
        raise typer.BadParameter("--release, --beside and --coalition go with a programme")
    from discreet.argus.runs import audit_file

    done = audit_file(
        table,
        metadata=metadata,
        by=names(by),
        value=value,
        classifications=trees_from(classification),
        decimals=decimals,
        rounding=rounding,
        intervals=intervals,
    )
    show(done.text, done.described, as_json=as_json)


def _check_kind(table: Path, published: Mapping[str, object], other: Mapping[str, object]) -> None:
    """Refuse options that say nothing about this kind of file; none is ignored."""
    kind, wrong = "a pattern or cells with status", dict(published)
    if table.suffix == ".toml":
        kind, wrong = "a programme", {**published, **other}
    elif published["by"]:
        kind, wrong = "published cells (--by)", {"metadata": other["metadata"]}
    for name, given in wrong.items():
        if given:
            raise typer.BadParameter(f"--{name} says nothing about {kind}")


def _audit_release(
    programme: Path, release: Path | None, beside: list[Path], coalition: int, *, as_json: bool
) -> None:
    """Audit a finished release; one that is not safe is a failure."""
    from discreet.release import audit_release

    if release is None:
        raise typer.BadParameter("name the folder of the finished release: --release DIR")
    found = audit_release(programme, release, beside=beside, coalition=coalition)
    show(found.text(), found.described(), as_json=as_json)
    if not found.safe:
        raise typer.Exit(FAILURE)
