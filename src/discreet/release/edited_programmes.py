"""Programmes that grow by commands: keys that are set, tables from a list or from variables.

In: a programme, and keys with their values as words. Out: the same file with these keys; remarks
and all other lines stay. Nothing is written that the programme could not have. Nothing here has
seen data.
"""

from __future__ import annotations

import copy
import csv
import io
import os
import tomllib
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from discreet.errors import Problem, PublicationError
from discreet.files import toml_key, toml_value, write_text
from discreet.release.programme.checks import check_programme
from discreet.release.programme.file import from_document, load, raise_problems
from discreet.release.programme.toml_lines import LineIndex, dotted

#: Sections with an entry for each name.
_NAMED = ("magnitudes", "protection", "rules", "sources", "tables", "values", "variables")
_AND = {"en": "and", "de": "und"}

_Path = tuple[str, ...]


def set_keys(path: str | os.PathLike[str], keys: Mapping[str, str]) -> None:
    r"""Set keys of a programme: dotted key → value, as TOML has it, or a bare text or list.

    A programme with rules for sensitive cells is then for its owner only.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "programme.toml"
    >>> _ = file.write_text('# Mine\ntitle = "T"\n\n[variables.age]\nintervals = [0, 18]\n')
    >>> set_keys(file, {"languages": "en,de", "variables.age.label.de": "Alter"})
    >>> print(file.read_text(), end="")
    # Mine
    title = "T"
    languages = ["en", "de"]
    <BLANKLINE>
    [variables.age]
    intervals = [0, 18]
    label = { de = "Alter" }
    """
    place = Path(path)
    old, _ = load(place)
    text = place.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    document = tomllib.loads(text)
    wanted = copy.deepcopy(document)
    changed: dict[_Path, dict[str, Any]] = {}
    for key, word in keys.items():
        parts = _parts(key)
        whole = _put(wanted, parts, _value(parts, word, place))
        depth = _depth(parts)
        changed.setdefault(parts[:depth], {})[parts[depth]] = whole[parts[depth]]
    made = _edited(text, changed)
    try:
        fits = tomllib.loads(made) == wanted
    except tomllib.TOMLDecodeError:
        fits = False
    if not fits:
        message = "these keys stand in sections of their own in the programme"
        hint = "change them there by hand"
        raise PublicationError(message, code="set-keys", where=", ".join(keys), hint=hint)
    new, problems = from_document(wanted, place)
    known = {(p.key, p.what) for p in check_programme(old)}
    problems += [p for p in check_programme(new) if (p.key, p.what) not in known]
    raise_problems(str(place), problems)
    secret = "rules" in wanted or place.stat().st_mode & 0o077 == 0
    write_text(place, made, private=secret)


def add_tables(
    path: str | os.PathLike[str], tables: Mapping[str, Mapping[str, str]]
) -> tuple[str, ...]:
    """Add tables to a programme: name → keys with their values as words.

    Returns:
        The names of the tables.
    """
    old, _ = load(path)
    twice = [name for name in tables if name in old.tables]
    if twice or not tables:
        message = f"the programme has a table {twice[0]!r} already" if twice else "no tables to add"
        raise PublicationError(message, code="add-tables", where=str(path))
    keys = {
        dotted(("tables", name, *_parts(key))): word
        for name, entry in tables.items()
        for key, word in entry.items()
    }
    set_keys(path, keys)
    return tuple(tables)


def listed_tables(file: str | os.PathLike[str]) -> dict[str, dict[str, str]]:
    r"""The tables of a list, for `add_tables`: a CSV file with a row for each table.

    Columns are ``name``, and keys of tables: ``by``, ``from``, ``where``, ``title.de``, …

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "tables.csv"
    >>> _ = place.write_text("name;by;where\nT1;region,sex;age >= 18\nT2;sex;\n")
    >>> listed_tables(place)
    {'T1': {'by': 'region,sex', 'where': 'age >= 18'}, 'T2': {'by': 'sex'}}
    """
    place = Path(file)
    hint = "save the list as CSV in UTF-8, with the columns name and by"
    try:
        text = place.read_text("utf-8-sig")
        first = text.partition("\n")[0]
        separator = ";" if first.count(";") >= max(1, first.count(",")) else ","
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=separator) if any(row)]
    except (OSError, UnicodeDecodeError, csv.Error):
        message = "the list of tables cannot be read"
        raise PublicationError(message, code="table-list", where=str(place), hint=hint) from None
    heads = [head.strip() for head in rows[0]] if rows else []
    if heads.count("name") != 1 or len(set(heads)) < len(heads):
        message = f"not a list of tables: its columns are {', '.join(heads) or 'missing'}"
        raise PublicationError(message, code="table-list", where=str(place), hint=hint)
    tables: dict[str, dict[str, str]] = {}
    for number, row in enumerate(rows[1:], 2):
        entry = {head: cell.strip() for head, cell in zip(heads, row, strict=False) if cell.strip()}
        name = entry.pop("name", "")
        if len(row) != len(heads) or not name or name in tables:
            message = f"{len(row)} fields for {len(heads)} columns"
            if len(row) == len(heads):
                message = f"table {name!r} is listed twice" if name else "the table has no name"
            where = f"{place}, row {number}"
            raise PublicationError(message, code="table-list", where=where, hint=hint)
        tables[name] = entry
    return tables


