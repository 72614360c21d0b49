"""Hints of problems in German, for every code, and for what the service says most."""

import ast
import tomllib

from discreet.errors import DiscreetError, nearest
from discreet_service.problems import PROBLEM_TYPES, ServiceError, hint_in, problem_document
from tests.helpers.asgi_browser import AsgiBrowser
from tests.helpers.places import ROOT
from tests.helpers.rows import for_all_rows
from tests.helpers.service_cells import CellService

SOURCE = ROOT / "src" / "discreet_service"
HINTS = tomllib.loads((SOURCE / "problems.toml").read_text("utf-8"))


def german(error: DiscreetError) -> str:
    (told,) = problem_document(error, "1f", "de")["problems"]
    return str(told["hint"])


@for_all_rows("code", PROBLEM_TYPES)
def test_every_code_has_hints_in_both_languages(code: str) -> None:
    english, other = PROBLEM_TYPES[code].hint_en, PROBLEM_TYPES[code].hint_de
    assert english != other
    assert english[0].islower() or english.startswith("GET ")
    error = ServiceError("no", code=code, hint="words that nobody has put into German so far")
    assert german(error) == other
    (told,) = problem_document(error, "1f")["problems"]
    assert told["hint"] == error.problems[0].hint


def test_german_hints_have_the_gaps_of_the_english_ones() -> None:
    for english, other in HINTS["said"].items():
        assert english.count("{}") == other.count("{}"), english
        assert english != other


@for_all_rows(
    ("english", "other"),
    [
        (nearest("sx", ["sex", "age"]), "ähnlichster Name: 'sex'"),
        (nearest("colour", ["sex", "age"]), "bekannt sind: sex, age"),
        ("formats: json, csv", "Formate: json, csv"),
        ("use 12 to 200 characters, such as several words",
         "12 bis 200 Zeichen wählen, zum Beispiel mehrere Wörter"),
        ("choose coarser levels", "gröbere Ebenen wählen"),
        ("Content-Type: application/toml", "Content-Type: application/toml"),
        ("outputFormat=json-stat2", "outputFormat=json-stat2"),
        ("", ""),
    ],
)  # fmt: skip
def test_what_is_said_precisely_stays_precise(english: str, other: str) -> None:
    assert hint_in("de", english, "invalid-query") == other
    assert hint_in("en", english, "invalid-query") == english


def test_names_in_hints_are_no_patterns() -> None:
    """Names that callers chose stand in hints: they are neither patterns nor places for others."""
    for name in ("{}", "{0.__class__}", "(.*)", "\\1", "a\nb"):
        assert hint_in("de", f"closest match: {name!r}", "not-found") == (
            f"ähnlichster Name: {name!r}"
        )


def test_errors_of_the_library_count_as_input() -> None:
    error = DiscreetError("the rule is unknown", code="rule", hint="see the reference of rules")
    assert german(error) == PROBLEM_TYPES["invalid-input"].hint_de


def test_what_is_in_the_table_is_said_somewhere() -> None:
    """A hint of the table that nobody gives is one that was worded anew and is not found."""
    said = {
        node.value
        for file in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    plain = {hint for hint in HINTS["said"] if "{}" not in hint}
    assert len(plain) > 80
    assert plain - said == set()


def test_callers_hear_the_language_they_ask_for(tmp_path) -> None:
    served = CellService.of(tmp_path)
    browser = AsgiBrowser(served.app())
    told = {
        language: browser.get("/api/v1/parameter-sets", headers={"Accept-Language": language})
        for language in ("de", "en", "fr")
    }
    hints = {each: answer.json()["problems"][0]["hint"] for each, answer in told.items()}
    served.service.close()
    assert hints["de"] == "einen Schlüssel senden: Authorization: Bearer dsc_…"
    assert hints["en"] == hints["fr"] == "send a key: Authorization: Bearer dsc_…"
