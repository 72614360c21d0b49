"""All products of a census office from one programme: a figure is the same wherever it stands."""

import csv
import json
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from discreet.demo import agreed_figures, release_products, write_census
from discreet.demo.products import ReleasedProducts
from discreet.errors import PublicationError
from tests.conftest import without


@pytest.fixture(scope="module")
def products(tmp_path_factory: pytest.TempPathFactory) -> ReleasedProducts:
    place = tmp_path_factory.mktemp("products")
    (place / "census").mkdir()
    write_census(place / "census", persons=1_500, seed=7)
    return release_products(place / "census", place / "release")


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def test_every_figure_that_occurs_twice_is_the_same(products: ReleasedProducts) -> None:
    found = products.agreed
    assert found.differing == ()
    assert found.repeated > 2_000
    names = {path.name.partition(".")[0] for path in products.release.out.iterdir()}
    assert {"database", "regional", "squares", "atlas", "special", "hypercube"} <= names


def test_one_changed_figure_is_found(products: ReleasedProducts, tmp_path: Path) -> None:
    out = tmp_path / "changed"
    shutil.copytree(products.release.out, out)
    path = sorted(out.glob("regional.0*.csv"))[0]
    text = path.read_text("utf-8").splitlines()
    at = next(at for at, line in enumerate(text) if ",published," in line)
    cells = text[at].split(",")
    value = text[0].split(",").index("value")
    cells[value] = str(int(cells[value]) + 1)
    text[at] = ",".join(cells)
    path.write_text("\n".join(text) + "\n", "utf-8")
    (differing,) = agreed_figures(out).differing
    assert path.name in differing


def test_each_municipality_has_a_table_of_its_own(products: ReleasedProducts) -> None:
    out = products.release.out
    listed = {row["code"] for row in rows(out / "regional.areas.csv")}
    stated = {row["region"] for row in rows(out / "database.csv") if len(row["region"]) == 8}
    assert stated
    assert listed == stated


def test_squares_on_the_map_are_those_of_the_table(products: ReleasedProducts) -> None:
    out = products.release.out
    table = {(row["square"], row["sex"]): row["value"] for row in rows(out / "squares.csv")}
    assert {len(code) for code, _ in table} >= {len("100mN10000E20003"), len("Total")}
    drawn = json.loads((out / "squares.geojson").read_text("utf-8"))["features"]
    assert drawn
    for one in drawn:
        for sex in ("Total", "m", "w"):
            value = one["properties"][f"value_{sex}"]
            assert str(value) == table[one["properties"]["code"], sex]


SETTINGS = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Setup/L10N"><prop oor:name="ooSetupSystemLocale" oor:op="fuse">
<value>{}</value></prop></item></oor:items>"""


def printed(files: list[Path], place: Path, locale: str) -> dict[str, str]:
    """The texts of pages and sheets, printed to PDF by Chromium and by LibreOffice."""
    sheets = [file for file in files if file.suffix == ".xlsx"]
    settings = place / "settings" / "user" / "registrymodifications.xcu"
    settings.parent.mkdir(parents=True)
    settings.write_text(SETTINGS.format(locale), "utf-8")
    office = ["soffice", f"-env:UserInstallation=file://{place}/settings", "--headless"]
    run = [*office, "--convert-to", "pdf", "--outdir", str(place), *map(str, sheets)]
    subprocess.run(run, check=True, capture_output=True, timeout=300)
    for file in files:
        if file.suffix == ".html":
            browser = ["chromium", "--headless", "--no-sandbox", f"--lang={locale}",
                       "--no-pdf-header-footer",  # a clock: two prints may lie in two minutes
                       f"--print-to-pdf={place / file.stem}.pdf", file.as_uri()]  # fmt: skip
            subprocess.run(browser, check=True, capture_output=True, timeout=300)
    texts = {}
    for path in sorted(place.glob("*.pdf")):
        read = subprocess.run(["pdftotext", "-layout", path, "-"], check=True, capture_output=True)
        texts[path.name] = read.stdout.decode("utf-8")
    return texts


@pytest.mark.browser
def test_products_print_every_figure_in_both_languages_and_locales(
    products: ReleasedProducts, tmp_path: Path
) -> None:
    for program in ("soffice", "chromium", "pdftotext"):
        assert shutil.which(program) or without(f"{program} is not there")
    out = products.release.out
    area = max(
        {file.name.split(".")[1] for file in out.glob("regional.0*.csv")},
        key=lambda name: float(rows(out / f"regional.{name}.csv")[0]["value"]),
    )
    files = [*out.glob("special*.xlsx"), *out.glob(f"regional.{area}.*html")]
    german = [file for file in files if ".de." in file.name]
    assert len(files) == 2 * len(german) == 4
    shown = {"special": out / "special.csv", "regional": out / f"regional.{area}.csv"}
    locales = {}
    for locale in ("en-US", "de-DE"):
        locales[locale] = printed(files, tmp_path / locale, locale)
        assert len(locales[locale]) == 4
        for name, text in locales[locale].items():
            figures = Counter(
                row["value"] for row in rows(shown[name.partition(".")[0]])
                if row["status"] == "published" and 10 < float(row["value"] or 0) < 1_000
            )  # fmt: skip
            assert figures
            assert figures <= Counter(re.findall(r"(?<![\d.,])\d+(?![\d.,]?\d)", text)), name
    assert locales["en-US"] == locales["de-DE"]  # figures do not follow the reader's machine


def test_a_folder_without_tables_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PublicationError, match="no tables"):
        agreed_figures(tmp_path)
