"""Draw the population pyramid and the map of the documentation.

In: nothing; the persons are drawn by chance. Out: docs/images/figures-pyramid.png and map.svg,
the same bytes every time.

    python scripts/figures_picture.py
"""

from __future__ import annotations

from pathlib import Path

import discreet as dc
from discreet.demo import example_perturbation_table, generate
from discreet.demo.geography import Geography
from discreet.demo.outlines import outlines_of

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"


def draw_map() -> None:
    """Households of one person by municipality, few of them hidden."""
    census = generate(persons=20_000, seed=2026)
    trees = census.classifications
    by = [trees["region"], trees["household_type"]]
    titles = {"en": "Households of one person", "de": "Einpersonenhaushalte"}
    table = dc.tabulate(census.households, by=by, name="households")
    primary = dc.primary(table, [dc.rules.MinimumFrequency(3)])
    safe = dc.suppress(table, primary, method="fast", titles=titles)
    one = trees["household_type"].codes[1]
    areas = outlines_of(Geography.of(20_000, seed=2026))
    safe.write(IMAGES / "map.svg", boundaries=areas, at={"household_type": one})


def draw_pyramid() -> None:
    """Age and sex."""
    people = generate(persons=20_000, seed=2026).persons
    people = dc.with_record_keys(people, id="person_id", secret="an example, no secret")  # noqa: S106
    titles = {"en": "Sex", "de": "Geschlecht"}
    labels = {"m": {"en": "male", "de": "männlich"}, "w": {"en": "female", "de": "weiblich"}}
    sex = dc.Classification.flat("sex", ["m", "w"], labels=labels, titles=titles)
    ages = dc.Classification.from_intervals("age", list(range(0, 100, 5)))
    table = dc.tabulate(people, by=[sex, ages], record_key="record_key")
    safe = dc.perturb(
        table, example_perturbation_table(), titles={"en": "Population by age and sex"}
    )
    safe.plot("pyramid").save(IMAGES / "figures-pyramid.png")


if __name__ == "__main__":
    draw_pyramid()
    draw_map()
