"""The review queue in the studio: pages tell and do what the library does, to each their part."""

import dataclasses
import html
import io
import re
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet_fire.queue import (
    OutputDecision,
    PartVerdict,
    Queue,
    QueueSettings,
    Submission,
    approve,
    decide,
    release,
    submit,
    view,
)
from discreet_fire.queue.decisions import links_if_held
from discreet_service.permissions import Grant, Principal
from discreet_service.studio.reviewed_outputs import ReviewSheet
from tests.helpers.asgi_browser import form_of
from tests.helpers.jobs_done import do_jobs
from tests.helpers.rows import for_all_rows
from tests.service.studio.conftest import GERMAN, HTML, plain

PROGRAM = """\
* <b>wages</b> & more
summarize wage
tabulate occupation
tabulate state occupation
tabulate state if age < 64
list pid if wage > 9000
"""
OTHERS = ("", "rita", "paul", "cora", "mira", "otto", "adam")


@pytest.fixture(scope="module")
def queues(readers: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, int]]:
    """The queue as it was, and with one more submission, whose number this gives."""
    # Persons that only these tests need.
    readers.add("ruth", Grant("researcher"), Grant("reviewer"))
    readers.add("ronja", Grant("researcher"))
    readers.add("stella", Grant("reviewer"))
    folder, place = tmp_path_factory.mktemp("queues"), readers.service.settings.reviews.queue
    shutil.copytree(place, folder / "before")
    number = handed_in(readers)
    shutil.copytree(place, folder / "after")
    yield folder, number
    put_queue(readers, folder / "before")


def put_queue(readers: Any, folder: Path) -> None:
    """A queue in place of the one of the service."""
    place = readers.service.settings.reviews.queue
    shutil.rmtree(place)
    shutil.copytree(folder, place)


@pytest.fixture(autouse=True)
def queue_as_it_was(readers: Any, queues: tuple[Path, int]) -> None:
    """Each submission is held against all before it: each test begins with the same ones."""
    put_queue(readers, queues[0] / "before")


@pytest.fixture
def number(readers: Any, queues: tuple[Path, int], queue_as_it_was: None) -> int:
    """A submission of the program, waiting for its reviewers."""
    put_queue(readers, queues[0] / "after")
    return queues[1]


def send(readers: Any, name: str, program: str | bytes = PROGRAM, **fields: Any) -> Any:
    """Hand in what the form of the page would send."""
    browser = readers.browser(name)
    text = browser.get("/submissions", headers=HTML).text
    data = {"data": "wages", **form_of(text, "/submissions"), **fields.pop("data_", {})}
    content = program if isinstance(program, bytes) else program.encode()
    files = fields.pop("files_", [("files", ("wages.do", content, "text/plain"))])
    return browser.post("/submissions", data=data | fields, files=files, headers=HTML)


_VERA = Principal(name="vera", kind="session", grants=())
_UNIQUE = iter(range(10**6))


def handed_in(readers: Any, name: str = "rosa", program: str = PROGRAM) -> int:
    """A submission; a remark makes it one that was not there before."""
    answer = send(readers, name, f"{program}* {next(_UNIQUE)}\n")
    assert answer.status_code == 303, answer.text
    assert do_jobs(readers.service) == []
    own = readers.service.reviews.own(Principal(name=name, kind="session", grants=()))
    return int(own[0].number)


def post(readers: Any, name: str, number: int, kind: str, start: int = 1, **fields: Any) -> Any:
    """Send a form of the page of a submission."""
    browser, action = readers.browser(name), f"/reviews/{number}/{kind}"
    text = browser.get(f"/reviews/{number}?from={start}", headers=HTML).text
    data = {**form_of(text, f"/reviews/{number}/decide"), "reason": "seen", **fields}
    return browser.post(action, data=data, headers=HTML)


def outputs_of(page: str) -> list[str]:
    """The texts of the outputs that a page shows."""
    found = re.findall(r"<h4>For release</h4><pre[^>]*>(.*?)</pre>", page, re.DOTALL)
    return [html.unescape(re.sub(r"</?mark>", "", one)) for one in found]


