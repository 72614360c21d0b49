"""Policies in sentences: what each limit means, and what another policy would change. CONFIDENTIAL
but for sentences that are `public`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from discreet.publication import number_text
from discreet_service.policies.document import PolicyDocument
from discreet_service.policies.rules import Language

#: What stands in a policy besides limits.
_NO_LIMITS = frozenset(("dataset", "version", "revision", "rules"))
#: Sections whose keys are names of levels; of `patterns` each section is one.
_BY_LEVEL = ("variables.depth", "exposure.levels", "flows.depth")

Direction = Literal["looser", "stricter", ""]


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicySentence:
    """Meaning of one limit in words."""

    place: str  # Its key in the document: "variables.depth.state"
    rule: str  # The rule that it belongs to, P1 to P9
    heading: str  # What the rule is about
    value: Any  # The limit
    text: str  # The sentence
    label: str  # The same with a gap for the limit; empty if a limit is one of several words
    options: Mapping[str, str]  # Those words, each with its sentence
    percent: bool  # Whether a sentence tells the limit, a share, as a percentage
    public: bool  # Whether callers may know it


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyDifference:
    """A limit that another policy changes."""

    place: str
    rule: str
    heading: str
    before: str  # The sentence of the policy in force; empty if it has no such limit
    after: str  # That of the other one; empty if it has none
    direction: Direction  # What it does to callers; empty if that cannot be said


def policy_sentences(document: PolicyDocument, language: Language) -> list[PolicySentence]:
    """Meaning of the limits of a policy, in the order of the document.

    >>> from importlib.resources import files
    >>> text = files("discreet_service").joinpath("demo_policy.toml").read_text("utf-8")
    >>> [one.text for one in policy_sentences(PolicyDocument.of_text(text), "en")][3:5]
    ['A table uses at most 4 variables in addition to geography, filters included.', \
'Tables by state use at most 4 other variables.']
    """
    known = {place for place, _ in limits_of(document.public())}
    return [
        PolicySentence(
            place=place,
            rule=(entry := _entry(place)[0])["rule"],
            heading=_texts()["rules"][entry["rule"]][language],
            value=value,
            text=_sentence(place, value, language),
            label="" if (options := _options(entry, language)) else _gap(place, language),
            options=options,
            percent="{percent}" in entry.get(language, ""),
            public=place in known or place.startswith("custom_groups"),
        )
        for place, value in limits_of(document.model_dump(mode="json", exclude_none=True))
    ]


def policy_differences(
    before: PolicyDocument, after: PolicyDocument, language: Language
) -> list[PolicyDifference]:
    """Differences between two policies, limit by limit."""
    old, new = (
        {one.place: one for one in policy_sentences(document, language)}
        for document in (before, after)
    )
    differences = []
    for place in dict.fromkeys([*old, *new]):
        was, becomes = old.get(place), new.get(place)
        if was and becomes and was.value == becomes.value:
            continue
        some = becomes or was
        assert some is not None
        differences.append(
            PolicyDifference(
                place=place,
                rule=some.rule,
                heading=some.heading,
                before=was.text if was else "",
                after=becomes.text if becomes else "",
                direction=_direction(place, was, becomes),
            )
        )
    return differences


def limits_of(document: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """The limits of a document as JSON has it, each with its key.

    >>> list(limits_of({"revision": 1, "size": {"categories": 9}, "rates": {}}))
    [('size.categories', 9)]
    """
    for name, value in document.items():
        place = f"{above}.{name}" if above else name
        if isinstance(value, Mapping):
            yield from limits_of(value, place)
        elif place not in _NO_LIMITS:
            yield place, value


@cache
def _texts() -> Mapping[str, Any]:
    place = files("discreet_service.policies").joinpath("sentences.toml")
    return tomllib.loads(place.read_text("utf-8"))


def _entry(place: str) -> tuple[Mapping[str, Any], str]:
    """What is known of a limit, and the level or pattern that it names."""
    section, _, name = place.partition(".")
    for key in _BY_LEVEL:
        if place.startswith(f"{key}."):
            return _texts()[section][key.partition(".")[2]], place.removeprefix(f"{key}.")
    kind, _, limit = name.partition(".")
    if limit:
        return _texts()[section][limit], kind
    return _texts()[section][name], ""


def _gap(place: str, language: Language) -> str:
    return _sentence(place, "…", language).replace("….", "…")


def _options(entry: Mapping[str, Any], language: Language) -> Mapping[str, str]:
    return {name: texts[language] for name, texts in entry.items() if isinstance(texts, Mapping)}


def _sentence(place: str, value: Any, language: Language) -> str:
    entry, name = _entry(place)
    if isinstance(value, str) and value in entry:
        return str(entry[value][language])
    names = _texts()["names"]
    if name in names:
        name = names[name][language]
    elif name.isdecimal():
        name = names["level"][language].format(name=name)
    if isinstance(value, list):
        texts = [one["name"] if isinstance(one, Mapping) else str(one) for one in value]
        shown = ", ".join(texts) or names["none"][language]
    elif isinstance(value, str):
        shown = value
    else:
        shown = _number(value, language)
    percent = _number(round(100 * value, 2), language) if isinstance(value, float) else shown
    return str(entry[language].format(value=shown, percent=percent, name=name))


def _number(value: float, language: Language) -> str:
    if float(value).is_integer():
        return number_text(int(value), 0, language)
    return number_text(value, 1 if float(10 * value).is_integer() else 2, language)


def _direction(place: str, was: PolicySentence | None, becomes: PolicySentence | None) -> Direction:
    """What a change does to callers: a level that is not named is not answered."""
    entry = _entry(place)[0]
    larger: Direction = entry.get("more", "")
    if was is None or becomes is None:
        return "looser" if becomes else "stricter"
    if "looser" in entry:
        return "looser" if becomes.value == entry["looser"] else "stricter"
    if not larger:
        return ""
    before, after = was.value, becomes.value
    if isinstance(before, list):
        # One list that has all of the other and more.
        if all(one in after for one in before):
            return larger
        return "stricter" if all(one in before for one in after) else ""
    smaller: Direction = "stricter" if larger == "looser" else "looser"
    return larger if after > before else smaller
