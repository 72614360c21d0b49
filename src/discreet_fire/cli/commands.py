"""Commands of output checking: ``discreet fire …``, on do-files, logs, microdata and the queue.

In: the words of a command. Out: checked programs, cleaned logs, the rules of a policy, the log of a
do-file that was run without Stata; submissions, decisions and releases of a review queue. Logs,
microdata and queues are CONFIDENTIAL.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from discreet.cli import FAILURE, WRONG_INPUT, Json, command, group, show
from discreet.files import texts_of
from discreet.plugins import plugin, plugins
from discreet_fire.cli import Folder, Number

if TYPE_CHECKING:
    from discreet_fire.queue import QueueView

#: Where figures for officers go.
Confidential = Annotated[
    Path | None, typer.Option(help="File for the list of broken rules with values. CONFIDENTIAL.")
]
Key = Annotated[
    Path | None,
    typer.Option(help="Secret key file that signs logs of runs (default: a key of your account)."),
]
OutputLanguage = Annotated[
    Literal["en", "de"] | None,
    typer.Option(
        "--language", help="Language of logs and messages (default: the language of the rules)."
    ),
]
Limits = Annotated[
    Path | None, typer.Option(help="TOML file of rules, readable by the server only.")
]
Entity = Annotated[
    str | None,
    typer.Option("--entity", "--unit", help="Identifier variable of the person or firm."),
]
Seconds = Annotated[
    float | None, typer.Option(min=0.001, help="Time limit of the program in seconds.")
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace files written by other programs.")
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Exit with code 1 if anything needs review.")
]


def run(
    file: Annotated[Path, typer.Argument(help="Do-file.")],
    data: Annotated[
        list[Path] | None,
        typer.Option(help="Microdata: .dta, .csv or .parquet; repeatable. CONFIDENTIAL."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the log (default: the folder of the do-file).")
    ] = None,
    limits: Limits = None,
    entity: Entity = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of random numbers.")] = 0,
    time_limit: Seconds = None,
    confidential: Confidential = None,
    overwrite: Overwrite = False,
    key: Key = None,
    language: OutputLanguage = None,
    strict: Strict = False,
    as_json: Json = False,
) -> None:
    """Run a do-file with safe commands: its log holds safe output only."""
    from discreet_fire.findings import Severity
    from discreet_fire.logs import MARK, RunEvidence, signing_key
    from discreet_fire.runners import (
        run_program,
        runner_for,
        runners,
        write_confidential,
        write_run,
    )
    from discreet_fire.statistics import SafeLimits
    from discreet_fire.texts import place_of

    rules = SafeLimits() if limits is None else SafeLimits.read(limits)
    rules = replace(rules, language=language or rules.language)
    secret = signing_key(key)
    result = run_program(
        runner_for(file) or runners()[0],  # the builtin one takes do-files of any name
        file,
        data=data or (),
        limits=rules,
        entity=entity,
        seed=seed,
        seconds=time_limit,
        witness=None,
    )
    evidence = RunEvidence.of(result.log, rules, checked=result.checked)
    more = {} if secret is None or evidence is None else {MARK: evidence.mark(secret)}
    files = write_run(result, out or file.parent, overwrite=overwrite, more=more)
    if confidential is not None:
        write_confidential(result, confidential, rules)
    # What an officer should look at after a run.
    told = [one for one in result.findings if one.severity is not Severity.INFO]
    withheld = len(result.findings) - len(told)
    lines = [
        f"{file} -> {files['log'].name}, {files['checks'].name}",
        f"  {len(result.outputs)} outputs, {withheld} withheld because of broken rules",
        *(
            f"  {place_of(one.file, one.line)} {one.severity.value} [{one.rule}] {one.what}"
            for one in told
        ),
    ]
    plain = {name: str(path) for name, path in files.items()} | result.to_dict()
    show("\n".join(lines), plain, as_json=as_json)
    if result.error is not None:
        failed = result.error.code in ("internal", "time-limit")
        raise typer.Exit(FAILURE if failed else WRONG_INPUT)
    if strict and any(one.severity is Severity.REVIEW for one in result.findings):
        raise typer.Exit(FAILURE)


app = group("Check outputs: replace unsafe commands, clean logs, review submissions.")

PolicyFile = Annotated[
    Path | None,
    typer.Option("--policy", help="Your additions to the policy: a TOML file, or preFire.txt."),
]
PythonPolicy = Annotated[
    Path | None, typer.Option("--python-policy", help="Your additions for Python scripts (TOML).")
]
RPolicy = Annotated[
    Path | None, typer.Option("--r-policy", help="Your additions for R scripts (TOML).")
]
SpssPolicy = Annotated[
    Path | None, typer.Option("--spss-policy", help="Your additions for SPSS programs (TOML).")
]
SasPolicy = Annotated[
    Path | None, typer.Option("--sas-policy", help="Your additions for SAS programs (TOML).")
]
Language = Annotated[Literal["en", "de"], typer.Option(help="Language of files and messages.")]


@command(app, "pre", example="discreet fire pre analysis.do")
def pre(
    files: Annotated[
        list[Path],
        typer.Argument(help="Do-files, scripts (.py .R .Rmd .qmd .sps .sas), or folders of them."),
    ],
    policy: PolicyFile = None,
    python_policy: PythonPolicy = None,
    r_policy: RPolicy = None,
    spss_policy: SpssPolicy = None,
    sas_policy: SasPolicy = None,
    officer: Annotated[
        bool, typer.Option("--officer", help="The program is an officer's: allow critical().")
    ] = False,
    language: Language = "en",
    overwrite: Overwrite = False,
    strict: Strict = False,
    as_json: Json = False,
) -> None:
    """Rewrite do-files and scripts with safe commands instead of unsafe ones."""
    from discreet_fire.catalogue import Policy
    from discreet_fire.rewriting import described, policies_of, report, rewrite_files

    rules = Policy.default() if policy is None else Policy.read(policy)
    rules = rules.for_officer() if officer else rules
    own = policies_of(python_policy, r_policy, spss_policy, sas_policy)
    outcomes = rewrite_files(
        files, policy=rules, policies=own, language=language, overwrite=overwrite
    )
    show(report(outcomes, language=language), described(outcomes, rules), as_json=as_json)
    if any(outcome.state == "refused" for outcome in outcomes):
        raise typer.Exit(WRONG_INPUT)
    if strict and any(outcome.needs_review for outcome in outcomes):
        raise typer.Exit(FAILURE)


@command(app, "undo", example="discreet fire undo analysis_FiRe.json")
def undo(
    manifest: Annotated[Path, typer.Argument(help="Manifest next to the rewritten file.")],
    as_json: Json = False,
) -> None:
    """Restore the original of a rewritten do-file or script."""
    from discreet_fire.rewriting import undo as restore

    original = restore(manifest)
    show(f"The original is in {original}.", {"out": str(original)}, as_json=as_json)


@command(app, "policy", example="discreet fire policy --command tabulate")
def policy_rules(
    policy: PolicyFile = None,
    name: Annotated[str | None, typer.Option("--command", help="Command to look up.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="File for the rules of the server, read by fdzrun.ado.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Look up commands in the policy, or write the policy for the server."""
    from discreet.files import write_text
    from discreet_fire.catalogue import Policy
    from discreet_fire.rewriting import policy_report

    rules = Policy.default() if policy is None else Policy.read(policy)
    if out is not None:
        if out.is_dir():
            raise typer.BadParameter("not a file but a folder", param_hint="--out")
        write_text(out, "".join(f"{line}\n" for line in rules.run_time_lines()))
        show(f"The rules for the server are in {out}.", {"out": str(out)}, as_json=as_json)
        return
    text, plain = policy_report(rules, name)
    show(text, plain, as_json=as_json)


