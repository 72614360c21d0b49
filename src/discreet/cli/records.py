"""Files of records on the command line: ``discreet detect``, and ``--read`` of all commands.

In: a file and words such as ``decimal=,``, the name of a TOML file, or ``auto``. Out: records as
they are meant (confidential), or what was found out about the file. Values are shown only with
``--show-values``, and then the first wrong one only.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.program import FAILURE, SINGLE, command, shared_option, show

Read = Annotated[list[str] | None, shared_option("read")]
ShowValues = Annotated[bool, shared_option("show_values", usual=False)]

#: Keys of sources that say where records are, and nothing on how they are read.
_PLACES = ("source", "database", "database_env", "name", "version")
_CALL = ("format", "table", "query")
_LISTS = ("null_values", "text", "columns")
_TABLES = ("types", "rename", "recode", "null_values")


@command(SINGLE, "detect")
def detect(
    file: Path,
    read: list[str] | None = None,
    as_json: bool = False,
) -> None:
    """Detect how to read a microdata file, and print a [data] section without values."""
    from discreet.microdata import detect_reading

    given = stated(read)
    given.pop("detect", None)
    for key in ("table", "query"):
        if key in given:
            raise typer.BadParameter(f"--read {key} applies to databases, which need no detection")
    found = detect_reading(file, **given)
    show(found.text(), found.described(), as_json=as_json)
    if found.problems:
        raise typer.Exit(FAILURE)


def stated(read: Sequence[str] | None) -> dict[str, Any]:
    """The options of ``--read`` as arguments of `discreet.read_microdata`.

    >>> stated(["decimal=,", "null_values=NA,-", "types.income=number"])
    {'decimal': ',', 'null_values': ['NA', '-'], 'types': {'income': 'number'}}
    """
    found: dict[str, Any] = {}
    for word in read or ():
        key, equals, value = word.partition("=")
        if word == "auto":
            found["detect"] = True
        elif not equals:
            found |= _of_file(Path(word))
        elif "." in key:
            _put(found, key, value)
        else:
            found[key] = _value(key, value)
    return found


def _put(found: dict[str, Any], key: str, value: str) -> None:
    """One entry of a table: types.income=number, recode.sex.1=m."""
    table, _, rest = key.partition(".")
    if table not in _TABLES:
        raise typer.BadParameter(f"--read {key}: {table} takes no entries")
    place = found.setdefault(table, {})
    if not isinstance(place, dict):
        raise typer.BadParameter(f"--read {table} is given for all columns and for one column")
    if table == "recode":
        column, dot, code = rest.rpartition(".")
        if not dot:
            raise typer.BadParameter("write recode.COLUMN.CODE=NEW")
        place.setdefault(column, {})[code] = value
    else:
        place[rest] = value.split(",") if table == "null_values" else value


def _value(key: str, text: str) -> Any:
    if key in _LISTS:
        return text.split(",")
    if key in ("skip", "header", "sheet") and text.isdigit():
        return int(text)
    if key == "trim":
        return {"true": True, "false": False}.get(text, text)
    return text


def _of_file(path: Path) -> dict[str, Any]:
    """The keys of [data] in a TOML file, or those at its top."""
    try:
        raw = tomllib.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        words = f"--read {path}: the file cannot be read ({error.strerror}); or write KEY=VALUE"
        raise typer.BadParameter(words) from None
    except (ValueError, RecursionError):
        raise typer.BadParameter(f"--read {path}: not valid TOML") from None
    section = raw.get("data", raw)
    if not isinstance(section, dict):
        raise typer.BadParameter(f"--read {path}: [data] is not a section")
    return {key: value for key, value in section.items() if key not in _PLACES}


def programme_keys(file: Path, read: Sequence[str] | None) -> dict[str, Any]:
    """The keys of [data] that read a file as the words of ``--read`` say."""
    given = stated(read)
    kind = "database" if {"table", "query"} & set(given) else "source"
    if given.pop("detect", False):
        from discreet.microdata import detect_reading

        options = detect_reading(file, **given).stated()
        found = {key: getattr(options, key) for key in options.given}
        given = {**{key: given[key] for key in _CALL if key in given}, **found}
    return {kind: str(file), **{key: _listed(value) for key, value in given.items()}}


def _listed(value: Any) -> Any:
    """A value as TOML has it."""
    if isinstance(value, Mapping):
        return {key: _listed(each) for key, each in value.items()}
    return list(value) if isinstance(value, tuple) else value


def opened(
    file: Path, read: Sequence[str] | None, show_values: bool, text: Sequence[str] = ()
) -> Any:
    """The records of a file as they are meant; the file itself if nothing is said of it."""
    if not read and not show_values:
        return file
    from discreet.microdata import read_microdata

    given = stated(read)
    if text and not given.get("detect") and str(file).lower().endswith((".csv", ".tsv", ".txt")):
        own = given.get("types", {})
        free = [name for name in text if name not in own]
        given["text"] = list(dict.fromkeys([*given.get("text", ()), *free]))
    return read_microdata(file, show_values=show_values, **given)