@pytest.fixture
def directly(readers: Any, tmp_path: Path) -> Iterator[tuple[Queue, int]]:
    """The same program by the library itself, in a queue of its own."""
    (tmp_path / "wages.do").write_text(PROGRAM)
    rules = QueueSettings(persons=("vera", "viktor"), approvals=2, clean_approvals=2, rate=0.0)
    reviews = readers.service.settings.reviews
    with Queue.create(tmp_path / "queue", rules) as queue:
        handed = Submission(
            program=tmp_path / "wages.do",
            researcher="rosa",
            data=(reviews.folder / "wages.csv",),
            unit="pid",
        )
        yield queue, submit(queue, handed)


def test_page_tells_what_the_library_finds(
    readers: Any, number: int, directly: tuple[Queue, int]
) -> None:
    text = readers.page(f"/reviews/{number}", "vera")
    queue, number = directly
    seen = view(queue, number)
    home = queue.store(queue.told(number, "token")) / "outputs"
    parts = seen.row.standing.parts
    assert outputs_of(text) == [one.text(home).rstrip("\n") for one in parts]
    words = plain(text)
    assert len(seen.findings) > 5
    for one in seen.findings:
        # A difference is told from what is out already: there is none in a queue of its own.
        assert one.rule == "difference" or " ".join(one.what.split()) in words, one
    assert "differs from" in words
    for number_, sentences in links_if_held(queue, number, seen.row.standing).items():
        part = text[text.index(f'id="o{number_}"') :].split("</section>")[0]
        assert [each for each in sentences if each not in plain(part)] == []
    assert all(one.sha256 in text for one in parts)
    # Lines of the program: what ran, and what was handed in in its place.
    lines = re.findall(r"<del>.*?</span>(.*?)</del><code>(.*?)</code>", text)
    assert ("tabulate state if age &lt; 64", "fdztabulate state if age &lt; 64") in lines
    assert "&lt;b&gt;wages&lt;/b&gt;" in text
    assert "<b>wages" not in text


def test_from_submission_to_release(readers: Any, number: int, directly: tuple[Queue, int]) -> None:
    page = f"/reviews/{number}"
    # Output 4 is given away by output 3: nothing is decided, and nothing that was written is lost.
    some = {"verdict-4": "hold", "comment-4": "one firm & more", "verdict-3": "accept"}
    answer = post(readers, "vera", number, "decide", rest="on", **some)
    assert answer.status_code == 409
    assert "output 3 may use the same variables as the withheld output 4" in plain(answer.text)
    assert 'value="one firm &amp; more"' in answer.text
    assert re.search(r'name="verdict-4" value="hold" checked', answer.text)
    assert 'name="act" value="approve"' not in readers.page(page, "vera")
    # With exceptions that say why it is taken.
    some |= {"verdict-3": "exception", "comment-3": "in the yearbook"}
    answer = post(readers, "vera", number, "decide", rest="on", **some)
    assert (answer.status_code, answer.headers["location"]) == (303, f"{page}?from=1")
    assert post(readers, "vera", number, "decide", **some).status_code == 422  # nothing new
    for name in ("vera", "viktor"):
        assert 'name="act" value="release"' not in readers.page(page, name)
        answer = post(readers, name, number, "act", act="approve")
        assert answer.status_code == 303, plain(answer.text)
        if name == "vera":
            text = readers.page(page, "vera")
            assert "You have approved this submission. Another reviewer must" in text
            assert 'name="act" value="approve"' not in text
    assert post(readers, "viktor", number, "act", act="release").status_code == 303
    assert "Released. The researcher can download these files." in readers.page(page, "vera")
    own = readers.page(f"/submissions/{number}", "rosa")
    assert "one firm &amp; more" in own
    assert "accepted as an exception" in own
    assert "vera" not in own
    assert "viktor" not in own
    sent = readers.browser("rosa").get(f"/submissions/{number}/files/wages.log")
    assert "attachment" in sent.headers["content-disposition"]
    assert _figures_of(sent.content) == _figures_of(_released_directly(*directly))
    assert b"(held back)" in sent.content


