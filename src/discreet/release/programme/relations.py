"""Values that add up: what a programme states, what was found, and which tables that links.

In: [relations], and what was found in the records. Out: the relations that hold for a table,
what is wrong with them, and values that add up although two methods publish them. Nothing
here has seen data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from discreet.errors import DiscreetError
from discreet.protection.problems import Found
from discreet.protection.registry import clash, protections
from discreet.release.programme.file import Programme
from discreet.tables import ValueRelation


def stated_relations(programme: Programme) -> list[ValueRelation]:
    """The relations of [relations]; those with mistakes are reported by the checks."""
    relations = []
    for key, text in programme.document.relations.items():
        try:
            relations.append(ValueRelation.read(_whole(key, text)))
        except DiscreetError:
            continue
    return relations


def relations_of(programme: Programme, table: str) -> list[ValueRelation]:
    """What adds up in the cells of a table: as stated, or as found among its records."""
    place, where = programme.places[table], programme.tables[table].where or ""
    known = programme.found_relations
    found = [*known.get((place, ""), ()), *(known.get((place, where), ()) if where else ())]
    return list(dict.fromkeys([*stated_relations(programme), *found]))


def all_relations(programme: Programme) -> list[ValueRelation]:
    """Every relation that is stated, or was found among any records."""
    found = [each for some in programme.found_relations.values() for each in some]
    return list(dict.fromkeys([*stated_relations(programme), *found]))


def _whole(key: str, text: str) -> str:
    """A relation with both sides: its key is the left one, unless the text has two."""
    return text if "=" in text else f"`{key}` = {text}"


def check_relations(programme: Programme) -> Found:
    """Relations that cannot be read."""
    for key, text in programme.document.relations.items():
        try:
            ValueRelation.read(_whole(key, text))
        except DiscreetError as error:
            hint = 'total = "home + foreign", or any name with "assets = debts + equity"'
            yield programme.at(("relations", key), error.what, hint)
    yield from related_mixtures(programme)


def idle_relations(programme: Programme) -> Iterator[str]:
    """Warnings about relations of which no two values are published."""
    values = {value for table in programme.tables for value in programme.tells(table)}
    for stated_relation in stated_relations(programme):
        if len(values & set(stated_relation.values)) < 2:
            text = stated_relation.text
            yield f"[relations] {text} does nothing: no two of its values are published"


def linked_by_relations(
    programme: Programme, tables: Sequence[str]
) -> Iterator[tuple[ValueRelation, list[str]]]:
    """Relations, each with tables of the same records and weights that tell of its values."""
    places = programme.places
    groups: dict[tuple[str, str], list[str]] = {}
    for name in tables:
        groups.setdefault((places[name], programme.tables[name].weight or ""), []).append(name)
    for names in groups.values():
        users: dict[ValueRelation, list[str]] = {}
        for name in names:
            for relation in relations_of(programme, name):
                if set(relation.values) & set(programme.tells(name)):
                    users.setdefault(relation, []).append(name)
        for relation, own in users.items():
            told = {value for name in own for value in programme.tells(name)} & set(relation.values)
            if len(told) > 1:
                yield relation, own


def related_mixtures(programme: Programme) -> Found:
    """Values that add up and are published by two methods: each is worked out from the others."""
    methods = [method for method in protections() if programme.protected[method.name]]
    if len(methods) < 2:
        return
    for each, names in linked_by_relations(programme, list(programme.tables)):
        values = {value for name in names for value in programme.tells(name)}
        first = programme.method(names[0]).name
        other = next((n for n in names if programme.method(n).name != first), None)
        if other is None or not set(each.values) <= values:
            continue
        second = programme.method(other).name
        message = f"{each.text}: values that add up would be published by {first} and by {second}"
        hint = f"{clash(first, second)[0]}: protect all of them in one way"
        yield programme.at(programme.setting(other, "protect"), message, hint)