@command(app, "post", example="discreet fire post analysis.log --rules postFire.txt")
def post(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Logs of Stata (.log, .smcl) and SAS (.log); listings of SPSS and SAS as text "
            "(.lst, .txt, .out). Folders: all .log, .smcl, .lst. CONFIDENTIAL."
        ),
    ],
    rules: Annotated[
        list[Path] | None,
        typer.Option(help="Your own rules: TOML file, or postFire.txt; repeatable."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="File for a single cleaned log (default: NAME_FiRe.log).")
    ] = None,
    confidential: Annotated[
        Path | None,
        typer.Option(help="File for the list of removed text of a single log. CONFIDENTIAL."),
    ] = None,
    own_first: Annotated[
        bool, typer.Option("--own-first", help="Apply your own texts before all other rules.")
    ] = False,
    key: Key = None,
    language: OutputLanguage = None,
    overwrite: Overwrite = False,
    strict: Strict = False,
    as_json: Json = False,
) -> None:
    """Remove disclosive text from logs and listings."""
    from discreet_fire.logs import CleaningRules, clean_log_file, clean_log_files, signing_key

    secret = signing_key(key)
    own = CleaningRules.read(*rules or ())
    own = replace(own, language=language or own.language, own_first=own_first or own.own_first)
    if out is None and confidential is None:
        done = clean_log_files(files, rules=own, overwrite=overwrite, key=secret)
    elif len(files) > 1:
        raise typer.BadParameter("--out and --confidential need a single log")
    else:
        one = clean_log_file(
            files[0], rules=own, out=out, confidential=confidential, overwrite=overwrite, key=secret
        )
        done = [one]
    described = {"logs": [one.described for one in done]}
    show("\n".join(one.text for one in done), described, as_json=as_json)
    if strict and any(one.needs_review for one in done):
        raise typer.Exit(FAILURE)