def test_one_line_per_pair_of_tables_that_differ(readers: Any, number: int) -> None:
    """Each pair once, named by command and place, with its cells behind it; nothing is left out."""
    report = readers.service.reviews.report(_VERA, number)
    sheet = ReviewSheet(report)
    now, noted = sheet.differences()
    pairs = sheet.pairs()
    assert pairs
    assert len({pair.tables for pair in pairs}) == len(pairs)
    kept = [sentence for pair in pairs for sentence in pair.sentences]
    for sentence in (*now, *noted):
        assert any(one.startswith(sentence) for one in kept)
    text = readers.page(f"/reviews/{number}", "vera")
    part = text[text.index('id="pairs"') : text.index('id="outputs"')]
    assert part.count("<details") == len(pairs)
    first = pairs[0].tables[0]
    assert first.submission == 1
    assert f"{first.command} (submission 1, line {first.line})" in plain(part)


def test_parts_are_named_by_their_commands(readers: Any, number: int) -> None:
    text = readers.page(f"/reviews/{number}", "vera")
    named = re.findall(r'<h3 id="t\d+"><code>(.*?)</code>', text)
    assert named[:3] == ["summarize wage", "tabulate occupation", "tabulate state occupation"]
    assert "fdztabulate occupation</code> <small>" not in text
    assert re.search(r'<a href="#o2">tabulate occupation</a>, line \d+: ', text)


def test_what_has_no_findings_is_accepted_without_a_reason(readers: Any) -> None:
    """By one act, and only there: elsewhere a reason is needed as before."""
    clean = handed_in(readers, program="summarize age\n")
    page = f"/reviews/{clean}"
    assert "Nothing was found. No reason is needed to accept." in plain(readers.page(page, "vera"))
    answer = post(readers, "vera", clean, "act", act="accept", reason="")
    assert answer.status_code == 303, answer.text
    view = readers.service.reviews.report(_VERA, clean).view
    assert [one.verdict.value for one in view.row.standing.decisions.values()] == ["accept"]
    assert list(view.row.standing.approvals) == ["vera"]
    assert {one.reason for one in view.history if one.person == "vera"} == {"nothing was found"}
    assert post(readers, "viktor", clean, "act", act="approve", reason="").status_code == 303
    # To withhold it, or to send it back, says why.
    other = handed_in(readers, program="summarize sex\n")
    held = {"verdict-1": "hold", "comment-1": "not now", "reason": ""}
    assert post(readers, "vera", other, "decide", **held).status_code == 422
    assert post(readers, "vera", other, "act", act="reject", reason="").status_code == 422


def test_findings_need_a_reason(readers: Any, number: int) -> None:
    assert 'value="accept">' not in readers.page(f"/reviews/{number}", "vera").split('id="bar"')[1]
    assert post(readers, "vera", number, "decide", rest="on", reason="").status_code == 422
    assert post(readers, "vera", number, "act", act="accept", reason="").status_code == 422


def test_differences_are_accepted_by_name_or_not_at_all(readers: Any, number: int) -> None:
    assert post(readers, "vera", number, "decide", rest="on").status_code == 303
    answer = post(readers, "vera", number, "act", act="approve")
    assert answer.status_code == 409
    assert "state = 3 by fewer units than the minimum, released as 1" in plain(answer.text)
    assert 'name="despite"' in answer.text
    assert post(readers, "vera", number, "act", act="approve", despite="on").status_code == 303
    standing = readers.service.reviews.report(_VERA, number).view.row.standing
    assert "vera" in standing.approvals
    assert len(standing.approvals["vera"]) > 0


def _released_directly(queue: Queue, number: int) -> bytes:
    """The same decisions by the library."""
    standing = view(queue, number).row.standing
    made = {
        one.number: OutputDecision(verdict=PartVerdict.accept) for one in standing.parts
    } | {
        4: OutputDecision(verdict=PartVerdict.hold, comment="one firm & more"),
        3: OutputDecision(verdict=PartVerdict.exception, comment="in the yearbook"),
    }  # fmt: skip
    more = {"reason": "seen", "version": standing.version}
    done = decide(queue, number, made, person="vera", **more)
    for name in ("vera", "viktor"):
        done = approve(queue, number, person=name, reason="seen", version=done.version)
    target = release(queue, number, person="viktor", reason="seen", version=done.version)
    return (target / "wages.log").read_bytes()


