"""Commands on the review queue: ``discreet fire submit`` and ``discreet fire queue …``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from discreet.cli import FAILURE, Json, command, group, show

if TYPE_CHECKING:
    from discreet_fire.queue import QueueView

app = group("Manage the review queue: submissions, decisions, releases. CONFIDENTIAL.")

Folder = Annotated[Path, typer.Option("--queue", help="Folder of the review queue.")]
Number = Annotated[int, typer.Argument(help="Number of the submission.", min=1)]
Person = Annotated[str, typer.Option(help="Reviewer, one of the persons of the queue.")]
Reason = Annotated[str, typer.Option(help="Reason (logged).")]
Language = Annotated[
    Literal["en", "de"] | None,
    typer.Option(help="Language of the log (default: the language of the rules)."),
]
Told = Annotated[Literal["en", "de"], typer.Option("--language", help="Language of messages.")]
Version = Annotated[int, typer.Option(help="Version of the submission, as shown by `show`.", min=1)]


@command(app, "init", example="discreet fire queue init q --person Anna --person Ben --four-eyes")
def init(
    folder: Annotated[Path, typer.Argument(help="New folder.")],
    person: Annotated[list[str], typer.Option(help="Reviewer; repeatable.")],
    four_eyes: Annotated[
        bool, typer.Option("--four-eyes", help="Require two approvals for release.")
    ] = False,
    clean_approvals: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=2,
            help="Number of approvals of clean outputs that are not drawn for control.",
        ),
    ] = None,
    rate: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of clean outputs drawn for control.")
    ] = 0.1,
    minimum: Annotated[
        int,
        typer.Option(
            help="Smallest number of units behind a value, and of a difference of two values."
        ),
    ] = 3,
    as_json: Json = False,
) -> None:
    """Make a new review queue."""
    from discreet_fire.queue import Queue, QueueSettings

    approvals = 2 if four_eyes else 1
    settings = QueueSettings(
        persons=tuple(person),
        approvals=approvals,
        clean_approvals=approvals if clean_approvals is None else clean_approvals,
        rate=rate,
        minimum=minimum,
    )
    Queue.create(folder, settings).close()
    text = f"The new queue is in {folder}. Protect it and back it up."
    show(text, {"queue": str(folder), **settings.to_dict()}, as_json=as_json)


def submit(
    program: Annotated[Path, typer.Argument(help="Do-file, or folder with it.")],
    queue: Folder,
    researcher: Annotated[str, typer.Option(help="Researcher.")],
    project: Annotated[str, typer.Option(help="Project.")] = "",
    main: Annotated[str | None, typer.Option(help="Main do-file of a folder.")] = None,
    data: Annotated[
        list[Path] | None, typer.Option(help="Microdata of the run. CONFIDENTIAL.")
    ] = None,
    log: Annotated[Path | None, typer.Option(help="Log of a run elsewhere. CONFIDENTIAL.")] = None,
    entity: Annotated[
        str | None,
        typer.Option("--entity", "--unit", help="Identifier variable of the person or firm."),
    ] = None,
    universe: Annotated[
        list[Path] | None,
        typer.Option(help="Identifiers of the units of an output: .csv, .parquet. CONFIDENTIAL."),
    ] = None,
    policy: Annotated[Path | None, typer.Option(help="Your additions to the policy.")] = None,
    limits: Annotated[Path | None, typer.Option(help="TOML file of rules.")] = None,
    rules: Annotated[
        list[Path] | None, typer.Option(help="Your own rules for logs; repeatable.")
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(min=0.001, help="Time limit of the program in seconds.")
    ] = None,
    language: Language = None,
    replaces: Annotated[
        int | None, typer.Option(min=1, help="Number of the replaced submission.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Rewrite a do-file, run it, clean its log and queue it for review."""
    from discreet_fire.catalogue import Policy
    from discreet_fire.logs import CleaningRules
    from discreet_fire.queue import Submission, open_queue, view
    from discreet_fire.queue import submit as enter
    from discreet_fire.statistics import SafeLimits

    bounds = SafeLimits() if limits is None else SafeLimits.read(limits)
    cleaning = CleaningRules.read(*rules or ())
    if language is not None:
        bounds = replace(bounds, language=language)
        cleaning = replace(cleaning, language=language)
    handed = Submission(
        program=program,
        researcher=researcher,
        project=project,
        main=main,
        data=tuple(data or ()),
        log=log,
        universes=tuple(universe or ()),
        unit=entity,
        policy=None if policy is None else Policy.read(policy),
        limits=bounds,
        rules=cleaning,
        seconds=time_limit,
        replaces=replaces,
    )
    with open_queue(queue) as opened:
        number = enter(opened, handed)
        entry = view(opened, number)
    words_of = language or bounds.language
    words = _words(words_of)
    version = words["version"].format(n=entry.row.standing.version)
    text = f"{words['entered'].format(n=number)}\n{entry.row.line(words_of)}, {version}"
    if entry.row.standing.state.value == "approved":
        asked = f"--queue {queue} --version {entry.row.standing.version} --person … --reason …"
        text += f"\n{words['releasable']}: discreet fire queue release {number} {asked}"
    show(text, entry.to_dict(), as_json=as_json)