@command(app, "runners", example="discreet fire runners")
def list_runners(as_json: Json = False) -> None:
    """List available runners and their limits."""
    from discreet_fire.runners import control_folder, runners

    rows, lines = [], []
    for one in runners():
        row: dict[str, Any] = {"name": one.name, "suffixes": sorted(one.suffixes)}
        lines.append(f"{one.name}: {', '.join(row['suffixes'])}")
        if (engine := getattr(one, "engine", None)) is not None:
            folder = control_folder(engine.control_groups)
            row |= {
                "executable": str(engine.executable),
                "control_groups": None if folder is None else str(folder),
            }
            lines[-1] += f", {row['executable']}"
            lines.append(
                "  No control group (cgroup v2): limits hold for each process; the memory of all "
                "processes is measured five times a second."
                if folder is None
                else f"  Control groups in {folder}: the kernel limits all processes together."
            )
        rows.append(row)
    show("\n".join(lines), {"runners": rows}, as_json=as_json)


desk = group("Manage the review queue: submissions, decisions, releases. CONFIDENTIAL.")

Person = Annotated[str, typer.Option(help="Reviewer, one of the persons of the queue.")]
Reason = Annotated[str, typer.Option(help="Reason (logged).")]
Told = Annotated[Literal["en", "de"], typer.Option("--language", help="Language of messages.")]
Version = Annotated[int, typer.Option(help="Version of the submission, as shown by `show`.", min=1)]


@command(desk, "init", example="discreet fire queue init q --person Anna --person Ben --four-eyes")
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
    show(text, {"queue": str(folder), **asdict(settings)}, as_json=as_json)


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
    entity: Entity = None,
    universe: Annotated[
        list[Path] | None,
        typer.Option(help="Identifiers of the units of an output: .csv, .parquet. CONFIDENTIAL."),
    ] = None,
    policy: Annotated[Path | None, typer.Option(help="Your additions to the policy.")] = None,
    limits: Limits = None,
    rules: Annotated[
        list[Path] | None, typer.Option(help="Your own rules for logs; repeatable.")
    ] = None,
    time_limit: Seconds = None,
    language: OutputLanguage = None,
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


