"""Values that add up: what a programme states, what was found, and which tables that links.

In: [relations], and what was found in the records. Out: the relations that hold for a table,
what is wrong with them, and values that add up although two methods publish them. Nothing
here has seen data.
"""

from __future__ import annotations

from discreet.errors import DiscreetError
from discreet.protection.problems import Found
from discreet.protection.registry import clash, protections
from discreet.release.programme.file import Programme
from discreet.tables import ValueRelation


def check_relations(programme: Programme) -> Found:
    """Relations that cannot be read."""
    for key, text in programme.document.relations.items():
        try:
            ValueRelation.stated(key, text)
        except DiscreetError as error:
            hint = 'total = "home + foreign", or any name with "assets = debts + equity"'
            yield programme.at(("relations", key), error.what, hint)
    yield from related_mixtures(programme)


def related_mixtures(programme: Programme) -> Found:
    """Values that add up and are published by two methods: each is worked out from the others."""
    methods = [method for method in protections() if programme.protected[method.name]]
    if len(methods) < 2:
        return
    for each, names in programme.linked_by_relations(list(programme.tables)):
        values = {value for name in names for value in programme.tells(name)}
        first = programme.method(names[0]).name
        other = next((n for n in names if programme.method(n).name != first), None)
        if other is None or not set(each.values) <= values:
            continue
        second = programme.method(other).name
        message = f"{each.text}: additive values would be published by {first} and by {second}"
        hint = f"{clash(first, second)[0]}: use the same protection for all of them"
        yield programme.at(programme.setting(other, "protect"), message, hint)