def crossed_tables(
    path: str | os.PathLike[str],
    variables: Sequence[str],
    *,
    by: Sequence[str] = (),
    up_to: int = 1,
    prefix: str = "",
    title: Mapping[str, str] | None = None,
    keys: Mapping[str, str] | None = None,
) -> dict[str, dict[str, str]]:
    """A table for each combination of variables, for `add_tables`.

    Args:
        path: The programme.
        variables: One to `up_to` of them span each table.
        by: Variables that span every table, before the others.
        up_to: The most variables of a table besides `by`.
        prefix: Stands before the names of the tables.
        title: Language → title, with ``{by}`` in place of the labels of the variables.
        keys: Further keys of every table, such as ``from`` or ``where``.
    """
    programme, _ = load(path)
    entries = programme.variables
    tables: dict[str, dict[str, str]] = {}
    for number in range(1, up_to + 1):
        for chosen in combinations(variables, number):
            names = [*by, *chosen]
            entry = {"by": toml_value(names), **(keys or {})}
            for language, text in (title or {}).items():
                labels = [
                    _label(entries[name].label if name in entries else {}, name, language)
                    for name in names
                ]
                last = f" {_AND.get(language, ',')} {labels[-1]}" if labels[1:] else labels[0]
                words = f"{', '.join(labels[:-1])}{last}"
                entry[f"title.{language}"] = toml_value(text.replace("{by}", words))
            tables[prefix + "-".join(names)] = entry
    return tables


def _label(texts: Mapping[str, str], name: str, language: str) -> str:
    """The label of a variable as it stands in a title; English ones are small there."""
    label = texts.get(language) or name.replace("_", " ")
    small = language == "en" and label[:2].istitle()
    return label[:1].lower() + label[1:] if small else label


def _parts(key: str) -> _Path:
    """The parts of a dotted key."""
    try:
        place: Any = tomllib.loads(f"{key} = 0")
    except tomllib.TOMLDecodeError:
        hint = 'write SECTION.NAME.KEY=VALUE; put names with other signs in quotes: labels."1 a"'
        message = f"{key!r} is not a dotted key"
        raise PublicationError(message, code="set-keys", where=key, hint=hint) from None
    parts: list[str] = []
    while isinstance(place, dict):
        ((part, place),) = place.items()
        parts.append(part)
    return tuple(parts)


def _depth(parts: _Path) -> int:
    """The number of parts of a dotted key that name its section."""
    depth = 2 if parts[0] in _NAMED else 1 if parts[0] != "title" else 0
    return min(depth, len(parts) - 1)


def _put(document: dict[str, Any], parts: _Path, value: Any) -> dict[str, Any]:
    """Set a key of a document; the table of the section that it belongs to."""
    place = section = document
    for at, part in enumerate(parts[:-1]):
        inner = place.get(part)
        if isinstance(inner, str):  # a bare text stands for English
            inner = {"en": inner}
        place[part] = inner if isinstance(inner, dict) else {}
        place = place[part]
        section = place if at + 1 == _depth(parts) else section
    place[parts[-1]] = value
    return section


def _value(parts: _Path, word: str, place: Path) -> Any:
    """What a word means at a key: a value of TOML, a list of these, or a text."""
    plain = [part.strip() for part in word.split(",")]
    read = _toml(word)
    lists = [[*map(_toml, plain)], plain]
    # A list that has commas goes before a text that has them; for one word it is the other way.
    readings = [*lists, read, word] if plain[1:] and read == word else [read, word, *lists]
    wrong: list[Problem] = []
    for value in readings:
        inner = value
        for part in reversed(parts):
            inner = {part: inner}
        problems = from_document(inner, place)[1]
        own = [p for p in problems if p.key[: len(parts)] == parts or p.key == parts[: len(p.key)]]
        if not own:
            return value
        if value == word:
            wrong = own
    raise_problems(dotted(parts), wrong)
    raise AssertionError("a text that fits was taken")


def _toml(word: str) -> Any:
    """A number, true, false, a list or a table; anything else is a text."""
    try:
        value = tomllib.loads(f"_ = {word}")["_"]
    except tomllib.TOMLDecodeError:
        return word
    return value if isinstance(value, bool | int | float | str | list | dict) else word


def _edited(text: str, changed: Mapping[_Path, Mapping[str, Any]]) -> str:
    """The text with other values of some keys; sections that it lacks are written at its end."""
    lines = text.rstrip("\n").split("\n") if text.strip() else []
    for section, keys in changed.items():
        statements = LineIndex.of("\n".join(lines)).statements
        left = {key: f"{toml_key(key)} = {toml_value(value)}" for key, value in keys.items()}
        own = [one for one in statements if one.section == section]
        end = own[-1].stop if own else 0
        for one in reversed(own):
            if one.key in keys:
                new = [left.pop(one.key)] if one.key in left else []
                end += len(new) - (one.stop - one.start)
                lines[one.start : one.stop] = new
        if own or not section:
            lines[end:end] = left.values()
        elif left:
            lines += ["", f"[{dotted(section)}]", *left.values()]
    return "\n".join(lines).lstrip("\n") + "\n"