def _figures_of(log: bytes) -> list[bytes]:
    """All lines but the one that names the program by its digest."""
    return [line for line in log.splitlines() if not line.startswith(b". * program ")]


def _figures(readers: Any, number: int) -> list[str]:
    """Figures of a log that cannot be met by chance."""
    report = readers.service.reviews.report(_VERA, number)
    found = re.findall(r"(?<![\w.])\d{3,}\.\d{3,}(?![\w.])", report.log)
    assert len(found) >= 2
    return found


def test_researchers_learn_nothing_before_the_release(readers: Any, number: int) -> None:
    secret = _figures(readers, number)
    hold = {"verdict-1": "hold", "comment-1": "only for reviewers until it is over"}
    post(readers, "vera", number, "decide", **hold)
    for path in ("/submissions", f"/submissions/{number}"):
        text = readers.page(path, "rosa")
        assert f"/submissions/{number}" in text or f"Submission {number}" in text
        for word in (*secret, "only for reviewers", "vera", "linked", "differ", "too few"):
            assert not re.search(rf"\b{re.escape(word)}\b", text), (path, word)
    assert readers.browser("rosa").get(f"/submissions/{number}/files/wages.log").status_code == 404
    for path in (f"/reviews/{number}", f"/reviews/{number}/log", f"/reviews/{number}/files/0"):
        for name in ("rosa", *OTHERS):
            answer = readers.browser(name).get(path, headers=HTML)
            assert answer.status_code == (403 if name else 401), (path, name)
            assert not [one for one in secret if one in answer.text]
    # Others have no such submission, and are not told that there is one.
    listed = readers.page("/submissions", "ronja")
    assert f"/submissions/{number}" not in listed
    assert f"Submission {number}" not in plain(listed)
    readers.page(f"/submissions/{number}", "ronja", 404)


def test_nobody_reviews_what_they_handed_in(readers: Any) -> None:
    number = handed_in(readers, "ruth")
    assert f"/reviews/{number}" in readers.page("/reviews?state=all", "vera")
    assert f"/reviews/{number}" not in readers.page("/reviews?state=all", "ruth")
    for path in ("", "/log", "/files/0"):
        readers.page(f"/reviews/{number}{path}", "ruth", 403)
    for act in ("decide", "act"):
        fields = {"version": "2", "reason": "mine", "act": "approve", "verdict-1": "accept"}
        assert readers.post(f"/reviews/{number}/{act}", fields, "ruth").status_code == 403


def test_whoever_is_not_named_reads_and_does_not_act(readers: Any, number: int) -> None:
    text = readers.page(f"/reviews/{number}", "stella")
    assert "You are not a reviewer of this queue. You can read, but not" in text
    assert 'name="act"' not in text
    assert 'name="verdict-1"' not in text
    answer = post(readers, "vera", number, "act", act="reject", csrf="x")
    assert answer.status_code == 403
    fields = {"reason": "no", "version": "9", "act": "reject"}
    sent = readers.post(f"/reviews/{number}/act", fields, "stella")
    assert sent.status_code == 403
    assert "waiting" in readers.page(f"/reviews/{number}", "vera")


def test_a_colleague_was_faster(readers: Any, number: int) -> None:
    seen = form_of(readers.page(f"/reviews/{number}", "viktor"), f"/reviews/{number}/decide")
    assert post(readers, "vera", number, "decide", rest="on").status_code == 303
    fields = {**seen, "reason": "mine", "verdict-1": "exception", "comment-1": "kept as written"}
    answer = readers.browser("viktor").post(f"/reviews/{number}/decide", data=fields, headers=HTML)
    assert answer.status_code == 412
    assert "kept as written" in answer.text
    assert "the submission changed since your last view" in plain(answer.text)


@pytest.mark.parametrize("act", ["change", "reject"])
def test_what_is_sent_back_says_why(readers: Any, number: int, act: str) -> None:
    answer = post(readers, "vera", number, "act", act=act, reason="group the ages, please")
    assert answer.status_code == 303
    assert "This submission is closed." in readers.page(f"/reviews/{number}", "viktor")
    own = readers.page(f"/submissions/{number}", "rosa")
    assert "group the ages, please" in own
    assert "whole submission" in own


