"""What all commands share: their options, how they fail, and progress bars.

In: words of the command line, exceptions, steps done and to do. Out: checked values; text on
stderr, or JSON on stdout, and an exit code; a bar for work of more than a second on a
terminal. Texts of unexpected exceptions may quote data; they are never shown.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import json
import re
import sys
import threading
import tomllib
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, TypeVar, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import CommandInfo, OptionInfo

from discreet.errors import DiscreetError, DiscreetWarning

if TYPE_CHECKING:
    from discreet.classifications import Classification
    from discreet.microdata import Secret

FAILURE = 1
WRONG_INPUT = 2
INTERRUPTED = 130

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

_SHOWN_FRAMES = 6

#: Wrong words: the class above the one that the command-line library makes public.
USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]


def guarded(command: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Turn the exceptions of a command into messages and exit codes."""

    @functools.wraps(command)
    def run(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        as_json = bool(kwargs.get("as_json", False))
        try:
            with _warnings_shown():
                return command(*args, **kwargs)
        except DiscreetError as error:
            spoken = _spoken(error, command)
            keys = ("what", "where", "hint")
            one = {key: getattr(spoken, key) for key in ("code", *keys)}
            one["problems"] = [{key: getattr(p, key) for key in keys} for p in spoken.problems]
            _show(str(spoken), one, as_json=as_json)
            raise typer.Exit(FAILURE if error.code == "disk-full" else WRONG_INPUT) from None
        except KeyboardInterrupt:
            _show("interrupted", {"code": "interrupted", "what": "interrupted"}, as_json=as_json)
            raise typer.Exit(INTERRUPTED) from None
        except OSError as error:
            message = f"operating system error: {error.strerror or type(error).__name__}"
            _show(message, {"code": "system", "what": message}, as_json=as_json)
            raise typer.Exit(FAILURE) from None
        except Exception as error:
            if type(error).__module__.partition(".")[0] in ("typer", "click"):
                raise
            # An internal error: its kind and place, never its text.
            message = f"internal error, please report: {type(error).__name__}"
            frames = traceback.extract_tb(error.__traceback__)[-_SHOWN_FRAMES:]
            files = ["/".join(Path(frame.filename).parts[-3:]) for frame in frames]
            places = [
                f"{file}:{frame.lineno} in {frame.name}"
                for file, frame in zip(files, frames, strict=True)
            ]
            text = "\n".join([message, *(f"  at {place}" for place in places)])
            about = {"code": "internal", "what": message, "where": "; ".join(places)}
            _show(text, about, as_json=as_json)
            raise typer.Exit(FAILURE) from None

    return run


#: What hints name in Python → the same on the command line.
_IN_PYTHON = {
    "discreet.with_record_keys": "discreet keys add",
    "discreet.inherit_record_keys": "discreet keys inherit",
    "discreet.tabulate": "discreet tabulate",
    "Knowledge(rules=False)": "rules = false in [suppression.bounds] of a programme",
}
_ARGUMENT = re.compile(r"\b([a-z_]+)=(\"?)([^\s\",;()]+)\2")


def _spoken(error: DiscreetError, command: Callable[..., Any]) -> DiscreetError:
    """The error, with hints that name options in place of arguments in Python."""
    options = {
        name: next((word for word in declared.param_decls or () if word[:2] == "--"), "")
        or f"--{name.replace('_', '-')}"
        for name, hint in get_type_hints(command, include_extras=True).items()
        for declared in getattr(hint, "__metadata__", ())
        if isinstance(declared, OptionInfo)
    }

    def option(found: re.Match[str]) -> str:
        word = options.get(found[1])
        return found[0] if word is None else f"{word} {found[3]}"

    def said(hint: str) -> str:
        for python, words in _IN_PYTHON.items():
            hint = hint.replace(python, words)
        return _ARGUMENT.sub(option, hint)

    problems = [dataclasses.replace(problem, hint=said(problem.hint)) for problem in error.problems]
    return DiscreetError(
        error.what, code=error.code, where=error.where, hint=said(error.hint), problems=problems
    )


@contextmanager
def _warnings_shown() -> Iterator[None]:
    """Print what `DiscreetWarning`s say as the program's own warnings, each once."""
    told: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("always", DiscreetWarning)
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if not issubclass(category, DiscreetWarning):
                others(message, category, *where, **more)
            elif str(message) not in told:
                told.add(str(message))
                warn([str(message)])

        warnings.showwarning = show
        yield


def _show(text: str, described: Mapping[str, Any], *, as_json: bool) -> None:
    """What went wrong: words on stderr, or an error object on stdout."""
    if as_json:
        whole = {"code": "", "what": "", "where": "", "hint": "", "problems": [], **described}
        typer.echo(json.dumps({"error": whole}, ensure_ascii=False, indent=2))
    else:
        typer.echo(text if text.startswith("[") else f"discreet: {text}", err=True)


_Function = TypeVar("_Function", bound=Callable[..., None])


@functools.cache
def _words() -> dict[str, Any]:
    return tomllib.loads(files("discreet.cli").joinpath("words.toml").read_text("utf-8"))


def _words_of(function: Callable[..., Any]) -> Mapping[str, Any]:
    """The section of a command."""
    own: dict[str, Any] = _words().get(function.__module__.rpartition(".")[2], {})
    section: dict[str, Any] = own.get(function.__name__, {})
    return section


def _declared(name: str, usual: object, row: str | Mapping[str, Any], panel: str | None) -> Any:
    """An option or argument, as its row says."""
    stated = {"help": row} if isinstance(row, str) else dict(row)
    if "argument" in stated:
        return typer.Argument(help=stated.pop("argument"), **stated)
    word = f"--{name.rstrip('_').replace('_', '-')}"
    words = [word] if usual is False or name.endswith("_") else []
    return typer.Option(*stated.pop("words", words), rich_help_panel=panel, **stated)


def shared_option(name: str, usual: object = None) -> Any:
    """An option that many commands have, with its usual value."""
    return _declared(name, usual, _words()["options"][name], None)


#: For all commands: results as JSON.
Json = Annotated[bool, shared_option("as_json")]


def options_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a function as options and arguments: `words.toml` says what each is."""
    every = inspect.signature(function, eval_str=True).parameters.values()
    if not function.__module__.startswith(f"{__package__}."):
        return list(every)
    own = _words_of(function)
    panels = own.get("panels", {})
    rows = {**_words()["options"], **own}
    parameters = []
    for item in every:
        panel = next((title for title, names in panels.items() if item.name in names), None)
        if item.name in rows and not hasattr(item.annotation, "__metadata__"):
            declared = _declared(item.name, item.default, rows[item.name], panel)
            item = item.replace(annotation=Annotated[item.annotation, declared])
        parameters.append(item)
    return parameters


def with_parameters(
    run: Callable[..., None], parameters: Sequence[inspect.Parameter], text: str
) -> Callable[..., None]:
    """A function that the command line takes to have these parameters, and this help."""
    named = [item.replace(kind=inspect.Parameter.KEYWORD_ONLY) for item in parameters]
    run.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
    run.__annotations__ = {item.name: item.annotation for item in named}
    run.__doc__ = text
    return run


#: Commands of the other packages: where each is, and what the help says of it.
#: Loaded when called; this package knows of them no more than that.
ELSEWHERE = {
    "fire": (
        "discreet_fire.cli.commands:app",
        "Check outputs: replace unsafe commands, clean logs, review submissions.",
    ),
    "ask": (
        "discreet_service.client.commands:app",
        "Query a protection service: cells, queries, jobs.",
    ),
    "serve": (
        "discreet_service.cli:serve_app",
        "Serve protected tables over HTTP; try it with --demo.",
    ),
    "service": (
        "discreet_service.cli:app",
        "Run the protection service: setup, keys, backup, checks.",
    ),
}


#: Commands that stand in no group, as they are declared.
SINGLE = typer.Typer()
#: Modules of this package, each with its commands: loaded when one is called, or all are listed;
#: those of operations are made of settings.
_MODULES: dict[str, tuple[str, ...]] = {
    "commands": ("demo", "tabulate"),
    "records": ("detect",),
    "record_methods": ("structure-file", "synthesise", "assess-records"),
    "advice": ("advise",),
    "suppression": ("suppress", "audit"),
    "programmes": ("new", "protect", "anonymise", "verify", "transmit"),
    "attacks": ("attack", "attack-periods", "find-slivers", "check-revision", "list-changes"),
    "operations": (),
}
#: The groups of this package, each with its module.
_GROUPS = {
    "cube": "cubes",
    "keys": "keys",
    "params": "params",
    "parts": "parts",
    "programme": "drafts",
    "ptable": "ptable",
    "records": "record_methods",
    "store": "stores",
}


def _loaded(module: str) -> Any:
    """A module of this package; its commands that stand in no group are in `SINGLE` then."""
    return importlib.import_module(f"{__package__}.{module}")


def plain(text: str) -> str:
    r"""A help text as it stands: brackets are no markup.

    >>> plain("keys of [data], numbers in [0, 1)")
    'keys of \\[data], numbers in [0, 1)'
    """
    return re.sub(r"(?<!\\)\[(?=[a-z#/@])", r"\\[", text)


def _plain_params(params: list[Any]) -> list[Any]:
    """Options and arguments; those that are only named say no type in the help."""
    for param in params:
        if getattr(param, "help", None):
            param.help = plain(param.help)
        if getattr(param, "is_bool_flag", False) and param.metavar is None:
            param.metavar = ""
    return params


class _Command(TyperCommand):
    def get_params(self, ctx: Any) -> Any:
        return _plain_params(super().get_params(ctx))


class _Group(TyperGroup):
    def get_params(self, ctx: Any) -> Any:
        return _plain_params(super().get_params(ctx))


def _elsewhere(word: str) -> typer.Typer:
    """The commands of another package, or a word about what they need."""
    module, _, name = ELSEWHERE[word][0].partition(":")
    try:
        found: typer.Typer = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0].startswith("discreet"):
            raise
        message = f"discreet: package {error.name} not found: pip install 'discreet[service]'"
        typer.echo(message, err=True)
        raise typer.Exit(1) from None
    return found


class CommandGroup(_Group):
    """The whole program: each command is loaded and made ready when it is called.

    With --json, wrong words too are answered with an error object.
    """

    _as_json = False

    def list_commands(self, ctx: Any) -> list[str]:
        """As the panels of the help list them, and then what none of them lists."""
        for module in _MODULES:
            _loaded(module)
        listed = [name for names in _words()["panels"].values() for name in names]
        single = [str(command.name) for command in SINGLE.registered_commands]
        return list(dict.fromkeys([*listed, *single, *ELSEWHERE, *_GROUPS]))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command that is ready; of another no more than its line of help."""
        if cmd_name in self.commands:
            return self.commands[cmd_name]
        panels: dict[str, list[str]] = _words()["panels"]
        panel = next((title for title, names in panels.items() if cmd_name in names), None)
        text: str | None
        if cmd_name in ELSEWHERE:
            text = ELSEWHERE[cmd_name][1]
        elif cmd_name in _GROUPS:
            text = _loaded(_GROUPS[cmd_name]).app.info.help
        else:
            single = self._single(cmd_name)
            if single is None:
                return None
            text = single.help
        return TyperGroup(name=cmd_name, help=text, rich_help_panel=panel)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called, made ready."""
        for name in args[:1]:
            self.make_ready(name)
        return super().resolve_command(ctx, args)

    def make_ready(self, name: str) -> None:
        """Load a command with its options; all of them if it is not there, to name a near one."""
        if name in self.commands:
            return
        if name in ELSEWHERE:
            self.add_command(typer.main.get_command(_elsewhere(name)), name)
        elif name in _GROUPS:
            self.add_command(typer.main.get_group(_loaded(_GROUPS[name]).app), name)
        elif single := self._single(name):
            self.add_command(
                typer.main.get_command_from_info(
                    single, pretty_exceptions_short=True, rich_markup_mode="rich"
                ),
                name,
            )
        else:
            for other in {*self.list_commands(None)} - {*ELSEWHERE}:
                self.make_ready(other)

    def _single(self, name: str) -> CommandInfo | None:
        """What is declared of a command that stands in no group."""
        for wanted in ((m for m, names in _MODULES.items() if name in names), _MODULES):
            for module in wanted:
                _loaded(module)
            for single in SINGLE.registered_commands:
                if single.name == name:
                    return single
        return None

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **extra: Any) -> Any:
        """Read the words of the program."""
        self._as_json = "--json" in args
        with self._usage_errors_shown():
            return super().make_context(info_name, args, *more, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Read the words of the command and run it."""
        with self._usage_errors_shown():
            return super().invoke(ctx)

    @contextmanager
    def _usage_errors_shown(self) -> Iterator[None]:
        try:
            yield
        except USAGE_ERROR as error:
            if isinstance(error, typer.BadParameter):  # words of pydantic, which reads options
                error.message = error.message.removeprefix("Value error, ")
            if not self._as_json:
                raise
            wrong: Any = error
            place = getattr(wrong.ctx, "command_path", self.name or "discreet")
            about = {"what": wrong.format_message(), "where": place, "hint": f"{place} --help"}
            _show("", {"code": "usage", **about, "problems": [about]}, as_json=True)
            raise typer.Exit(WRONG_INPUT) from None


def group(text: str, *, kind: type[TyperGroup] = _Group) -> typer.Typer:
    """A group of commands; the whole program completes its words in shells."""
    return typer.Typer(
        help=plain(text),
        cls=kind,
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        add_completion=kind is CommandGroup,
    )


def command(
    parent: typer.Typer, name: str, *, example: str | None = None
) -> Callable[[_Function], Callable[..., None]]:
    """Add a function as a command of a group, or of none (`SINGLE`), with an example."""

    def add(function: _Function) -> Callable[..., None]:
        line = _words_of(function)["example"] if example is None else example
        text = inspect.getdoc(function) or ""
        safe = guarded(with_parameters(function, options_of(function), text))
        parent.command(
            name,
            cls=_Command,
            help=plain(text),
            epilog=f"Example: [bold]{plain(line)}[/bold]",
            no_args_is_help=name not in ("demo", "runners"),
        )(safe)
        return safe

    return add


def names(given: Sequence[str] | None) -> list[str]:
    """Names that were given with commas between, or one by one.

    >>> names(["region, sex", "age"])
    ['region', 'sex', 'age']
    """
    return [part.strip() for text in given or () for part in text.split(",") if part.strip()]


def pairs(given: Sequence[str] | None, form: str) -> dict[str, str]:
    """Names with something each, given as NAME=…, each name once.

    >>> pairs(["age=ALL"], "NAME=CODE")
    {'age': 'ALL'}
    """
    found: dict[str, str] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise typer.BadParameter(f"write {form} instead of {text!r}")
        if name in found:
            raise typer.BadParameter(f"{name!r} is given twice")
        found[name] = value
    return found


def trees_from(given: Sequence[str] | None) -> dict[str, Classification]:
    """Classifications given as NAME=FILE."""
    from discreet.classifications import Classification

    listed = pairs(given, "NAME=FILE")
    return {name: Classification.read(path, name=name) for name, path in listed.items()}


def secret_from(file: Path | None, variable: str | None) -> Secret | None:
    """The secret from a file or an environment variable, if one is named."""
    from discreet.microdata import Secret

    if file is not None and variable is not None:
        raise typer.BadParameter("give a secret file or an environment variable, not both")
    if file is not None:
        return Secret.from_file(file)
    return None if variable is None else Secret.from_env(variable)


def warn(texts: Iterable[str]) -> None:
    """Print warnings, one line each, where they do not mix with results."""
    for text in texts:
        typer.echo(f"discreet: warning: {text}", err=True)


def show(text: str, described: dict[str, Any], *, as_json: bool) -> None:
    """Print a text for people, or an object for programs."""
    typer.echo(json.dumps(described, ensure_ascii=False, indent=2) if as_json else text)


def check_suffix(option: str, path: Path | None, *known: str) -> None:
    """Refuse a file whose suffix says nothing of its form."""
    if path is not None and path.suffix.lower() not in known:
        *first, last = known
        listed = f"{', '.join(first)} or {last}" if first else last
        raise typer.BadParameter(f"{option}: use the suffix {listed}")


def write_report(path: Path, text: str, described: Any, page: str = "") -> None:
    """Write a report in the form of its suffix, readable by its owner only."""
    from discreet.files import write_text

    forms = {".json": json.dumps(described, indent=2, ensure_ascii=False) + "\n", ".html": page}
    write_text(path, forms.get(path.suffix.lower(), text + "\n"), private=True)


Report = Callable[[int, int, str], None]

_DELAY = 1.0


@contextmanager
def progress_bar(title: str) -> Iterator[Report]:
    """A function that takes steps done, steps to do and a name, and shows them.

    Nothing is shown in the first second, nor where stderr is not a terminal.
    """
    if not sys.stderr.isatty():
        yield lambda done, steps, name: None
        return
    from rich.console import Console
    from rich.progress import Progress, TimeElapsedColumn

    bar = Progress(
        *Progress.get_default_columns(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task(title, total=None)
    timer = threading.Timer(_DELAY, bar.start)
    timer.daemon = True
    timer.start()

    def report(done: int, steps: int, name: str) -> None:
        bar.update(task, completed=done, total=steps, description=f"{title} {name}")

    try:
        yield report
    finally:
        timer.cancel()
        bar.stop()
