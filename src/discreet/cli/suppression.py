"""Commands on cell suppression: ``discreet suppress`` and ``discreet audit``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from discreet.cli.program import (
    FAILURE,
    SINGLE,
    command,
    names,
    pairs,
    progress_bar,
    show,
    trees_from,
    warn,
)
from discreet.cli.records import opened
from discreet.cli.setting_options import with_settings, word_of
from discreet.operations import AUDIT, SUPPRESSION
from discreet.plugins import plugin, suffix_of

if TYPE_CHECKING:
    from discreet.assessment import Picture
    from discreet.protection.suppression import SuppressionSettings
    from discreet.release import MarkedTable, RecordTable
    from discreet.tables import ProtectedTable


@command(SINGLE, "suppress")
@with_settings(SUPPRESSION, but=("cost", "intervals"))
def suppress(
    context: typer.Context,
    table: Path,
    settings: Any,
    singletons: Literal["no", "yes"] | None = None,  # the old name of --insiders
    out: Path | None = None,
    metadata: Path | None = None,
    repair: bool = False,
    differences: Path | None = None,
    anew: bool = False,
    picture: Path | None = None,
    view: Literal["cells", "codes", "parts"] | None = None,
    language: Literal["en", "de"] = "en",
    by: list[str] | None = None,
    value: list[str] | None = None,
    rule: list[str] | None = None,
    rules_file: Path | None = None,
    holding: str | None = None,
    weight: str | None = None,
    where: str | None = None,
    shadow: str | None = None,
    classification: list[str] | None = None,
    prefixes: list[str] | None = None,
    missing_safe: bool = False,
    waivers: str | None = None,
    status: str | None = None,
    count: str | None = None,
    meaning: list[str] | None = None,
    levels: str | None = None,
    published: str | None = None,
    total: list[str] | None = None,
    known: Path | None = None,
    relation: list[str] | None = None,
    intervals: Literal["beside", "instead"] | None = None,
    decimals: int = 0,
    cost: str = "value",
    internal: Path | None = None,
    check: bool = False,
    hide_less: bool = False,
    read: list[str] | None = None,
    show_values: bool = False,
    as_json: bool = False,
) -> None:
    """Suppress cells until every sensitive cell is provably protected."""
    given = context.params
    if singletons is not None:
        aim = "levels" if singletons == "yes" else "off"
        settings = settings.model_copy(update={"insiders": aim})
    if table.suffix == ".toml":
        words = f"not a table but a programme; run: discreet protect {table} --out DIR"
        raise typer.BadParameter(words)
    if view is not None and picture is None:
        raise typer.BadParameter("--view needs --picture FILE")
    if batch := plugin("batch", suffix_of(table)):  # it says itself what is written
        for name in given:
            named = name in ("table", "as_json", "language")
            if not named and given[name] and given[name] not in ("auto", "value"):
                word = word_of(_WORDS.get(name, name))
                raise typer.BadParameter(f"{word} does not apply to a batch; set it there")
        with progress_bar("Suppressing") as report:
            done = batch(table, language=language, progress=lambda line: report(0, 1, line))
        show(*done, as_json=as_json)
        return
    _check_options(given, settings)
    _check_places(given)
    if by:
        text, described = _records_suppressed(given, settings)
    else:
        options = {name: given[name] for name in _CELLS_ONLY}
        options |= settings.model_dump(include={"method", "time_limit"})
        with progress_bar("Suppressing") as report:
            options |= {"progress": lambda line: report(0, 1, line), "publish": _publisher(given)}
            text, described = _of_plugin("suppress", table)(table, out, **options)
    if picture is not None and not check:
        text, described = f"{text}\nDrawn: {picture}", {**described, "picture": str(picture)}
    show(text, described, as_json=as_json)


#: Options of files of cells only; with --by: of records only, of cells with a status, of both.
_CELLS_ONLY = ("metadata", "repair", "differences", "anew")
_RECORDS_ONLY = (
    *("rule", "rules_file", "holding", "weight", "where", "shadow", "prefixes", "missing_safe"),
    *("waivers", "known", "relation", "intervals", "hide_less"),
)
_STATUS_ONLY = ("count", "meaning", "levels", "published", "total")
_WITH_BY = (
    *("value", "classification", "decimals", "internal", "check", "status"),
    *("read", "show_values"),
)


def _check_options(given: Mapping[str, Any], settings: SuppressionSettings) -> None:
    """Refuse options that say nothing about this kind of file; none is ignored."""
    kind = "a problem or cells with status; microdata need --by"
    wrong: tuple[str, ...] = (*_RECORDS_ONLY, *_STATUS_ONLY, *_WITH_BY)
    if given["by"] and given["status"]:
        kind, wrong = "cells with a status", (*_CELLS_ONLY, *_RECORDS_ONLY)
    elif given["by"]:
        kind, wrong = "microdata; cells need --status", (*_CELLS_ONLY, *_STATUS_ONLY)
    stated = [name for name in wrong if given[name]]
    if not given["by"]:
        stated += [] if given["cost"] == "value" else ["cost"]
        stated += settings.model_dump(exclude_defaults=True, exclude={"method", "time_limit"})
    for name in stated:
        word = word_of(_WORDS.get(name, name))
        raise typer.BadParameter(f"{word} does not apply to {kind}")
    if given["out"] is None and not given["check"]:
        raise typer.BadParameter("add --out FILE")
    if given["check"] and given["internal"] and not given["hide_less"]:
        raise typer.BadParameter("--internal with --check needs --hide-less")
    if given["by"] and not (given["rule"] or given["rules_file"] or given["status"]):
        words = "no sensitivity rule: add --rule p=10 --rule n=3, --rules FILE or --status COLUMN"
        raise typer.BadParameter(words)


#: Parameters whose options have another name.
_WORDS = {"rules_file": "rules"}


def _publisher(given: Mapping[str, Any]) -> Callable[[ProtectedTable, Path], None]:
    """Writes a protected table, and draws it if that was asked for."""
    from discreet.publication import write

    def publish(safe: ProtectedTable, path: Path) -> None:
        write(safe, path, language=given["language"])
        if given["picture"] is not None:
            _draw(safe, given["picture"], given["view"] or "cells", given["language"])

    return publish


def _of_plugin(hook: str, table: Path) -> Callable[..., tuple[str, dict[str, Any]]]:
    """What a plugin does with a file of this kind."""
    found: Callable[..., tuple[str, dict[str, Any]]] | None
    found = plugin(hook, suffix_of(table), "other")
    if found is None:
        raise typer.BadParameter(f"unknown file type {table.name}; microdata need --by")
    return found


def _records_suppressed(
    given: Mapping[str, Any], settings: SuppressionSettings
) -> tuple[str, dict[str, Any]]:
    """A table of records, or of cells with a status, with hidden cells."""
    from discreet.release import checked_table, suppress_table

    table = _marked_table(given) if given["status"] else _record_table(given)
    search = settings.model_dump(exclude={"cost", "intervals"}, exclude_none=True)
    search |= {"internal": given["internal"], "savings": given["hide_less"]}
    if given["intervals"] is not None:
        search["intervals"] = "instead" if given["intervals"] == "instead" else True
    with progress_bar("Suppressing") as report:
        search["progress"] = lambda line: report(0, 1, line)
        if given["check"]:
            return checked_table(table, **search)
        return suppress_table(table, given["out"], **search, write=_publisher(given))


def _record_table(given: Mapping[str, Any]) -> RecordTable:
    from discreet.protection.problems import warnings_about
    from discreet.release import RecordTable, rules_from, spanning_of

    file = given["rules_file"]
    if file is not None and warnings_about(file):
        warn([f"other users of this computer can read the rules; run: chmod 600 {file}"])
    judging = {name: given[name] for name in ("missing_safe", "waivers")}
    rules = rules_from(given["rule"] or (), file, **judging)
    lengths = pairs(given["prefixes"], "NAME=1,3")
    trees = trees_from(given["classification"])
    records = opened(given["table"], given["read"], given["show_values"])
    by = spanning_of(records, names(given["by"]), trees, lengths)
    same = ("weight", "where", "shadow", "holding", "decimals", "cost", "known")
    options = {name: given[name] for name in same}
    options["relations"] = given["relation"] or ()
    options |= {"values": names(given["value"]), "name": given["table"].name.partition(".")[0]}
    return RecordTable(records=records, by=by, rules=rules, **options)


def _marked_table(given: Mapping[str, Any]) -> MarkedTable:
    from discreet.release import MarkedTable, spanning_of_cells

    trees, totals = trees_from(given["classification"]), pairs(given["total"], "NAME=CODE")
    cells = opened(given["table"], given["read"], given["show_values"], names(given["by"]))
    by = spanning_of_cells(cells, names(given["by"]), trees, totals)
    meaning = pairs(given["meaning"], "STATUS=unsafe")
    if "empty" in meaning:
        meaning[""] = meaning.pop("empty")
    levels = names([given["levels"] or ""])
    same = ("status", "count", "published", "decimals", "cost")
    options = {name: given[name] for name in same}
    options |= {"values": names(given["value"]), "name": given["table"].name.partition(".")[0]}
    return MarkedTable(cells=cells, by=by, meaning=meaning, levels=levels, **options)


def _check_places(given: Mapping[str, Any]) -> None:
    """Refuse places that are used otherwise or cannot be written, before the long search."""
    from discreet.publication import check_place, format_of, place_of

    table, out, picture = given["table"], given["out"], given["picture"]
    read = [given[name] for name in ("table", "metadata", "rules_file", "known")]
    used = {place.resolve() for place in read if place is not None}
    pattern = out is not None and plugin("pattern", suffix_of(out)) is not None
    for name in ("out", "picture", "differences", "internal"):
        if (place := given[name]) is None:
            continue
        if place.resolve() in used:
            message = "an input file" if name == "out" else "another file of this command"
            raise typer.BadParameter(f"--{name} is {message}; choose another file")
        used.add(place.resolve())
        check_place(place)
    if out is not None and not pattern and not plugin("pattern", suffix_of(table)):
        format_of(place_of(out), None)
    if picture is not None:
        from discreet.assessment import check_picture_place

        if pattern:
            raise typer.BadParameter("--picture needs a table as --out, such as --out NAME.csv")
        check_picture_place(picture)


def _draw(safe: ProtectedTable, picture: Path, view: str, language: str) -> None:
    from discreet.assessment import hidden_by_code, hidden_by_part, hidden_cells

    ways: Mapping[str, Callable[..., Picture]] = {
        "cells": hidden_cells,
        "codes": hidden_by_code,
        "parts": hidden_by_part,
    }
    ways[view](safe, language=language).save(picture)


@command(SINGLE, "audit")
@with_settings(AUDIT, but=("bounds",))
def audit(
    table: Path,
    settings: Any,
    release: Path | None = None,
    beside: list[Path] | None = None,
    metadata: Path | None = None,
    by: list[str] | None = None,
    value: str = "value",
    decimals: int = 0,
    rounding: float = 0.0,
    classification: list[str] | None = None,
    prefixes: list[str] | None = None,
    intervals: bool = False,
    as_json: bool = False,
) -> None:
    """Audit suppressed cells: compute what an intruder can learn."""
    published: dict[str, object] = {
        "by": by,
        "classification": classification,
        "prefixes": prefixes,
    }
    published |= {"value": value != "value", "decimals": decimals, "rounding": rounding}
    _check_kind(table, published, {"metadata": metadata, "intervals": intervals})
    if table.suffix == ".toml":
        from discreet.release import audit_release

        if release is None:
            raise typer.BadParameter("add --release DIR, the folder of the finished release")
        audited = audit_release(table, release, beside=beside or (), coalition=settings.coalition)
        show(audited.text(), audited.described(), as_json=as_json)
        if not audited.safe:
            raise typer.Exit(FAILURE)
        return
    if release is not None or beside or settings.coalition is not None:
        raise typer.BadParameter("--release, --beside and --coalition need a programme")
    if by:
        from discreet.release import audit_published_file

        text, described = audit_published_file(
            table,
            by=names(by),
            value=value,
            classifications=trees_from(classification),
            prefixes=pairs(prefixes, "NAME=1,3"),
            decimals=decimals,
            rounding=rounding,
            intervals=intervals,
        )
    else:
        text, described = _of_plugin("audit", table)(table, metadata=metadata, intervals=intervals)
    show(text, described, as_json=as_json)
    # Published cells alone do not say which of them are sensitive: they are open, or not examined.
    if described["verdict"] == "open" if by else described.get("safe") is not True:
        raise typer.Exit(FAILURE)


def _check_kind(table: Path, published: Mapping[str, object], other: Mapping[str, object]) -> None:
    """Refuse options that say nothing about this kind of file; none is ignored."""
    if table.is_dir():
        message = (
            "not a file but a folder; for a release run: discreet audit PROGRAMME "
            f"--release {table}"
        )
        raise typer.BadParameter(message)
    kind, wrong = "a pattern or cells with status", dict(published)
    if table.suffix == ".toml":
        kind, wrong = "a programme", {**published, **other}
    elif published["by"]:
        kind, wrong = "published cells (--by)", {"metadata": other["metadata"]}
    for name, given in wrong.items():
        if given:
            raise typer.BadParameter(f"--{name} does not apply to {kind}")
