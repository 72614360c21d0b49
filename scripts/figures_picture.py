"""Draw the population pyramid of the documentation.

In: nothing; the persons are drawn by chance. Out: docs/images/figures-pyramid.png, the same
bytes every time.

    python scripts/figures_picture.py
"""

from __future__ import annotations

from pathlib import Path

import discreet as dc
from discreet.demo import example_perturbation_table, generate

TARGET = Path(__file__).resolve().parent.parent / "docs" / "images" / "figures-pyramid.png"


def main() -> None:
    """Draw it."""
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
    safe.plot("pyramid").save(TARGET)


if __name__ == "__main__":
    main()