command(app, "submit", example="discreet fire queue submit a.do --log a.log --researcher Weber")(
    submit
)


def _add_list(name: str, doc: str, *, drawn: bool) -> None:
    """Add a command that lists submissions."""

    def rows_shown(
        queue: Folder,
        every: Annotated[bool, typer.Option("--all", help="Include closed submissions.")] = False,
        language: Told = "en",
        as_json: Json = False,
    ) -> None:
        from discreet_fire.queue import listed, open_queue

        with open_queue(queue) as opened:
            rows = listed(opened, every=every, drawn=drawn)
        text = "\n".join(row.line(language) for row in rows) or _words(language)["empty"]
        show(text, {"submissions": [row.to_dict() for row in rows]}, as_json=as_json)

    rows_shown.__doc__ = doc
    command(app, name, example=f"discreet fire queue {name} --queue q")(rows_shown)


_add_list(
    "list",
    "List submissions, the riskiest first (differences/errors/review/refused/info).",
    drawn=False,
)
_add_list("sample", "List clean outputs that were drawn for control by hand.", drawn=True)


@command(app, "show", example="discreet fire queue show 1 --queue q")
def show_submission(
    number: Number, queue: Folder, language: Told = "en", as_json: Json = False
) -> None:
    """Show a submission: findings, conflicts, outputs, history."""
    from discreet_fire.queue import open_queue, view

    with open_queue(queue) as opened:
        entry = view(opened, number)
    lines = [entry.row.line(language), *_view_lines(entry, language)]
    show("\n".join(lines), entry.to_dict(), as_json=as_json)


def _view_lines(entry: QueueView, language: str) -> Iterator[str]:
    from discreet.files import texts_of
    from discreet_fire.finding_words import finding_in, sentence_in

    words = _words(language)
    severities = texts_of("discreet_fire", "severities", language)
    events = texts_of("discreet_fire", "events", language)
    yield words["version"].format(n=entry.row.standing.version)
    if entry.row.standing.question:
        yield f"  {words['question'].format(text=entry.row.standing.question)}"
    for one in entry.findings:
        if one.severity.value != "info":
            told = finding_in(one, language)
            severity = severities[one.severity.value]
            yield f"  {one.file}:{one.line} {severity} [{one.rule}] {told.what}"
            if told.hint and one.severity.value != "refused":
                yield f"    {told.hint}"
    yield from (
        f"  {words['now'].format(text=sentence_in(one, language))}" for one in entry.conflicts
    )
    yield from (f"  {words['output'].format(path=path)}" for path in entry.outputs)
    yield from (f"  {_part_line(part, words)}" for part in entry.to_dict()["parts"])
    for event in entry.history:
        fields = {"at": event.at, "person": event.person, "reason": event.reason}
        yield f"  {words['event'].format(kind=events[event.kind], **fields)}"


def _words(language: str) -> Mapping[str, str]:
    from discreet.files import texts_of

    return texts_of("discreet_fire", "queue", language)


@command(app, "figures", example="discreet fire queue figures 1 --queue q")
def show_figures(
    number: Number, queue: Folder, language: Told = "en", as_json: Json = False
) -> None:
    """Show which rules outputs break, with p, k and frequencies. CONFIDENTIAL."""
    from discreet_fire.queue import confidential_figures, open_queue

    with open_queue(queue) as opened:
        figures = confidential_figures(opened, number)
    words = _words(language)
    lines = [
        words["figures"].format(
            line=one["line"], command=one["command"], place=fact["place"], rule=fact["rule"]
        )
        + "".join(
            f", {words.get(name, name)} {fact[name]:.4g}"
            for name in ("cases", "k", "p")
            if fact[name] is not None
        )
        + "".join(f"; {label}: {count}" for label, count in fact.get("frequencies", {}).items())
        for one in figures
        for fact in one["facts"]
    ]
    show("\n".join(lines) or words["unbroken"], {"outputs": figures}, as_json=as_json)


