"""The programme editor: tables chosen as in the table builder, beside the text that they make. What
was changed last holds: the fields of the open table, or the text.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from discreet.errors import DiscreetError
from discreet.files import toml_key, toml_value
from discreet.protection.protocol import all_of
from discreet_service.datasets import CatalogueUnit, DataVersion
from discreet_service.policies import Language
from discreet_service.queries import conditions_of, filter_text, table_sentence
from discreet_service.studio.choices import TableChoices, first_variables

_HEADER = re.compile(r"\s*\[")
#: A name that a table may have without quotes, and what a name may not have.
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
#: Figures of the builder that programmes write as an entry of a kind.
_KINDS = ("sum", "mean")
#: Keys of a table that say how it is protected.
_PROTECTION = ("protect", "value", "parts", "round_to")
#: What of a figure is how it is shown.
_LOOKS = frozenset(("title", "unit", "decimals"))
_LANGUAGES: tuple[Language, ...] = ("en", "de")


@dataclass(frozen=True, kw_only=True)
class OpenTable:
    """A table of a programme as a form shows it."""

    name: str
    choices: TableChoices  # Unit, variables, codes of filters, figures
    where: str  # A filter that is more than codes of variables
    title: Mapping[Language, str]  # Empty for the usual one


def table_form(name: str, entry: Mapping[str, Any], version: DataVersion) -> OpenTable:
    """The form of a table as its text says it."""
    unit, where = _unit_of(entry, version), str(entry.get("where") or "")
    pairs = [("unit", unit.name)]
    pairs += [("by", variable) for variable in entry.get("by") or () if isinstance(variable, str)]
    try:
        conditions = conditions_of(where, unit, version) if where else []
    except DiscreetError:
        conditions = []
    known = sorted({(one.variable, code) for one in conditions for code in one.codes})
    picks = {name: [code for variable, code in known if variable == name] for name, _ in known}
    if where and _where_of(picks, unit, version) == where:
        pairs += [(f"pick.{variable}", code) for variable, code in known]
        where = ""
    pairs += [("measures", figure) for figure in _measures_of(entry.get("figures"))]
    title = entry.get("title") or {}
    title = {"en": title, "de": title} if isinstance(title, str) else title
    own = {language: str(title.get(language, "")) for language in _LANGUAGES}
    shown = {
        language: "" if text == _usual(entry, version, language) else text
        for language, text in own.items()
    }
    return OpenTable(name=name, choices=TableChoices.of(version, pairs), where=where, title=shown)


def table_entry(
    form: Sequence[tuple[str, str]], old: Mapping[str, Any], version: DataVersion
) -> dict[str, Any]:
    """A table as a form says it; what the form does not show stays as it was."""
    chosen = [(field, value) for field, value in form if field.startswith(("pick.", "find."))
              or field in ("unit", "by", "measures", "open")]  # fmt: skip
    choices, sent = TableChoices.of(version, chosen), dict(form)
    unit, entry = choices.unit, dict(old)
    for key in ("from", "by", "where", "figures", "title"):
        entry.pop(key, None)
    if not version.inputs.programme.sources[unit.source].main:
        entry["from"] = unit.source
    entry["by"] = [*choices.levels]
    own = _where_of(choices.picks, unit, version)
    if where := all_of(sent.get("where"), own):
        entry["where"] = where
    kept = old.get("figures") if entry.get("from") == old.get("from") else {}
    figures = _figures_of(choices.measures, unit, kept if isinstance(kept, Mapping) else {})
    if "method" in sent:
        entry = _protected(entry, sent)
    if figures and not entry.get("value"):
        entry["figures"] = figures
    entry["title"] = {
        language: sent.get(f"title_{language}", "").strip() or _usual(entry, version, language)
        for language in _LANGUAGES
    }
    return entry


def _protected(entry: Mapping[str, Any], sent: Mapping[str, str]) -> dict[str, Any]:
    """A table with the method and the rules of a form; rules that are not set are the data set's.

    >>> _protected({"by": ["sex"], "parts": {}}, {"method": "noise", "round_to": "10"})
    {'by': ['sex'], 'round_to': 10}
    """
    method, _, value = sent["method"].partition(":")
    own: dict[str, Any] = {"protect": method, "value": [value]} if value else {}
    rounded = sent.get("round_to", "").strip()
    if not value and "parts" in sent:
        own["parts"] = {"enabled": True}
    if not value and rounded.isascii() and rounded.isdecimal() and len(rounded) < 8:
        own["round_to"] = int(rounded)
    return {key: each for key, each in entry.items() if key not in _PROTECTION} | own


def _usual(entry: Mapping[str, Any], version: DataVersion, language: Language) -> str:
    """The title of a table that was given none: what it shows."""
    shown = {key: each for key, each in entry.items() if key not in ("formats", "title")}
    return table_sentence(shown, version, language)


def first_table(version: DataVersion) -> dict[str, Any]:
    """A table to begin with: by a place and something else."""
    unit = _unit_of({}, version)
    by = [("by", one.name) for one in first_variables(unit)]
    return table_entry([("unit", unit.name), *by], {}, version)


def free_name(wanted: str, tables: Mapping[str, Any]) -> str:
    """A name that no table has.

    >>> free_name("people", {"people": {}, "people_2": {}})
    'people_3'
    """
    name, number = wanted, 1
    while name in tables:
        number += 1
        name = f"{wanted}_{number}"
    return name


def with_table(text: str, name: str, entry: Mapping[str, Any] | None, new_name: str = "") -> str:
    r"""The text of a programme with another entry of one table, or without it; all else stays.

    >>> text = '[defaults]\nformats = ["csv"]\n\n# People\n[tables.people]\nby = ["sex"]\n'
    >>> print(with_table(text, "homes", {"from": "households", "by": ["state"]}))
    [defaults]
    formats = ["csv"]
    <BLANKLINE>
    # People
    [tables.people]
    by = ["sex"]
    <BLANKLINE>
    [tables.homes]
    from = "households"
    by = ["state"]
    <BLANKLINE>
    """
    old, new_name = tomllib.loads(text), new_name or name
    tables = dict(old.get("tables") or {})
    wanted = {}
    for one, each in tables.items():
        if one != name:
            wanted[one] = each
        elif entry is not None:
            wanted[new_name] = entry
    if entry is not None and name not in tables:
        wanted[new_name] = entry
    lines = text.rstrip("\n").split("\n")
    own = _own_lines(lines, name)
    written = [] if entry is None else _written(new_name, entry)
    at = own[0] if own else len(lines)
    kept = [line for number, line in enumerate(lines) if number not in set(own)]
    if not own and written:
        written = ["", *written]
    elif own and at < len(kept) and written:
        written = [*written, ""]
    made = "\n".join([*kept[:at], *written, *kept[at:]]).rstrip("\n") + "\n"
    try:
        fits = tomllib.loads(made).get("tables", {}) == wanted
    except tomllib.TOMLDecodeError:
        fits = False
    if fits:
        return made
    # The table stands in another form in the text: it is written anew as a whole.
    rest = {key: each for key, each in old.items() if key != "tables"}
    plain = [f"{toml_key(key)} = {toml_value(each)}" for key, each in rest.items()]
    return "\n".join([*plain, *(line for one, each in wanted.items()
                                for line in ("", *_written(one, each)))]) + "\n"  # fmt: skip


def _own_lines(lines: Sequence[str], name: str) -> list[int]:
    """The lines of a table and of the tables in it; comments and empty lines at the end are not."""
    head = re.compile(rf"\s*\[\s*tables\s*\.\s*[\"']?{re.escape(name)}[\"']?\s*[.\]]")
    own, inside = list[int](), False
    for number, line in enumerate(lines):
        if _HEADER.match(line) and not line.lstrip().startswith("[["):
            inside = bool(head.match(line))
        if inside:
            own.append(number)
    while own and (not lines[own[-1]].strip() or lines[own[-1]].lstrip().startswith("#")):
        own.pop()
    if own and own[-1] + 1 < len(lines) and not lines[own[-1] + 1].strip():
        own.append(own[-1] + 1)
    return own


def _written(name: str, entry: Mapping[str, Any]) -> list[str]:
    lines = [f"[tables.{toml_key(name)}]"]
    lines += [f"{toml_key(key)} = {toml_value(each)}" for key, each in entry.items()
              if key != "figures"]  # fmt: skip
    if entry.get("figures"):
        lines += ["", f"[tables.{toml_key(name)}.figures]"]
        lines += [f"{toml_key(key)} = {toml_value(each)}" for key, each in entry["figures"].items()]
    return lines


def _unit_of(entry: Mapping[str, Any], version: DataVersion) -> CatalogueUnit:
    units, sources = [*version.units.values()], version.inputs.programme.sources
    source = entry.get("from")
    for unit in units:
        if unit.source == source or (not source and sources[unit.source].main):
            return unit
    return units[0]


def _where_of(picks: Mapping[str, Sequence[str]], unit: CatalogueUnit, version: DataVersion) -> str:
    schema = version.records(unit.name)[0].collect_schema() if picks else {}
    parts = []
    for name, codes in picks.items():
        variable = unit.variables[name]
        kept = [code for code in codes if variable.tree.index.get(code)]
        if kept:
            parts.append(filter_text(variable, kept, schema))
    return all_of(*parts)


def _measures_of(figures: Any) -> list[str]:
    """Figures of a table as the builder names them; others by their own names."""
    names = []
    for name, figure in figures.items() if isinstance(figures, Mapping) else ():
        keys = set(figure) - _LOOKS if isinstance(figure, Mapping) else set()
        kind = figure.get("kind") if keys else None
        if kind == "count" and keys == {"kind"}:
            names.append("count")
        elif kind in _KINDS and keys == {"kind", "of"}:
            names.append(f"{kind}:{figure['of']}")
        else:
            names.append(name)
    return names


def _figures_of(
    measures: Sequence[str], unit: CatalogueUnit, old: Mapping[str, Any]
) -> dict[str, Any]:
    """Figures of a table for those chosen; none for the count alone."""
    written = dict(zip(_measures_of(old), old.items(), strict=True))
    found: dict[str, Any] = {}
    for measure in measures:
        kind, _, column = measure.partition(":")
        if measure in written:
            name, figure = written[measure]
            found[name] = figure
        elif measure in unit.figures:
            found[measure] = unit.figures[measure].model_dump(mode="json", exclude_defaults=True)
        elif kind in _KINDS and column in unit.values:
            label = dict(unit.values[column].label)
            found[f"{kind}_{column}"] = {"kind": kind, "of": column, "title": label}
        elif measure == "count":
            found["count"] = {"kind": "count", "title": dict(unit.label)}
    return found if written or [*found] != ["count"] else {}


@dataclass(frozen=True, kw_only=True)
class ProgrammeDraft:
    """A programme that somebody is writing."""

    text: str
    opened: str = ""  # The table whose form is open

    @classmethod
    def of(
        cls, form: Sequence[tuple[str, str]], text: str, version_of: Any, act: str
    ) -> ProgrammeDraft:
        """Read a form and apply its action to its tables."""
        sent = dict(form)
        draft = cls(text=text, opened=sent.get("table", ""))
        try:
            programme = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError):
            return draft
        tables = programme.get("tables")
        tables = tables if isinstance(tables, dict) else {}
        version = version_of(programme)
        if version is None:
            return draft
        if draft.opened in tables and text == sent.get("known", "").replace("\r\n", "\n"):
            wanted = sent.get("name", "").strip()
            fits = _NAME.fullmatch(wanted) and (wanted == draft.opened or wanted not in tables)
            name = wanted if fits else draft.opened
            entry = table_entry(form, tables[draft.opened], version)
            if (name, entry) != (draft.opened, tables[draft.opened]):
                text = with_table(text, draft.opened, entry, name)
            draft = cls(text=text, opened=name)
            tables = tomllib.loads(text)["tables"]
        verb, _, name = act.partition(":")
        if verb == "new":
            name = free_name(_unit_of({}, version).name, tables)
            draft = cls(text=with_table(text, name, first_table(version)), opened=name)
        elif verb == "edit":
            draft = replace(draft, opened=name)
        elif verb == "drop" and name in tables:
            draft = cls(text=with_table(text, name, None))
        elif verb == "close":
            draft = replace(draft, opened="")
        return draft
