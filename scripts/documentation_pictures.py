"""Draw the pictures of the documentation, all but those of the studio.

    python scripts/documentation_pictures.py [GROUP…] [--out FOLDER]

In: nothing; persons, firms and perturbation tables are invented. Out: pictures in docs/images, the
same bytes each time. The group `gallery` runs the code of two pages and photographs their files in
Chromium; the tutorial makes another secret each time.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import discreet as dc
from discreet.assessment import disclosure_risk, trade_off
from discreet.assessment import pictures as drawn
from discreet.assessment.pictures import Picture
from discreet.demo import example_perturbation_table, generate
from discreet.demo.geography import Geography
from discreet.demo.outlines import outlines_of
from discreet.protection.noise.design import design_perturbation
from discreet.protection.noise.design.permutation import permuted
from discreet.protection.suppression import Suppression

ROOT = Path(__file__).resolve().parent.parent

#: Pages whose code makes files, and shows them in pictures.
PAGES = (ROOT / "docs" / "gallery.md", ROOT / "docs" / "tutorial" / "first-release.md")
#: A picture of such a page, with the file that it shows.
SHOWN = re.compile(r"gallery/([\w-]+)\.png\)\n\nFile: `([^`]+)`")
CODE = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Size of the window, the tallest picture, and the largest file.
WIDTH, HEIGHT, TALLEST, MOST_BYTES = 980, 1_400, 660, 120_000

REGIONS = {
    "1": ("North", "Norden"),
    "11": ("Coast", "Küste"),
    "12": ("Marsh", "Marsch"),
    "13": ("Heath", "Heide"),
    "2": ("South", "Süden"),
    "21": ("Hills", "Hügelland"),
    "22": ("Lakes", "Seenland"),
}
BRANCHES = {
    "a": ("Trade", "Handel"),
    "b": ("Crafts", "Handwerk"),
    "c": ("Industry", "Industrie"),
    "d": ("Mining", "Bergbau"),
}
SIZES = {"s": ("small", "klein"), "l": ("large", "groß")}
SEXES = {"m": ("male", "männlich"), "w": ("female", "weiblich")}


def _labels(names: Mapping[str, tuple[str, str]]) -> dict[str, dict[str, str]]:
    return {code: {"en": english, "de": german} for code, (english, german) in names.items()}


def design() -> dict[str, Picture]:
    """Perturbation tables, their quality and risk. The table is an example that nobody uses."""
    example = design_perturbation(5, 3, (1, 2), name="example: D = 5, V = 3, never 1 or 2")
    others = {
        "D = 2, V = 1": design_perturbation(2, 1),
        "D = 3, V = 1.5": design_perturbation(3, 1.5),
        "D = 5, V = 3, never 1 or 2": example,
    }
    limits = {"1 in 10,000": 1e-4, "1 in 100,000": 1e-5, "1 in 1,000,000": 1e-6}
    risks = {name: disclosure_risk(table) for name, table in others.items()}
    trades = {name: trade_off(range(2, 11), limit) for name, limit in limits.items()}
    return {
        "design-tableau": drawn.tableau(example),
        "design-tableau-permuted": drawn.tableau(
            permuted(example, seed=1, split=0.2), language="de"
        ),
        "design-heatmap": drawn.transition_heatmap(example),
        "design-distributions": drawn.row_distributions(example),
        "design-quality": drawn.quality_curve(others),
        "design-risk": drawn.risk_curve(risks),
        "design-trade-off": drawn.trade_off_curve(trades),
    }


def suppression() -> dict[str, Picture]:
    """A table of three variables with its suppressed cells."""
    draw = np.random.default_rng(7)
    leaves = [code for code in REGIONS if len(code) == 2]
    firms = pl.DataFrame(
        {
            "region": draw.choice(leaves, 700),
            "branch": draw.choice(list(BRANCHES), 700, p=[0.5, 0.3, 0.17, 0.03]),
            "size": draw.choice(list(SIZES), 700, p=[0.8, 0.2]),
            "turnover": np.ceil(draw.lognormal(4, 1.2, 700)).astype(int),
        }
    )
    region = dc.Classification.from_prefixes(
        "region", leaves, [1, 2], labels=_labels(REGIONS), titles={"en": "Region", "de": "Region"}
    )
    branch = dc.Classification.flat(
        "branch", BRANCHES, labels=_labels(BRANCHES), titles={"en": "Branch", "de": "Branche"}
    )
    size = dc.Classification.flat(
        "size", SIZES, labels=_labels(SIZES), titles={"en": "Size", "de": "Größe"}
    )
    table = dc.tabulate(firms, [region, branch, size], values=["turnover"], contributions=2)
    rules = [dc.rules.MinimumFrequency(3), dc.rules.PPercent(10)]
    primary = dc.primary(table, rules, value="turnover")
    titles = {"en": "Turnover by region, branch, size", "de": "Umsatz nach Region, Branche, Größe"}
    done = Suppression.of((table, primary), method="fast", titles=titles)
    return {
        "hidden-cells": drawn.hidden_cells(done.tables[0], at={"size": "l"}),
        "hidden-by-code": drawn.hidden_by_code(done, "region", nested="size", language="de"),
        "hidden-by-part": drawn.hidden_by_part(done.tables[0]),
    }


def pyramid() -> dict[str, Picture]:
    """Persons by age and sex."""
    people = generate(persons=20_000, seed=2026).persons
    people = dc.with_record_keys(people, id="person_id", secret="an example, no secret")  # noqa: S106
    titles = {"en": "Sex", "de": "Geschlecht"}
    sex = dc.Classification.flat("sex", SEXES, labels=_labels(SEXES), titles=titles)
    ages = dc.Classification.from_intervals("age", list(range(0, 100, 5)))
    table = dc.tabulate(people, by=[sex, ages], record_key="record_key")
    safe = dc.perturb(
        table, example_perturbation_table(), titles={"en": "Population by age and sex"}
    )
    return {"figures-pyramid": safe.plot("pyramid")}


def draw_map(folder: Path) -> None:
    """Households of one person by municipality, some of them suppressed."""
    census = generate(persons=20_000, seed=2026)
    trees = census.classifications
    by = [trees["region"], trees["household_type"]]
    titles = {"en": "Households of one person", "de": "Einpersonenhaushalte"}
    table = dc.tabulate(census.households, by=by, name="households")
    primary = dc.primary(table, [dc.rules.MinimumFrequency(3)])
    safe = dc.suppress(table, primary, method="fast", titles=titles)
    one = trees["household_type"].codes[1]
    areas = outlines_of(Geography.of(20_000, seed=2026))
    safe.write(folder / "map.svg", boundaries=areas, at={"household_type": one})


def photograph(folder: Path) -> None:
    """The files that pages make, as a reader sees them in a browser."""
    from playwright.sync_api import sync_playwright
    from studio_pictures import ARGUMENTS, CHROMIUM, Camera, small_png

    (folder / "gallery").mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        camera = Camera(browser, "", {})
        window = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        for page in PAGES:
            text = page.read_text("utf-8")
            with tempfile.TemporaryDirectory(prefix="pictures-") as place:
                _run(text, Path(place))
                for name, file in SHOWN.findall(text):
                    window.goto(_framed(Path(place, file)).as_uri())
                    window.wait_for_timeout(500)
                    tall = window.evaluate("document.body.getBoundingClientRect().bottom + 16")
                    clip: Any = {"x": 0, "y": 0, "width": WIDTH, "height": min(tall, TALLEST)}
                    content = small_png(camera.pixels(window.screenshot(clip=clip)))
                    (folder / "gallery" / f"{name}.png").write_bytes(content)
                    assert len(content) <= MOST_BYTES, f"{name}.png has {len(content):,} bytes"
        browser.close()


def _run(text: str, place: Path) -> None:
    """Run the code of a page in an empty folder, as a reader would."""
    tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": tools}
    python = []
    for language, title, code in CODE.findall(text):
        if title:
            (place / title).write_text(code, encoding="utf-8")
            continue
        python += [code] * (language == "python")
        words = ["sh", "-e", "-c", code]
        if language == "python":  # later blocks use names of earlier ones
            words = [sys.executable, "-c", "\n".join(python)]
        subprocess.run(
            words,
            cwd=place,
            check=True,
            env=environment,
            stdout=subprocess.DEVNULL,
        )


def _framed(file: Path) -> Path:
    """A page that shows a picture as a whole; other files show themselves."""
    if file.suffix not in (".png", ".svg"):
        return file
    frame = file.with_suffix(".frame.html")
    size = f"max-width: 100%; max-height: {TALLEST - 16}px"
    frame.write_text(f'<!doctype html><img src="{file.name}" style="{size}">', encoding="utf-8")
    return frame


DRAWN: Mapping[str, Callable[[], Mapping[str, Picture]]] = {
    "design": design,
    "suppression": suppression,
    "pyramid": pyramid,
}
WRITTEN: Mapping[str, Callable[[Path], None]] = {"map": draw_map, "gallery": photograph}


def main() -> int:
    """Draw the groups that are named, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=", ".join([*DRAWN, *WRITTEN]))
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    arguments = parser.parse_args()
    folder = arguments.out
    folder.mkdir(parents=True, exist_ok=True)
    for group in arguments.groups or [*DRAWN, *WRITTEN]:
        if group in WRITTEN:
            WRITTEN[group](folder)
            continue
        for name, picture in DRAWN[group]().items():
            picture.save(folder / f"{name}.png").chmod(0o644)  # the example is not secret
    return 0


if __name__ == "__main__":
    sys.exit(main())
