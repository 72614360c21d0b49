"""Commands on output checking: ``discreet fire …``, on do-files, on logs and on microdata.

In: the words of a command. Out: checked programs, cleaned logs, the rules of a policy, the
log of a do-file that was run without Stata. Logs and microdata are CONFIDENTIAL.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from discreet.cli import FAILURE, WRONG_INPUT, Json, command, group, show
from discreet.plugins import plugin, plugins
from discreet_fire.cli import queue

if TYPE_CHECKING:
    from discreet_fire.runners import RunResult

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
    limits: Annotated[
        Path | None, typer.Option(help="TOML file of rules, readable by the server only.")
    ] = None,
    entity: Annotated[
        str | None, typer.Option(help="Identifier variable of the person or firm.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of random numbers.")] = 0,
    time_limit: Annotated[
        float | None, typer.Option(min=0.001, help="Time limit in seconds.")
    ] = None,
    confidential: Confidential = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a log written by another program.")
    ] = False,
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
    text = f"{file} -> {files['log'].name}, {files['checks'].name}\n{_told(result)}"
    plain = {name: str(path) for name, path in files.items()} | result.to_dict()
    show(text, plain, as_json=as_json)
    if result.error is not None:
        failed = result.error.code in ("internal", "time-limit")
        raise typer.Exit(FAILURE if failed else WRONG_INPUT)
    if strict and any(one.severity is Severity.REVIEW for one in result.findings):
        raise typer.Exit(FAILURE)


def _told(result: RunResult) -> str:
    """What an officer should look at after a run."""
    from discreet_fire.findings import Severity
    from discreet_fire.texts import place_of

    shown = [one for one in result.findings if one.severity is not Severity.INFO]
    withheld = len(result.findings) - len(shown)
    lines = [f"  {len(result.outputs)} outputs, {withheld} withheld because of broken rules"]
    lines += [
        f"  {place_of(one.file, one.line)} {one.severity.value} [{one.rule}] {one.what}"
        for one in shown
    ]
    return "\n".join(lines)


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
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace files written by other programs.")
]


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
        if (limits := getattr(one, "limits", None)) is not None:
            folder = control_folder(limits.control_groups)
            row |= {
                "executable": str(getattr(one, "executable", "")),
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


command(app, "run", example="discreet fire run analysis.do --data panel.dta --entity pid")(run)
handed_in = "discreet fire submit analysis.do --data panel.dta --queue q --researcher Weber"
command(app, "submit", example=handed_in)(queue.submit)
reviewed = "discreet fire review 1 --queue q --html review.html"
command(app, "review", example=reviewed)(queue.review)
app.add_typer(queue.app, name="queue")
for name in plugins("fire"):
    plugin("fire", name)(app, queue.app)