def test_the_queue_is_filtered(readers: Any, number: int) -> None:
    link = f'href="/reviews/{number}"'

    def shown(name: str, **asked: str) -> bool:
        query = "&".join(f"{key}={value}" for key, value in asked.items())
        return link in readers.page(f"/reviews?{query}", name)

    assert shown("vera")
    assert shown("vera", whose="waiting")
    assert shown("vera", whose="others")
    assert not shown("vera", whose="mine")
    assert not shown("vera", state="released")
    post(readers, "vera", number, "decide", rest="on")
    post(readers, "vera", number, "act", act="approve", despite="on")
    assert shown("vera", whose="mine")
    assert not shown("vera", whose="waiting")
    assert shown("viktor", whose="waiting", state="waiting")
    post(readers, "viktor", number, "act", act="reject")
    assert not shown("vera")
    assert shown("vera", state="rejected")
    readers.page("/reviews?state=lost", "vera", 422)


def test_many_outputs_are_decided_page_by_page(readers: Any) -> None:
    """Pages stay small, and what is decided on one of them leaves the others alone."""
    lines = "".join(f"summarize wage if age > {18 + n}\n" for n in range(21))
    number = handed_in(readers, program=lines)
    for start, here, there in ((1, (1, 20), 21), (21, (21,), 1)):
        text = readers.page(f"/reviews/{number}?from={start}", "vera")
        assert len(text.encode()) < 115_000
        assert all(f'id="o{one}"' in text for one in here)
        assert f'id="o{there}"' not in text
    answer = post(readers, "vera", number, "decide", 21, **{"verdict-21": "accept"})
    assert answer.headers["location"].endswith("?from=21")
    assert "20" in plain(readers.page(f"/reviews/{number}", "vera")).split("Undecided outputs")[1]


def test_a_run_elsewhere_comes_with_its_log(readers: Any) -> None:
    log = b". tabulate occupation\n\n" + (
        b" occupation |      Freq.     Percent        Cum.\n"
        b"------------+-----------------------------------\n"
        b"          1 |        300       50.00       50.00\n"
        b"          2 |        298       49.67       99.67\n"
        b"          3 |          2        0.33      100.00\n"
        b"------------+-----------------------------------\n"
        b"      Total |        600      100.00\n"
    )
    files = [
        ("folder", ("work/main.do", b"tabulate occupation\n", "text/plain")),
        ("folder", ("work/more/other.do", b"count\n", "text/plain")),
        ("log", ("main.log", log, "text/plain")),
    ]
    both = send(readers, "rosa", files_=files, main="main.do")
    assert both.status_code == 422
    assert "either the data" in plain(both.text)
    answer = send(readers, "rosa", files_=files, main="main.do", data_={"data": ""})
    assert answer.status_code == 303, plain(answer.text)
    assert "main.do" in readers.page("/submissions", "rosa")
    assert do_jobs(readers.service) == []
    own = readers.service.reviews.own(Principal(name="rosa", kind="session", grants=()))
    text = readers.page(f"/reviews/{own[0].number}", "vera")
    assert "elsewhere; log as submitted" in text
    assert "more/other.do" in text
    assert re.search(r'<li class="cut"><code>\s+3 \|\s+2\s+0.33\s+100.00</code>', text)
    sent = readers.browser("vera").get(f"/reviews/{own[0].number}/log")
    assert sent.content == log
    assert sent.headers["cache-control"] == "no-store"


