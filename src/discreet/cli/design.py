"""Commands that make and compare perturbation tables: ``discreet ptable design|compare``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from discreet.cli.options import Json, command, names, secret_from, show, warn

if TYPE_CHECKING:
    from discreet.perturbation import PerturbationTable

__all__ = ["register"]

Out = Annotated[Path, typer.Argument(help="The file to write, mode 0600: .csv, .json, .txt.")]
MaxNoise = Annotated[int | None, typer.Option(help="Largest noise, such as 5.")]
Variance = Annotated[float | None, typer.Option(help="Largest variance, such as 3.")]
Forbidden = Annotated[
    list[str] | None, typer.Option(help="Values never to be published, such as 1,2.")
]
Stay = Annotated[
    float | None, typer.Option(help="Fixed share that is unchanged, of counts not forbidden.")
]
Monotone = Annotated[
    bool, typer.Option("--monotone/--any-shape", help="Larger noise is never likelier.")
]
RelaxOption = Annotated[
    str | None,
    typer.Option(
        "--relax", help="What gives way in a clash: variance (the default), stay or unimodality."
    ),
]
Preset = Annotated[str | None, typer.Option(help="A ready-made design, by its name.")]
Keys = Annotated[int | None, typer.Option(help="Round to 256 or 4096 keys and print the errors.")]
SeedFile = Annotated[
    Path | None, typer.Option(help="Permute the intervals; file of the secret, mode 0600.")
]
SeedVariable = Annotated[str | None, typer.Option(help="The same with an environment variable.")]
Split = Annotated[
    float | None, typer.Option(help="When permuting, first split intervals wider than this.")
]
OutFormat = Annotated[
    str | None, typer.Option("--format", help="Format to write; by suffix if not given.")
]
Language = Annotated[str, typer.Option(help="Language of the description: en or de.")]
Format = Annotated[str | None, typer.Option(help="Its format; found out if not given.")]

_SEED = "permuted intervals"  # what the secret is used for; part of the construction


def register(app: typer.Typer) -> None:
    """Add the commands to the group of perturbation tables."""
    command(
        app,
        "design",
        example="discreet ptable design ptable.csv --max-noise 5 --variance 3 --forbidden 1,2",
    )(design)
    command(app, "compare", example="discreet ptable compare old.csv new.csv")(compare)


def design(
    out: Out,
    max_noise: MaxNoise = None,
    variance: Variance = None,
    forbidden: Forbidden = None,
    stay: Stay = None,
    monotone: Monotone = True,
    relax: RelaxOption = None,
    preset: Preset = None,
    keys: Keys = None,
    seed_file: SeedFile = None,
    seed_env: SeedVariable = None,
    split: Split = None,
    file_format: OutFormat = None,
    language: Language = "en",
    as_json: Json = False,
) -> None:
    """Design a perturbation table with the most random noise its promises allow."""
    from discreet.assessment import describe, evaluate
    from discreet.perturbation.design.discretising import discretised
    from discreet.perturbation.design.shuffling import permuted

    secret = secret_from(seed_file, seed_env)
    if split is not None and secret is None:
        raise typer.BadParameter("--split belongs to permuting: name --seed-file or --seed-env")
    wishes = _Wishes(max_noise, variance, forbidden, stay, monotone, relax)
    table = wishes.table() if preset is None else wishes.ready_made(preset)
    if preset is not None and secret is None:
        warn(["ready-made tables are public: permute this one with --seed-file"])
    rounding = None
    if keys is not None:
        table, rounding = discretised(table, keys)
    if secret is not None:
        table = permuted(table, secret.derive(_SEED), split)
    if file_format == "argus" or (file_format is None and out.suffix.lower() == ".txt"):
        table = table.with_closed("right")
    text = f"The table is in {out}. It is secret.\n{describe(table, language)}"
    if rounding is not None:
        text += f"\n{rounding.text(language)}"
    described = {
        "out": str(out),
        "rows": evaluate(table).to_dicts(),
        "rounding": None if rounding is None else rounding.described(),
    }
    table.write(out, format=file_format)
    show(text, described, as_json=as_json)


def compare(
    first: Annotated[Path, typer.Argument(help="A perturbation table.")],
    second: Annotated[Path, typer.Argument(help="Another one.")],
    first_format: Format = None,
    second_format: Format = None,
    language: Language = "en",
    as_json: Json = False,
) -> None:
    """Say how two perturbation tables differ. SECRET."""
    from discreet.assessment import compare as compare_tables
    from discreet.perturbation import PerturbationTable
    from discreet.release import warnings_about

    warn([*warnings_about(first), *warnings_about(second)])
    tables = [
        PerturbationTable.read(file, format=kind)
        for file, kind in ((first, first_format), (second, second_format))
    ]
    comparison = compare_tables(tables[0], tables[1])
    show(comparison.text(language), comparison.described(), as_json=as_json)


@dataclass(frozen=True)
class _Wishes:
    """What was asked of a design; None where nothing was."""

    max_noise: int | None
    variance: float | None
    forbidden: list[str] | None
    stay: float | None
    monotone: bool
    relax: str | None

    def table(self) -> PerturbationTable:
        """The table designed."""
        from discreet.perturbation.design import design_perturbation

        if self.max_noise is None or self.variance is None:
            raise typer.BadParameter("name --max-noise and --variance, or a --preset")
        values = [_whole(text) for text in names(self.forbidden)]
        stay: float | dict[int, float] | None = self.stay
        if self.stay is not None and values:  # for every row whose count may be published
            last = self.max_noise + max(values) + 1  # from here on all rows are alike
            stay = {row: self.stay for row in range(1, last + 1) if row not in values}
        return design_perturbation(
            self.max_noise,
            self.variance,
            values,
            monotone=self.monotone,
            stay=stay,
            relax=cast("Literal['variance', 'stay', 'unimodality']", self.relax or "variance"),
        )

    def ready_made(self, name: str) -> PerturbationTable:
        """The table of this name, which leaves nothing to wish for."""
        from discreet.perturbation.design import preset

        if self != _Wishes(None, None, None, None, True, None):
            raise typer.BadParameter("a --preset is complete: no other property can be asked for")
        return preset(name)


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a whole number") from None
