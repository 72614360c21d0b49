"""The report of an officer: one page, accessible, in which nothing of others can run."""

import re
import stat
from html.parser import HTMLParser
from pathlib import Path

import pytest

import discreet_fire as fire
from discreet_fire.queue import Queue, Submission, approve, submit, view
from discreet_fire.review_report import review_page
from tests.conftest import without
from tests.helpers.command import run
from tests.helpers.queue_parts import new_queue
from tests.helpers.session_parts import people

PROGRAM = "summarize wage\ntabulate county sex\nlist wage in 1/5\ntabulate sex if pid < 3\n"
_VOID = {"meta", "img", "br"}


class _Read(HTMLParser):
    """A page whose elements are all closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def _handed_in(folder: Path, program: str = PROGRAM) -> Queue:
    queue = new_queue(folder, approvals=2, clean_approvals=2)
    people().write_csv(folder / "people.csv")
    (folder / "analysis.do").write_text(program)
    given = {"researcher": "Weber", "project": "P17", "data": (folder / "people.csv",)}
    submit(queue, Submission(program=folder / "analysis.do", unit="pid", **given))
    return queue


def _session(queue: Queue, folder: Path) -> int:
    session = fire.session("P17", data=people(), entity="pid")
    session.request_exception(session.crosstab("county", "sex"), "for <script>alert(1)</script>")
    session.hist("age", edges=[30, 40, 50])
    handed = session.finalise(folder / "handed")
    return submit(queue, Submission(program=handed, researcher="Weber", project="P17"))


def test_the_page_has_all_an_officer_needs(tmp_path: Path) -> None:
    with _handed_in(tmp_path) as queue:
        found = view(queue, 1)
        approve(
            queue,
            1,
            person="Anna",
            reason="seen it",
            version=found.row.standing.version,
            despite_conflicts=True,
        )
        page = review_page(queue, 1)
        digests = [digest for _, _, digest, _ in queue.files(1)]
    read = _Read(page)
    text = " ".join(read.words)
    for wanted in (
        "Submission 1: analysis.do", "Weber", "P17", "1 of 2", "fdztabulate county sex",
        "list wage in 1/5", "shows single records", "approved by Anna: seen it",
        "All files are unchanged since submission",
    ):  # fmt: skip
        assert wanted in text, wanted
    assert all(digest in text for digest in digests)
    hidden = [one for tag, one in read.seen if one.get("aria-label") == "suppressed"]
    # minimum and maximum, two small cells and what protects them
    assert len(hidden) >= 6
    assert f"with {len(hidden)} suppressed or missing numbers" in text


def test_the_page_needs_nothing_but_itself(tmp_path: Path) -> None:
    with _handed_in(tmp_path) as queue:
        number = _session(queue, tmp_path)
        pages = [review_page(queue, 1), review_page(queue, number)]
    for page in pages:
        read = _Read(page)
        assert not {tag for tag, _ in read.seen} & {"script", "link", "iframe", "form", "object"}
        sources = [one["src"] for tag, one in read.seen if "src" in one]
        assert all(str(one).startswith("data:image/svg+xml;base64,") for one in sources)
        places = [str(one["href"]) for _, one in read.seen if "href" in one]
        assert all(re.fullmatch(r"#[\w-]+", one) for one in places)
        names = [one["id"] for _, one in read.seen if "id" in one]
        assert len(set(names)) == len(names)
        assert {one[1:] for one in places} <= set(names)
    assert len(sources) == 1


def test_what_a_researcher_wrote_is_text(tmp_path: Path) -> None:
    program = 'tabulate sex\n* <script>alert(1)</script> "><img src=x onerror=alert(2)>\n'
    with _handed_in(tmp_path, program) as queue:
        number = _session(queue, tmp_path)
        one, other = review_page(queue, 1), review_page(queue, number)
    assert "<script" not in one + other
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in one
    assert "for &lt;script&gt;" in other
    _Read(one), _Read(other)


def test_a_changed_file_is_told(tmp_path: Path) -> None:
    with _handed_in(tmp_path) as queue:
        (output,) = view(queue, 1).outputs
        output.write_text(output.read_text().replace("Total", "Sum  "))
        assert "Changed since submission" in review_page(queue, 1)


def test_counts_of_a_session_stand_in_it(tmp_path: Path) -> None:
    with new_queue(tmp_path) as queue:
        number = _session(queue, tmp_path)
        page = review_page(queue, number)
        assert "cases behind the smallest shown count" in page
        evidence = queue.store(queue.told(number, "token")) / "program" / "evidence.json"
        evidence.write_text("{")
        assert "cannot be read" in review_page(queue, number)


def test_the_page_in_german(tmp_path: Path) -> None:
    with _handed_in(tmp_path) as queue:
        number = _session(queue, tmp_path)
        one, other = (review_page(queue, at, language="de") for at in (1, number))
    assert '<html lang="de">' in one
    text = " ".join(_Read(one).words)
    for wanted in (
        "Einreichung 1: analysis.do", "Befunde nach Ursache", "list: zeigt einzelne Datensätze",
        "gesperrten oder fehlenden Zahlen", "eingereicht von Weber: submitted",
    ):  # fmt: skip
        assert wanted in text, wanted
    said = [
        word
        for word in _Read(one).words + _Read(other).words
        if " shows " in word or " is " in word
    ]
    assert said == []


def test_the_command_writes_a_private_page(tmp_path: Path) -> None:
    _handed_in(tmp_path).close()
    given = ["fire", "review", "1", "--queue", str(tmp_path / "q"), "--html"]
    out = tmp_path / "review.html"
    assert run(*given, out).exit_code == 0
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    again = run(*given, out)
    assert again.exit_code == 2
    assert "add --overwrite" in again.output
    assert run(*given, out, "--overwrite").exit_code == 0


@pytest.mark.browser
def test_the_page_is_accessible_and_loads_nothing(tmp_path: Path) -> None:
    from axe_playwright_python.sync_playwright import Axe
    from playwright.sync_api import sync_playwright

    chromium = Path("/usr/bin/chromium")
    if not chromium.exists():
        without("Chromium is not there")
    with _handed_in(tmp_path) as queue:
        number = _session(queue, tmp_path)
        pages = [review_page(queue, 1), review_page(queue, number)]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for at, text in enumerate(pages):
            path = tmp_path / f"{at}.html"
            path.write_text(text)
            page = browser.new_page(viewport={"width": 400, "height": 800})
            said: list[str] = []
            asked: list[str] = []
            page.on("console", lambda message, said=said: said.append(message.text))
            page.on("request", lambda request, asked=asked: asked.append(request.url))
            page.goto(path.as_uri())
            assert [one for one in asked if not one.startswith("data:")] == [path.as_uri()]
            assert Axe().run(page).response["violations"] == []
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= 400
            assert said == []
        browser.close()