def _part_line(part: Mapping[str, Any], words: Mapping[str, str]) -> str:
    verdict = words[part["verdict"] or "open"]
    text = words["decided"].format(n=part["output"], verdict=verdict, command=part["command"])
    return f"{text} ({part['person']}: {part['comment']})" if part["comment"] else text


@command(
    app,
    "decide",
    example='discreet fire queue decide 1 --accept 1 --hold "2=one firm" --person Anna --version 2',
)
def decide_outputs(
    number: Number,
    queue: Folder,
    person: Person,
    version: Version,
    accept: Annotated[list[int] | None, typer.Option(help="Accepted output; repeatable.")] = None,
    hold: Annotated[
        list[str] | None,
        typer.Option(help="OUTPUT=COMMENT of a withheld output; repeatable."),
    ] = None,
    exception: Annotated[
        list[str] | None,
        typer.Option(help="OUTPUT=COMMENT of an accepted exception; repeatable."),
    ] = None,
    rest: Annotated[
        bool, typer.Option("--accept-rest", help="Accept all undecided outputs.")
    ] = False,
    reason: Reason = "decided output by output",
    language: Told = "en",
    as_json: Json = False,
) -> None:
    """Decide on outputs. Resets earlier approvals."""
    from discreet_fire.queue import OutputDecision, PartVerdict, decide, open_queue, view

    chosen = {at: OutputDecision(verdict=PartVerdict.accept) for at in accept or ()}
    for verdict, texts in ((PartVerdict.hold, hold), (PartVerdict.exception, exception)):
        for text in texts or ():
            at, _, comment = text.partition("=")
            if not at.strip().isdecimal():
                raise typer.BadParameter(f"write OUTPUT=COMMENT, not {text!r}")
            if int(at) in chosen:
                raise typer.BadParameter(f"output {int(at)} is given twice")
            chosen[int(at)] = OutputDecision(verdict=verdict, comment=comment)
    with open_queue(queue) as opened:
        if rest:
            before = view(opened, number).row.standing
            for part in before.parts:
                if part.number not in before.decisions:
                    chosen.setdefault(part.number, OutputDecision(verdict=PartVerdict.accept))
        standing = decide(opened, number, chosen, person=person, reason=reason, version=version)
    _show_standing(number, standing, language, as_json=as_json)


@command(
    app, "approve", example='discreet fire queue approve 1 --person Anna --reason "ok" --version 2'
)
def approve_submission(
    number: Number,
    queue: Folder,
    person: Person,
    reason: Reason,
    version: Version,
    despite_conflicts: Annotated[
        bool, typer.Option("--despite-conflicts", help="Accept differences from other tables.")
    ] = False,
    language: Told = "en",
    as_json: Json = False,
) -> None:
    """Approve a submission."""
    from discreet_fire.queue import approve, open_queue

    with open_queue(queue) as opened:
        standing = approve(
            opened,
            number,
            person=person,
            reason=reason,
            version=version,
            despite_conflicts=despite_conflicts,
        )
    _show_standing(number, standing, language, as_json=as_json)


def _add_decision(name: str, decide: str, reason: str, doc: str) -> None:
    """Add a command that ends a submission, of the function of the queue that does it."""

    def decided(
        number: Number,
        queue: Folder,
        person: Person,
        reason: Reason,
        version: Version,
        language: Told = "en",
        as_json: Json = False,
    ) -> None:
        import discreet_fire.queue as functions

        end = getattr(functions, decide)
        with functions.open_queue(queue) as opened:
            standing = end(opened, number, person=person, reason=reason, version=version)
        _show_standing(number, standing, language, as_json=as_json)

    decided.__doc__ = doc
    example = f'discreet fire queue {name} 1 --person Anna --reason "{reason}" --version 2'
    command(app, name, example=example)(decided)


_add_decision("reject", "reject", "no", "Reject a submission.")
_add_decision("change", "ask_for_change", "group ages", "Return a submission for changes.")
_add_decision(
    "subject", "approve_subject", "join two classes", "Approve a submission conditionally."
)

_add_decision(
    "permit", "permit", "read it", "Permit the run of a program; the researcher submits it again."
)

Words = Annotated[str, typer.Option("--text", help="Text (logged).")]


def _add_remark(name: str, text: str, doc: str) -> None:
    """Add a command by which an officer says something: the function of the queue of its name."""

    def said(
        number: Number,
        queue: Folder,
        person: Person,
        text: Words,
        language: Told = "en",
        as_json: Json = False,
    ) -> None:
        import discreet_fire.queue as functions

        with functions.open_queue(queue) as opened:
            standing = getattr(functions, name)(opened, number, person=person, text=text)
        _show_standing(number, standing, language, as_json=as_json)

    said.__doc__ = doc
    example = f'discreet fire queue {name} 1 --person Anna --text "{text}" --queue q'
    command(app, name, example=example)(said)


