"""``discreet fire quality …``: results of protected microdata with a noisy quality class."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import Json, Read, ShowValues, command, group, names, opened, pairs, show

app = group("Remote analysis: protected results with a quality class. CONFIDENTIAL.")

#: Files of the folder.
_SECRET, _LEDGER = "quality.key", "quality.sqlite"
_LISTS = ("names", "terms", "of", "by", "percent", "statistics", "centiles")

Folder = Annotated[Path, typer.Option("--desk", help="Folder that `init` made.")]
Columns = Annotated[list[str] | None, typer.Option(help="Columns, with commas between.")]
Microdata = Annotated[Path, typer.Option(help="Original microdata. CONFIDENTIAL.")]


@command(app, "init", example="discreet fire quality init desk --answer 1 --each 10 --everyone 50")
def init(
    folder: Annotated[Path, typer.Argument(help="New folder.")],
    answer: Annotated[float, typer.Option(help="Epsilon of one answer.")] = 1.0,
    each: Annotated[float, typer.Option(help="Epsilon for each researcher and data set.")] = 10.0,
    everyone: Annotated[float, typer.Option(help="Epsilon for each data set.")] = 50.0,
    as_json: Json = False,
) -> None:
    """Make a secret and a ledger of answers."""
    from discreet.errors import OutputCheckError
    from discreet.microdata import Secret
    from discreet_fire.extras.remote_analysis.answers import Budget, BudgetLedger

    budget = Budget(answer=answer, each=each, everyone=everyone)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=False)
    except OSError as error:
        message, hint = f"the folder cannot be created ({error.strerror})", "name a new folder"
        raise OutputCheckError(message, code="folder", where=str(folder), hint=hint) from None
    Secret.generate().write(folder / _SECRET)
    BudgetLedger.create(folder / _LEDGER, budget)
    text = f"A secret and a ledger are in {folder}. Keep them safe, and back them up."
    show(text, {"desk": str(folder), "answers": budget.most_answers}, as_json=as_json)


@command(
    app,
    "protect",
    example="discreet fire quality protect panel.dta --out copy.parquet --desk desk "
    "--id pid --numeric pay,age --categorical sex --keep weight",
)
def protect_file(
    data: Annotated[Path, typer.Argument(help="Microdata. CONFIDENTIAL.")],
    out: Annotated[Path, typer.Option(help="The protected copy: a .parquet file. CONFIDENTIAL.")],
    desk: Folder,
    identifier: Annotated[list[str], typer.Option("--id", help="Columns that identify a record.")],
    numeric: Columns = None,
    categorical: Columns = None,
    keep: Columns = None,
    distance: Annotated[float, typer.Option(help="Share of records near in rank.")] = 0.02,
    share: Annotated[float, typer.Option(help="Share of records of other category.")] = 0.15,
    read: Read = None,
    show_values: ShowValues = False,
    as_json: Json = False,
) -> None:
    """Exchange values between records; the copy stays in the centre."""
    from discreet.files import atomic_path
    from discreet.microdata import Secret, read_microdata
    from discreet_fire.extras.remote_analysis.analysis import protect

    if out.suffix != ".parquet":
        raise typer.BadParameter("the copy is a .parquet file", param_hint="--out")
    if out.exists():
        raise typer.BadParameter("there is already a file here", param_hint="--out")
    copy = protect(
        read_microdata(opened(data, read, show_values)),
        id=names(identifier),
        secret=Secret.from_file(desk / _SECRET),
        numeric=names(numeric),
        categorical=names(categorical),
        keep=names(keep),
        distance=distance,
        share=share,
    )
    with atomic_path(out, private=True) as path:
        copy.write_parquet(path)
    text = f"The protected copy is in {out}. It stays in the centre."
    show(text, {"out": str(out), "records": copy.height}, as_json=as_json)


@command(
    app,
    "ask",
    example="discreet fire quality ask regress outcome=pay terms=age,sex --desk desk "
    "--original panel.dta --protected copy.parquet --data panel --researcher Weber",
)
def ask(
    name: Annotated[str, typer.Argument(metavar="COMMAND", help="A safe command.")],
    desk: Folder,
    original: Microdata,
    protected: Annotated[Path, typer.Option(help="The protected copy. CONFIDENTIAL.")],
    data: Annotated[str, typer.Option(help="Name of the data set; versions share it.")],
    researcher: Annotated[str, typer.Option(help="Name of the researcher.")],
    arguments: Annotated[
        list[str] | None, typer.Argument(help="Arguments: NAME=VALUE; lists with commas.")
    ] = None,
    limits: Annotated[Path | None, typer.Option(help="TOML file of rules.")] = None,
    entity: Annotated[
        str | None, typer.Option(help="Identifier variable of the person or firm.")
    ] = None,
    read: Read = None,
    show_values: ShowValues = False,
    as_json: Json = False,
) -> None:
    """Give a protected result with its noisy class; it is charged once."""
    from discreet.microdata import Secret, read_microdata
    from discreet_fire.extras.remote_analysis.analysis import RemoteAnalysis
    from discreet_fire.extras.remote_analysis.answers import BudgetLedger
    from discreet_fire.statistics import SafeLimits

    values = {key: _value(key, text) for key, text in pairs(arguments, "NAME=VALUE").items()}
    if original.resolve() == protected.resolve():
        raise typer.BadParameter("these are the original records", param_hint="--protected")
    analysis = RemoteAnalysis(
        read_microdata(opened(original, read, show_values)),
        read_microdata(protected),
        secret=Secret.from_file(desk / _SECRET),
        ledger=BudgetLedger(desk / _LEDGER),
        data=data,
        limits=None if limits is None else SafeLimits.read(limits),
        entity=entity,
    )
    answer = analysis.ask(researcher, name, **values)
    show(str(answer), answer.to_dict(), as_json=as_json)


@command(
    app, "usage", example="discreet fire quality usage --desk desk --data panel --researcher W"
)
def usage(
    desk: Folder,
    data: Annotated[str, typer.Option(help="Name of the data set.")],
    researcher: Annotated[str, typer.Option(help="Name of the researcher.")],
    as_json: Json = False,
) -> None:
    """Say how many answers a researcher had and can still have."""
    from discreet_fire.extras.remote_analysis.answers import BudgetLedger

    for name, text in (("--data", data), ("--researcher", researcher)):
        if not text.strip():
            raise typer.BadParameter("a name is needed", param_hint=name)
    spent = BudgetLedger(desk / _LEDGER).usage(data, researcher)
    plain = {"data": data, "researcher": researcher, "answers": spent.answers, "left": spent.left}
    text = f"{researcher} had {spent.answers} answers on {data}; {spent.left} are left."
    show(text, plain, as_json=as_json)


def _value(name: str, text: str) -> Any:
    """Texts as they are; lists at commas; numbers and truth by how they look."""
    if name in _LISTS:
        parts = [part.strip() for part in text.split(",") if part.strip()]
        return [_number(part) for part in parts] if name == "centiles" else parts
    if name == "level":
        return _number(text)
    return {"true": True, "false": False}.get(text, text)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"a number is needed instead of {text!r}") from None


def add_commands(program: typer.Typer, _: typer.Typer) -> None:
    """Add the group `discreet fire quality`."""
    program.add_typer(app, name="quality")
