"""How a command fails: messages, exit codes and the error object for programs.

In: exceptions. Out: text on stderr, or JSON on stdout, and an exit code. Texts of
unexpected exceptions may quote data; they are never shown.
"""

from __future__ import annotations

import functools
import json
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import typer

from discreet.errors import DiscreetError

__all__ = ["FAILURE", "INTERRUPTED", "USAGE_ERROR", "WRONG_INPUT", "guarded", "show_usage_error"]

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
            return command(*args, **kwargs)
        except DiscreetError as error:
            _show(str(error), _described(error), as_json=as_json)
            raise typer.Exit(FAILURE if error.code == "disk-full" else WRONG_INPUT) from None
        except KeyboardInterrupt:
            _show("interrupted", {"code": "interrupted", "what": "interrupted"}, as_json=as_json)
            raise typer.Exit(INTERRUPTED) from None
        except OSError as error:
            what = f"the system refused: {error.strerror or type(error).__name__}"
            _show(what, {"code": "system", "what": what}, as_json=as_json)
            raise typer.Exit(FAILURE) from None
        except Exception as error:
            if type(error).__module__.partition(".")[0] in ("typer", "click"):
                raise
            _fail(error, as_json=as_json)
            raise typer.Exit(FAILURE) from None

    return run


def show_usage_error(error: Any, command: str) -> None:
    """The error object for wrong words of a command; the text is shown elsewhere.

    Args:
        error: An exception of the class `USAGE_ERROR`.
        command: The words before the wrong ones.
    """
    place = getattr(error.ctx, "command_path", command)
    described = {"what": error.format_message(), "where": place, "hint": f"{place} --help"}
    _print_object({"code": "usage", **described, "problems": [described]})


def _fail(error: Exception, *, as_json: bool) -> None:
    """An internal error: its kind and place, never its text."""
    what = f"internal error, please report: {type(error).__name__}"
    frames = traceback.extract_tb(error.__traceback__)[-_SHOWN_FRAMES:]
    places = [f"{_short(frame.filename)}:{frame.lineno} in {frame.name}" for frame in frames]
    text = "\n".join([what, *(f"  at {place}" for place in places)])
    _show(text, {"code": "internal", "what": what, "where": "; ".join(places)}, as_json=as_json)


def _short(filename: str) -> str:
    return "/".join(Path(filename).parts[-3:])


def _described(error: DiscreetError) -> dict[str, Any]:
    return {
        "code": error.code,
        "what": error.what,
        "where": error.where,
        "hint": error.hint,
        "problems": [
            {"what": problem.what, "where": problem.where, "hint": problem.hint}
            for problem in error.problems
        ],
    }


def _show(text: str, described: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        _print_object(described)
    typer.echo(text if text.startswith("[") else f"discreet: {text}", err=True)


def _print_object(described: dict[str, Any]) -> None:
    whole = {"code": "", "what": "", "where": "", "hint": "", "problems": [], **described}
    typer.echo(json.dumps({"error": whole}, ensure_ascii=False, indent=2))
