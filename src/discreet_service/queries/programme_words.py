"""Programmes in sentences: what each table shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.errors import DiscreetError
from discreet_service.datasets import CatalogueUnit, DataVersion
from discreet_service.policies import Language
from discreet_service.queries.presentation import said_in
from discreet_service.queries.programme_tables import conditions_of

#: Categories of a filter that a sentence names.
_LABELS = 5

#: Words of the sentences, by language: by, and, filter, values, total.
_WORDS: Mapping[Language, Mapping[str, str]] = {
    "en": {"by": "by", "and": "and", "where": "filter", "figures": "values", "none": "in total"},
    "de": {"by": "nach", "and": "und", "where": "Filter", "figures": "Werte", "none": "insgesamt"},
}


def programme_sentences(
    programme: Mapping[str, Any], version: DataVersion, language: Language
) -> dict[str, str]:
    """Table → what it shows, of a programme as its text was parsed; what is wrong in it stays so.

    A table that shows the same as another has the same sentence.
    """
    tables, defaults = _mapping(programme.get("tables")), _mapping(programme.get("defaults"))
    return {
        name: table_sentence({**defaults, **_mapping(entry)}, version, language)
        for name, entry in tables.items()
    }


def table_sentence(entry: Mapping[str, Any], version: DataVersion, language: Language) -> str:
    """Sentence on the content of one table of a programme."""
    words, units = _WORDS[language], version.units.values()
    sources, source = version.inputs.programme.sources, entry.get("from")
    fits = [one for one in units
            if one.source == source or (not source and sources[one.source].main)]  # fmt: skip
    unit = fits[0] if fits else None
    counted = said_in(unit.label, language, unit.name) if unit else str(source)
    names = []
    for name in _list(entry.get("by")):
        known = unit.variables.get(name) if unit else None
        names.append(known.tree.title(language) if known else name)
    spanning = words["none"]
    if names:
        last = f" {words['and']} {names[-1]}" if names[1:] else ""
        spanning = f"{words['by']} {', '.join(names[:-1] if last else names)}{last}"
    parts = [f"{counted} {spanning}"]
    if entry.get("where"):
        parts.append(_filter(str(entry["where"]), unit, version, language))
    figures = _mapping(entry.get("figures"))
    if figures:
        titles = [_title(figure, language) or name for name, figure in figures.items()]
        parts.append(f"{words['figures']}: {', '.join(titles)}")
    if formats := _list(entry.get("formats")):
        parts.append(", ".join(formats))
    return "; ".join(parts)


def _filter(text: str, unit: CatalogueUnit | None, version: DataVersion, language: Language) -> str:
    """Whom a filter leaves: the categories that it names, or as it is written."""
    written = f"{_WORDS[language]['where']}: {text}"
    if unit is None:
        return written
    try:
        conditions = conditions_of(text, unit, version)
    except DiscreetError:
        return written
    said = []
    for one in conditions:
        tree = unit.variables[one.variable].tree
        labels = [tree.label(code, language) for code in one.codes]
        more = f" + {len(labels) - _LABELS}" if labels[_LABELS:] else ""
        said.append(f"{tree.title(language)}: {', '.join(labels[:_LABELS])}{more}")
    return "; ".join(said) or written


def _title(figure: Any, language: Language) -> str:
    title = _mapping(figure).get("title", "")
    return str(title.get(language, "")) if isinstance(title, Mapping) else str(title)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else []
