"""Commands on perturbation tables: ``discreet ptable …``.

In: the words of a command. Out: perturbation tables that are made, checked, shown, compared
or converted, readable by their owner only. SECRET.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from discreet.cli.program import (
    FAILURE,
    check_suffix,
    command,
    group,
    names,
    secret_from,
    show,
    warn,
)
from discreet.errors import PerturbationError
from discreet.files import texts_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.release import PlannedExposure

app = group("Design, check, convert and show perturbation tables. They are secret.")


@command(app, "check")
def check(
    file: Path,
    file_format: str | None = None,
    programme: Path | None = None,
    average: float | None = None,
    out: Path | None = None,
    language: Literal["en", "de"] = "en",
    as_json: bool = False,
) -> None:
    """Check that a perturbation table is valid; and, with --for, what a programme exposes."""
    from discreet.protection.noise import PerturbationTable
    from discreet.protection.problems import warnings_about

    if (average is not None or out is not None) and programme is None:
        raise typer.BadParameter("--average and --out need --for PROGRAMME")
    check_suffix("--out", out, ".html")
    table = PerturbationTable.read(file, format=file_format)
    warn(warnings_about(file))
    words = texts_of("discreet.assessment", "command", language)
    grid = "any" if table.key_grid is None else str(table.key_grid)
    shown_grid = words["any"] if table.key_grid is None else grid
    lines = [words["valid"].format(file=file, last=table.n_max, grid=shown_grid)]
    described: dict[str, Any] = {
        "file": str(file),
        "valid": True,
        "n_max": table.n_max,
        "key_grid": grid,
    }
    over = False
    if programme is not None:
        from discreet.release import planned_exposure

        found = planned_exposure(programme, table, average=average)
        described["tables"] = [asdict(item) for item in found]
        over = any(item.variance is not None for item in found)
        lines += ["", words["planned"]]
        lines += [line for table_risk in found for line in _exposed(table_risk, words)]
        if out is not None:
            from discreet.files import write_text
            from discreet.release import planned_page

            write_text(out, planned_page(found, programme.stem, language=language), private=True)
    show("\n".join(lines), described, as_json=as_json)
    if over:
        raise typer.Exit(FAILURE)


def _exposed(risk: PlannedExposure, words: Mapping[str, str]) -> list[str]:
    """One table: its averaging risk, and the remedies above the limit."""
    lines = [f"{risk.table:20} {risk.alone:8.2f} {risk.together:9.2f} {risk.average:8.1%}"]
    if risk.variance is not None:
        lines.append(words["above"].format(variance=risk.variance))
        if risk.leave_out is not None:
            variable, left = risk.leave_out
            lines.append(words["without"].format(variable=variable, left=left))
    if risk.unknown:
        lines.append(words["unknown"].format(variables=", ".join(risk.unknown)))
    return lines


@command(app, "show")
def show_parameters(
    file: Path,
    file_format: str | None = None,
    language: str = "en",
    as_json: bool = False,
) -> None:
    """Say in words what a table does, draw it, and print its parameters. SECRET."""
    from discreet.assessment import describe, draw
    from discreet.protection.noise import PerturbationTable
    from discreet.protection.problems import warnings_about

    table = PerturbationTable.read(file, format=file_format)
    rows, words = table.parameters(), describe(table, language)
    warn(warnings_about(file))
    if not as_json:
        from rich.console import Console

        Console().print(draw(table, language))
    head = texts_of("discreet.assessment", "command", language)["rows"]
    lines = [
        f"{row['count']:>6} {row['mean']:>9.4f} {row['variance']:>9.4f} {row['stay']:>8.4f} "
        f"{row['lowest']:>7} {row['highest']:>8}"
        for row in rows
    ]
    text = "\n".join([head, *lines, "", words])
    show(text, {"file": str(file), "rows": rows, "words": words}, as_json=as_json)


@command(app, "convert")
def convert(
    source: Path,
    target: Path,
    file_format: str | None = None,
    to: str | None = None,
    as_json: bool = False,
) -> None:
    """Write a perturbation table in another format; every key keeps its noise."""
    from discreet.protection.problems import warnings_about
    from discreet.release import convert_perturbation_table

    warn(warnings_about(source))
    written, moved = convert_perturbation_table(
        source, target, source_format=file_format, target_format=to
    )
    text = f"The table is in {written}."
    if moved is not None:
        text += (
            f"\nIntervals of this format are closed on the {moved}: bounds moved by 10^-15, "
            "every key keeps its noise."
        )
    show(text, {"out": str(written), "closed_changed_to": moved}, as_json=as_json)


_SEED = "permuted intervals"  # what the secret is used for; part of the construction


@command(app, "design")
def design(
    out: Path,
    max_noise: int | None = None,
    variance: float | None = None,
    forbidden: list[str] | None = None,
    stay: float | None = None,
    monotone: bool = True,
    relax: str | None = None,
    preset: str | None = None,
    keys: int | None = None,
    seed_file: Path | None = None,
    seed_env: str | None = None,
    split: float | None = None,
    file_format: str | None = None,
    language: str = "en",
    force: bool = False,
    as_json: bool = False,
) -> None:
    """Design a perturbation table with the most random noise its promises allow."""
    from discreet.assessment import describe, evaluate
    from discreet.protection.noise import design_perturbation, discretised, permuted
    from discreet.protection.noise import preset as ready_made

    _check_free(out, force)
    secret = secret_from(seed_file, seed_env)
    if split is not None and secret is None:
        raise typer.BadParameter("--split needs --seed-file or --seed-env")
    if preset is None:
        if max_noise is None or variance is None:
            raise typer.BadParameter("add --max-noise and --variance, or --preset")
        gives: Any = relax or "variance"
        never = [_whole(text) for text in names(forbidden)]
        table = design_perturbation(
            max_noise, variance, never, monotone=monotone, stay=stay, relax=gives
        )
    else:
        if (max_noise, variance, forbidden, stay, monotone, relax) != (*[None] * 4, True, None):
            raise typer.BadParameter("--preset cannot be combined with other properties")
        table = ready_made(preset)
        if secret is None:
            warn(["ready-made tables are public; add --seed-file to permute this one"])
    rounding = None
    if keys is not None:
        table, rounding = discretised(table, keys)
    if secret is not None:
        table = permuted(table, secret.derive(_SEED), split)
    if file_format == "argus" or (file_format is None and out.suffix.lower() == ".txt"):
        table = table.with_closed("right")
    description = describe(table, language)
    written = texts_of("discreet.assessment", "command", language)["written"]
    text = f"{written.format(out=out)}\n{description}"
    if rounding is not None:
        text += f"\n{rounding.text(language)}"
    described = {
        "out": str(out),
        "rows": evaluate(table).to_dicts(),
        "rounding": None if rounding is None else rounding.described(),
    }
    table.write(out, format=file_format)
    show(text, described, as_json=as_json)


@command(app, "design-magnitudes")
def design_magnitudes(
    out: Path,
    max_noise: int,
    variance: float,
    classes: list[str] | None = None,
    step: int = 2,
    small_cells: list[str] | None = None,
    stay: float | None = None,
    monotone: bool = True,
    relax: Literal["variance", "stay", "unimodality"] = "variance",
    file_format: Literal["intervals", "argus"] | None = None,
    force: bool = False,
    as_json: bool = False,
) -> None:
    """Design a perturbation table for sums and means of a value column."""
    from discreet.protection.noise import design_magnitude_perturbation

    _check_free(out, force)
    small = names(small_cells)
    if small and len(small) != 2:
        raise typer.BadParameter("--small-cells needs largest noise and variance, such as 3,1")
    table = design_magnitude_perturbation(
        max_noise,
        variance,
        classes=[_whole(text) for text in names(classes)] or (1, 5, 10),
        step=step,
        small_cells=(_whole(small[0]), _number(small[1])) if small else None,
        monotone=monotone,
        stay=stay,
        relax=relax,
        name=out.stem,
    )
    if file_format == "argus" or (file_format is None and out.suffix.lower() == ".txt"):
        table = table.with_closed("right")
    table.write(out, format=file_format)
    rows = table.parameters()
    lines = [f"The table is in {out}. It is secret.", "", f"{'cells':>6} {'class':>6} {'stay':>8}"]
    lines[-1] += f" {'variance':>9} {'lowest':>7} {'highest':>8}"
    lines += [
        f"{row['cells']:>6} {row['class']:>6} {row['stay']:>8.4f} {row['variance']:>9.4f} "
        f"{row['lowest']:>7g} {row['highest']:>8g}"
        for row in rows
    ]
    show("\n".join(lines), {"out": str(out), "rows": rows}, as_json=as_json)


def _check_free(out: Path, force: bool) -> None:
    """Fail where a file would be replaced without `--force`."""
    if out.exists() and not force:
        raise PerturbationError(
            "the file exists already; replacing it makes earlier protected results irreproducible",
            code="output-file",
            where=str(out),
            hint="choose another name, or add --force",
        )


@command(app, "compare")
def compare(
    first: Path,
    second: Path,
    first_format: str | None = None,
    second_format: str | None = None,
    language: str = "en",
    as_json: bool = False,
) -> None:
    """Say how two perturbation tables differ. SECRET."""
    from discreet.assessment import compare as compare_tables
    from discreet.protection.noise import PerturbationTable
    from discreet.protection.problems import warnings_about

    warn([*warnings_about(first), *warnings_about(second)])
    tables = [
        PerturbationTable.read(file, format=kind)
        for file, kind in ((first, first_format), (second, second_format))
    ]
    comparison = compare_tables(tables[0], tables[1])
    show(comparison.text(language), comparison.described(), as_json=as_json)


@command(app, "privacy")
def privacy(
    file: Path,
    file_format: str | None = None,
    programme: Path | None = None,
    language: str = "en",
    as_json: bool = False,
) -> None:
    """Compare a perturbation table with mechanisms of differential privacy. SECRET."""
    from discreet.assessment import privacy_view
    from discreet.protection.noise import PerturbationTable
    from discreet.protection.problems import warnings_about
    from discreet.release import cells_of_record

    warn(warnings_about(file))
    table = PerturbationTable.read(file, format=file_format)
    view = privacy_view(table, cells=1 if programme is None else max(1, cells_of_record(programme)))
    show(view.text(language), view.described(), as_json=as_json)


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a whole number") from None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number") from None