_add_remark("ask", "why?", "Send a question to the researcher. Blocks approvals until answered.")


@command(
    app, "answer", example='discreet fire queue answer 1 --researcher Weber --text "so" --queue q'
)
def answer_question(
    number: Number,
    queue: Folder,
    researcher: Annotated[str, typer.Option(help="Researcher of the submission.")],
    text: Words,
    language: Told = "en",
    as_json: Json = False,
) -> None:
    """Answer, as the researcher who handed it in."""
    from discreet_fire.queue import answer, open_queue

    with open_queue(queue) as opened:
        standing = answer(opened, number, researcher=researcher, text=text)
    _show_standing(number, standing, language, as_json=as_json)


_add_remark("say", "seen", "Add a note for other reviewers.")


def _show_standing(number: int, standing: Any, language: str, *, as_json: bool) -> None:
    from discreet.files import texts_of

    words = _words(language)
    state = texts_of("discreet_fire", "states", language)[standing.state.value]
    count = words["approvals"].format(n=len(standing.approvals), needed=standing.needed)
    text = words["standing"].format(n=number, state=state, count=count, version=standing.version)
    if standing.question:
        question = words["question"].format(text=standing.question)
        text += f"\n{question[0].upper()}{question[1:]}"
    plain = {"submission": number, "state": standing.state.value, "version": standing.version}
    plain |= {"question": standing.question}
    show(text, plain | {"approvals": sorted(standing.approvals)}, as_json=as_json)


@command(
    app, "release", example='discreet fire queue release 1 --person Ben --reason "ok" --version 3'
)
def release_submission(
    number: Number,
    queue: Folder,
    person: Person,
    reason: Reason,
    version: Version,
    out: Annotated[Path | None, typer.Option(help="Parent folder of the release.")] = None,
    language: Told = "en",
    as_json: Json = False,
) -> None:
    """Release the outputs of an approved submission."""
    from discreet_fire.queue import open_queue, release

    with open_queue(queue) as opened:
        folder = release(opened, number, person=person, reason=reason, version=version, out=out)
    text = _words(language)["freed"].format(n=number, folder=folder)
    show(text, {"submission": number, "released": str(folder)}, as_json=as_json)


@command(app, "person", example='discreet fire queue person Cem --by Anna --reason "new colleague"')
def person_added(
    name: Annotated[str, typer.Argument(help="New reviewer.")],
    queue: Folder,
    by: Annotated[str, typer.Option(help="Existing reviewer of the queue.")],
    reason: Reason,
    as_json: Json = False,
) -> None:
    """Let another person decide."""
    from discreet_fire.queue import open_queue

    with open_queue(queue) as opened:
        opened.add_person(name, by=by, reason=reason)
        persons = opened.settings.persons
    show(f"Persons: {', '.join(persons)}", {"persons": list(persons)}, as_json=as_json)


@command(app, "verify", example="discreet fire queue verify --queue q")
def verify_queue(
    queue: Folder,
    head: Annotated[
        str | None, typer.Option(help="Fingerprint noted earlier, which the log must contain.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check record, files and released folders against each other."""
    from discreet_fire.queue import head_of, open_queue, verify

    with open_queue(queue) as opened:
        problems, last = verify(opened, known_head=head), head_of(opened)
    text = "\n".join(problems) or f"The log is complete and unchanged. Last entry: {last}"
    show(text, {"problems": problems, "head": last}, as_json=as_json)
    if problems:
        raise typer.Exit(FAILURE)


def review(
    number: Number,
    queue: Folder,
    html: Annotated[Path, typer.Option("--html", help="File for the page. CONFIDENTIAL.")],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an existing file.")
    ] = False,
    language: Told = "en",
    as_json: Json = False,
) -> None:
    """Write a review page of a submission: program, outputs, findings, differences, checksums."""
    from discreet.files import write_text
    from discreet_fire.queue import open_queue
    from discreet_fire.review_report import review_page

    if html.is_dir() or (html.exists() and not overwrite):
        raise typer.BadParameter("the file exists already; add --overwrite", param_hint="--html")
    with open_queue(queue) as opened:
        text = review_page(opened, number, language=language)
    write_text(html, text, private=True)
    text = _words(language)["page"].format(n=number, path=html)
    show(text, {"html": str(html)}, as_json=as_json)
