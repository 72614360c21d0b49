"""Limits on what attacks find: a release is withheld, a programme is judged beforehand."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.assessment import words_of_listings
from discreet.cli.commands import app
from discreet.errors import ProgrammeError, PublicationError
from discreet.protection.noise import PerturbationTable
from discreet.publication.vocabulary import read_words
from discreet.release import protect, read_programme
from discreet.release.attacks.attack import planned_exposure
from tests.release.conftest import persons, perturbation_table

LIMITS = "[defaults]"


def limited(edited: Callable[..., Path], lines: str) -> Path:
    return edited((LIMITS, f"[attacks]\n{lines}\n\n{LIMITS}"))


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("average = 0.3", "average is 0."),
        ("exposure = 1", "exposure is"),
        ('knows = "maximum"\naverage = 0.3', "average is 0."),
    ],
)
def test_a_release_that_gives_too_much_away_is_withheld(
    edited: Callable[..., Path], lines: str, words: str
) -> None:
    path = limited(edited, lines)
    with pytest.raises(PublicationError) as caught:
        protect(path, path.parent / "out")
    assert caught.value.code == "attacks"
    assert words in str(caught.value)
    assert not (path.parent / "out").exists()


def test_one_that_does_not_says_so(edited: Callable[..., Path]) -> None:
    path = limited(edited, "average = 1.0\nexposure = 100\ndetermined = 1000000\ntwins = 50")
    protect(path, path.parent / "out")
    for name, words in (
        ("quality.html", "attacked as readers"),
        ("quality.de.html", "angegriffen"),
    ):
        assert words in (path.parent / "out" / name).read_text("utf-8")
    assert json.loads((path.parent / "out" / "quality.json").read_text("utf-8"))["attacked"] is True


def test_without_limits_nothing_is_said(out: Path) -> None:
    page = (out / "quality.html").read_text("utf-8")
    assert "attacked as readers" not in page


@pytest.mark.parametrize("line", ["average = -1", 'knows = "nothing"', "nonsense = 1"])
def test_limits_that_are_none(edited: Callable[..., Path], line: str) -> None:
    with pytest.raises(ProgrammeError, match="attacks"):
        read_programme(limited(edited, line))


def test_exposure_is_known_before_anything_is_counted(edited: Callable[..., Path]) -> None:
    path = edited(('where = "age >= 18"\n', ""))
    found = {each.table: each for each in planned_exposure(path, perturbation_table())}
    assert found["T2"].alone == pytest.approx((1 + 1 / 3) * (1 + 1 / 2))
    assert found["T3"].unknown == ("nationality",)
    # What T1 and T2 both show counts once: the total, and the sexes.
    assert found["T2"].alone < found["T2"].together < found["T1"].alone + found["T2"].alone
    tree = dc.Classification.from_intervals("ages", bounds=[0, 18, 65]).replace(column="age")
    sexes = dc.Classification.flat("sex", ["m", "w"])
    table = dc.tabulate(persons(), by=[tree, sexes], record_key="record_key")
    measured = dc.attack(dc.perturb(table, perturbation_table()), ptable=perturbation_table())
    assert measured.rates()["exposure"] == pytest.approx(found["T2"].alone)


def test_what_keeps_the_limit_is_told(programme: Path) -> None:
    even = dict.fromkeys((-2, -1, 0, 1, 2), 1 / 5)
    wide = PerturbationTable.from_rows({0: {0: 1}, 1: {0: 1}, 2: even, 3: even, 4: even})
    limit = 0.3
    over = [each for each in planned_exposure(programme, wide, average=limit) if each.variance]
    assert over
    for each in over:
        assert each.average > limit
        assert each.variance is not None
        assert each.variance > 2
        assert each.leave_out is not None
        assert each.leave_out[1] < each.alone


def test_the_command(programme: Path) -> None:
    words = ["ptable", "check", str(programme.parent / "ptable.json"), "--for", str(programme)]
    done = CliRunner().invoke(app, words)
    assert (done.exit_code, "T3" in done.stdout, "nationality" in done.stdout) == (0, True, True)
    failed = CliRunner().invoke(app, [*words, "--average", "0.4", "--json"])
    assert failed.exit_code == 1
    assert {each["table"] for each in json.loads(failed.stdout)["tables"]} == {"T1", "T2", "T3"}
    assert CliRunner().invoke(app, [*words[:3], "--average", "0.4"]).exit_code == 2


# -- pages --------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["en", "de"])
def test_pages_for_the_office_and_for_everybody(programme: Path, out: Path, language: str) -> None:
    """The one for everybody has rates in steps, and neither cells nor what tells of the noise."""
    folder = programme.parent
    pages = ["--out", str(folder / "secret.html"), "--public", str(folder / "public.html")]
    line = ["attack", str(out), "--truth", str(programme), *pages, "--language", language]
    assert CliRunner().invoke(app, line).exit_code == 0
    secret, public = ((folder / f"{name}.html").read_text("utf-8") for name in ("secret", "public"))
    text = attack_page_words(language)
    for name in ("by subtable", "by variable", "growth", "secret"):
        assert text[name] in secret
    assert (folder / "secret.html").stat().st_mode & 0o077 == 0
    for name in ("exposure", "variance", "found", "by subtable", "secret"):
        assert text[name] not in public
    assert text["at most"].split("{")[0] in public
    assert "<script" not in secret + public


def attack_page_words(language: str) -> dict[str, str]:
    return {**words_of_listings(language), **read_words("discreet.release.attacks")[language]}


def test_limits_of_the_programme_are_those_of_its_attacks(
    edited: Callable[..., Path], out: Path
) -> None:
    """The command judges by them, if its attacker knows the same; its own limits come first."""
    path = limited(edited, "average = 1\ntwins = 5\ngroups = 1000")
    line = ["attack", str(out), "--truth", str(path), "--json"]
    done = CliRunner().invoke(app, line)
    report = json.loads(done.stdout)
    assert done.exit_code == 0
    assert report["limits"] == {"average": 1.0, "twins": 5.0, "groups": 1000.0}
    limits = {one["attack"]: (one["limit"], one["verdict"]) for one in report["attacks"]}
    assert limits["average"] == (1.0, "safe")
    failed = CliRunner().invoke(app, [*line, "--fail-over", "average=0.1"])
    assert failed.exit_code == 1
    (over,) = json.loads(failed.stdout)["failed"]
    assert over.startswith("average is ")
    assert over.endswith("above 0.1")
    other = CliRunner().invoke(app, [*line, "--knows", "maximum", "--max-noise", "2"])
    assert json.loads(other.stdout)["limits"] == {}
    assert CliRunner().invoke(app, [*line, "--fail-over", "luck=1"]).exit_code == 2


def test_pages_are_html(out: Path) -> None:
    line = ["attack", str(out), "--public", "page.txt"]
    assert CliRunner().invoke(app, line).exit_code == 2