def _zip(**files: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


@for_all_rows(
    ("files", "fields", "said"),
    [
        ([], {}, "program is missing"),
        ([("a.csv", b"1,2")], {}, "no do-file in the archive"),
        ([("a.do", b"count"), ("b.do", b"count")], {}, "several do-files in the archive"),
        ([("../a.do", b"count")], {}, "an invalid file name"),
        ([(".DS_Store", b"x"), ("a.do", b"count")], {}, "an invalid file name"),
        ([("a.zip", _zip(**{"../a.do": b"count"}))], {}, "an invalid file name"),
        ([("a.do", b"x" * 5_000_001)], {}, "larger than the limit"),
        ([("a.do", b"count")], {"data": "taxes"}, "data not found"),
        (
            [("a.do", b"count")],
            {"data": ""},
            "give either the data of the run, or the log of a run elsewhere",
        ),
        ([("a.do", b"count")], {"project": "p" * 201}, "at most 200 characters"),
    ],
)
def test_what_is_not_taken_is_said_at_once(
    readers: Any, files: list[tuple[str, bytes]], fields: dict[str, str], said: str
) -> None:
    sent = [("files", (name, content, "text/plain")) for name, content in files]
    before = set(readers.service.job_inputs.folder.iterdir())
    answer = send(readers, "ronja", files_=sent or [("files", ("", b"", "text/plain"))], **fields)
    assert answer.status_code in (413, 422)
    assert said in plain(answer.text)
    assert set(readers.service.job_inputs.folder.iterdir()) == before


def test_what_fails_later_is_told_in_words_of_the_page(readers: Any) -> None:
    for _ in range(2):
        assert send(readers, "ronja", "tabulate sex\n").status_code == 303
    do_jobs(readers.service)
    text = readers.page("/submissions", "ronja")
    assert "Already submitted" in text
    assert text.count('class="tag problem"') == 1


def test_decisions_that_are_none(readers: Any) -> None:
    browser, action = readers.browser("vera"), "/reviews/2/decide"
    form = form_of(browser.get("/reviews/2", headers=HTML).text, action)
    for fields, said in (
        ({}, "no new decisions"),
        ({"verdict-1": "maybe"}, "unknown decision"),
        ({"verdict-1": "hold"}, "needs a comment"),
        ({"verdict-99": "accept"}, "output 99 not found"),
        ({"verdict-1": "accept", "reason": " "}, "a reason is required"),
        ({"verdict-1": "hold", "comment-1": "x" * 2_001}, ""),
    ):
        sent = {**form, "reason": "seen", **fields}
        answer = browser.post(action, data=sent, headers=HTML)
        assert answer.status_code == 422
        assert said in plain(answer.text)
        assert "none_decided" not in answer.text


def test_what_was_changed_on_the_disk_is_not_decided_on(readers: Any) -> None:
    number = handed_in(readers, program="tabulate state\n")
    with Queue.open(readers.service.settings.reviews.queue) as queue:
        path = queue.store(queue.told(number, "token")) / "outputs" / "wages.log"
    path.write_text("another text")
    text = readers.page(f"/reviews/{number}", "vera")
    assert "wages.log was changed" in text
    assert "another text" not in text
    for word in ('value="approve"', 'name="verdict-1"'):
        assert word not in text
    assert post(readers, "vera", number, "decide", rest="on").status_code == 503
    assert post(readers, "vera", number, "act", act="reject").status_code == 303


def test_pages_without_a_queue_or_a_submission(readers: Any) -> None:
    readers.add("renate", Grant("researcher"))
    text = readers.page("/submissions", "renate")
    assert "No submissions yet. A first program" in text
    assert "tabulate state" in text
    assert "Example: 2: wages.do, rosa, waiting, 1 to review, 0 of 2" in readers.page(
        "/reviews?state=releasing", "vera"
    )
    service = readers.service
    kept = service.settings
    service.settings = dataclasses.replace(kept, reviews=None)
    try:
        assert "queue init" in readers.page("/reviews", "vera")
        assert "This office accepts no submissions here." in readers.page("/submissions", "rosa")
    finally:
        service.settings = kept


def test_pages_in_german(readers: Any, number: int) -> None:
    text = plain(readers.page(f"/reviews/{number}", "vera", **GERMAN))
    said = ("unterscheidet sich von Zeile", "verwendet vielleicht dieselben Variablen")
    for word in ("Befunde nach Ursache", "zurückhalten", "Ausnahme", "Protokoll", *said):
        assert word in text, word
    # All sentences about links and differences are in German.
    assert "the withheld output" not in text
    assert "differs from" not in text
    assert "Zur Prüfung einreichen" in readers.page("/submissions", "rosa", **GERMAN)


def test_reviewers_see_the_figures_behind_the_rules_and_researchers_do_not(readers: Any) -> None:
    number = handed_in(readers, program="tabulate state occupation\nsummarize wage if age > 63\n")
    rows = re.compile(r'<details class="figures">.*?</details>', re.DOTALL)
    found = rows.findall(readers.page(f"/reviews/{number}", "vera"))
    assert found
    cells = re.findall(r'<td class="number">([^<]+)</td>', "".join(found))
    few = [int(one) for one in cells[::3] if one.isdecimal()]
    assert few
    assert min(few) < 3
    assert "zu wenige Fälle" in "".join(
        rows.findall(readers.page(f"/reviews/{number}", "vera", **GERMAN))
    )
    assert not rows.findall(readers.page(f"/submissions/{number}", "rosa"))
    # Not in what programs fetch either: it stays on the page.
    answer = readers.browser("vera").get(f"/api/v1/submissions/{number}")
    assert '"few"' not in answer.text
    assert "dominance" not in answer.text


def test_a_question_is_answered_before_anybody_approves(readers: Any, number: int) -> None:
    assert post(readers, "vera", number, "decide", rest="on").status_code == 303
    note = {"act": "say", "reason": "colleagues only: look at output 2"}
    assert post(readers, "vera", number, "act", **note).status_code == 303
    asked = {"act": "ask", "reason": "is state that of work or home?"}
    assert post(readers, "vera", number, "act", **asked).status_code == 303
    text = readers.page(f"/reviews/{number}", "viktor")
    assert "Open question to the researcher: is state that of work" in text
    assert 'value="approve"' not in text
    answer = post(readers, "viktor", number, "act", act="approve", despite="on")
    assert answer.status_code == 409
    own = f"/submissions/{number}"
    assert f'href="{own}#talk"' in readers.page("/submissions", "rosa")
    page = readers.page(own, "rosa")
    assert "is state that of work or home?" in page
    for word in ("colleagues only", "vera"):
        assert word not in page
    browser = readers.browser("rosa")
    fields = form_of(page, f"{own}/answer")
    empty = browser.post(f"{own}/answer", data={**fields, "text": " "}, headers=HTML)
    assert (empty.status_code, "a reason is required" in empty.text) == (422, True)
    sent = browser.post(f"{own}/answer", data={**fields, "text": "of home"}, headers=HTML)
    assert sent.status_code == 303
    assert f"{own}/answer" not in readers.page(own, "rosa")
    # Nothing was asked any more, and others have nothing to answer.
    again = browser.post(f"{own}/answer", data={**fields, "text": "of home"}, headers=HTML)
    assert again.status_code == 409
    assert readers.post(f"{own}/answer", {"text": "no"}, "ronja").status_code == 404
    assert "of home" in readers.page(f"/reviews/{number}", "viktor")
    answer = post(readers, "viktor", number, "act", act="approve", despite="on")
    assert answer.status_code == 303


def test_what_was_sent_back_is_replaced(readers: Any, number: int) -> None:
    sent = {"act": "subject", "reason": "leave out the ages"}
    assert post(readers, "vera", number, "act", **sent).status_code == 303
    own = readers.page(f"/submissions/{number}", "rosa")
    assert "conditionally approved" in own
    assert "leave out the ages" in own
    link = f"/submissions?replaces={number}"
    assert f'href="{link}#new-title"' in own
    assert f'<option value="{number}" selected>' in readers.page(link, "rosa")
    answer = send(readers, "rosa", "tabulate occupation\n* changed\n", replaces=str(number))
    assert answer.status_code == 303, plain(answer.text)
    assert do_jobs(readers.service) == []
    later = readers.service.reviews.own(Principal(name="rosa", kind="session", grants=()))[0]
    words = plain(readers.page(f"/reviews/{later.number}", "vera"))
    assert f"it replaces submission {number}, subject: leave out the ages" in words
    # What waits is not replaced, and that is said before it runs.
    early = send(readers, "rosa", "count\n", replaces=str(later.number))
    assert early.status_code == 409
    assert "only returned submissions can be replaced" in plain(early.text)
    # Of what others handed in nobody is told that there is any.
    foreign = send(readers, "ronja", "count\n", replaces=str(number))
    assert foreign.status_code == 404
    assert send(readers, "ronja", "count\n", replaces="x").status_code == 422