command(desk, "submit", example="discreet fire queue submit a.do --log a.log --researcher Weber")(
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
    command(desk, name, example=f"discreet fire queue {name} --queue q")(rows_shown)


_add_list(
    "list",
    "List submissions, the riskiest first (differences/errors/review/refused/info).",
    drawn=False,
)
_add_list("sample", "List clean outputs that were drawn for control by hand.", drawn=True)


@command(desk, "show", example="discreet fire queue show 1 --queue q")
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
    for part in entry.to_dict()["parts"]:
        verdict, said = words[part["verdict"] or "open"], ""
        if part["comment"]:
            said = f" ({part['person']}: {part['comment']})"
        text = words["decided"].format(n=part["output"], verdict=verdict, command=part["command"])
        yield f"  {text}{said}"
    for event in entry.history:
        fields = {"at": event.at, "person": event.person, "reason": event.reason}
        yield f"  {words['event'].format(kind=events[event.kind], **fields)}"


def _words(language: str) -> Mapping[str, str]:
    return texts_of("discreet_fire", "queue", language)


@command(desk, "figures", example="discreet fire queue figures 1 --queue q")
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


@command(
    desk,
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
    from discreet_fire.queue import OutputDecision, PartVerdict, open_queue, view

    chosen = {at: OutputDecision(verdict=PartVerdict.accept) for at in accept or ()}
    for verdict, texts in ((PartVerdict.hold, hold), (PartVerdict.exception, exception)):
        for text in texts or ():
            at, _, comment = text.partition("=")
            if not at.strip().isdecimal():
                raise typer.BadParameter(f"write OUTPUT=COMMENT, not {text!r}")
            if int(at) in chosen:
                raise typer.BadParameter(f"output {int(at)} is given twice")
            chosen[int(at)] = OutputDecision(verdict=verdict, comment=comment)
    if rest:
        with open_queue(queue) as opened:
            before = view(opened, number).row.standing
        for part in before.parts:
            if part.number not in before.decisions:
                chosen.setdefault(part.number, OutputDecision(verdict=PartVerdict.accept))
    words = {"decisions": chosen, "person": person, "reason": reason, "version": version}
    _act("decide", number, queue, language, as_json, **words)


@command(
    desk,
    "approve",
    example='discreet fire queue approve 1 --person Anna --reason "ok" --version 2',
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
    words = {"person": person, "reason": reason, "version": version}
    words |= {"despite_conflicts": despite_conflicts}
    _act("approve", number, queue, language, as_json, **words)


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
        words = {"person": person, "reason": reason, "version": version}
        _act(decide, number, queue, language, as_json, **words)

    decided.__doc__ = doc
    example = f'discreet fire queue {name} 1 --person Anna --reason "{reason}" --version 2'
    command(desk, name, example=example)(decided)


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
        _act(name, number, queue, language, as_json, person=person, text=text)

    said.__doc__ = doc
    example = f'discreet fire queue {name} 1 --person Anna --text "{text}" --queue q'
    command(desk, name, example=example)(said)


_add_remark("ask", "why?", "Send a question to the researcher. Blocks approvals until answered.")


@command(
    desk,
    "answer",
    example='discreet fire queue answer 1 --researcher Weber --text "so" --queue q',
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
    _act("answer", number, queue, language, as_json, researcher=researcher, text=text)


_add_remark("say", "seen", "Add a note for other reviewers.")


def _act(name: str, number: int, folder: Path, language: str, as_json: bool, **words: Any) -> None:
    """Let a function of the queue act on a submission, and show how it stands then."""
    import discreet_fire.queue as functions

    with functions.open_queue(folder) as opened:
        standing = getattr(functions, name)(opened, number, **words)
    texts = _words(language)
    state = texts_of("discreet_fire", "states", language)[standing.state.value]
    count = texts["approvals"].format(n=len(standing.approvals), needed=standing.needed)
    text = texts["standing"].format(n=number, state=state, count=count, version=standing.version)
    if standing.question:
        question = texts["question"].format(text=standing.question)
        text += f"\n{question[0].upper()}{question[1:]}"
    plain = {"submission": number, "state": standing.state.value, "version": standing.version}
    plain |= {"question": standing.question}
    show(text, plain | {"approvals": sorted(standing.approvals)}, as_json=as_json)


@command(
    desk,
    "release",
    example='discreet fire queue release 1 --person Ben --reason "ok" --version 3',
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


@command(
    desk, "person", example='discreet fire queue person Cem --by Anna --reason "new colleague"'
)
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


@command(desk, "verify", example="discreet fire queue verify --queue q")
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


command(app, "run", example="discreet fire run analysis.do --data panel.dta --entity pid")(run)
handed_in = "discreet fire submit analysis.do --data panel.dta --queue q --researcher Weber"
command(app, "submit", example=handed_in)(submit)
reviewed = "discreet fire review 1 --queue q --html review.html"
command(app, "review", example=reviewed)(review)
app.add_typer(desk, name="queue")
for name in plugins("fire"):
    plugin("fire", name)(app, desk)
