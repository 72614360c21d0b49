"""The right-hand side of a model in Stata's notation: `age i.sex ib3.region#c.age`.

In: words as a researcher writes them. Out: terms, each a product of factors; `##` is written
out. Levels are not known here.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from discreet.errors import OutputCheckError

__all__ = ["Factor", "Term", "parse_terms"]

_NAME = r"[^\W\d]\w*"
_FACTOR = re.compile(
    rf"(?:(?P<kind>c|i|i\(\s*(?P<some>\d+(?:\s+\d+)*)\s*\)|i(?P<one>\d+)"
    rf"|i?b(?P<base>\d+|n|\(\s*(?:first|last|freq|none)\s*\)))\.)?(?P<name>{_NAME})"
)
_WORD = re.compile(r"(?:\([^()]*\)|[^\s()])+")


@dataclass(frozen=True, kw_only=True)
class Factor:
    """One variable in a term.

    Args:
        name: The variable.
        levels: Whether it stands for indicators of its levels (`i.`), else for its numbers.
        base: Level without an indicator of its own: "first", "last", "freq", "none" or a number.
        only: Indicators of these levels only (`i(2 3).x`); empty for all.
    """

    name: str
    levels: bool
    base: Literal["first", "last", "freq", "none"] | int = "first"
    only: tuple[int, ...] = ()


@dataclass(frozen=True)
class Term:
    """A product of factors; `text` is how it is written."""

    factors: tuple[Factor, ...]

    @property
    def text(self) -> str:
        """The term with a prefix at each variable.

        >>> parse_terms(["sex#c.age"])[0].text
        'i.sex#c.age'
        """
        if len(self.factors) == 1 and not self.factors[0].levels:
            return self.factors[0].name
        return "#".join(f"{'i' if part.levels else 'c'}.{part.name}" for part in self.factors)

    @property
    def names(self) -> tuple[tuple[str, bool], ...]:
        """Variables and kinds in an order of their own, to compare terms with."""
        return tuple(sorted((part.name, part.levels) for part in self.factors))

    @property
    def only(self) -> list[tuple[str, tuple[int, ...]]]:
        """The levels that each variable is limited to."""
        return sorted((part.name, tuple(sorted(set(part.only)))) for part in self.factors)


def parse_terms(terms: str | Sequence[str]) -> tuple[Term, ...]:
    """Terms from one text, or one word each.

    Args:
        terms: For example `"age i.sex##c.age"` or `["age", "ib3.region"]`.

    >>> [term.text for term in parse_terms("age ib3.region##c.age")]
    ['age', 'i.region', 'i.region#c.age']
    """
    parts = [terms] if isinstance(terms, str) else list(terms)
    if not all(isinstance(part, str) for part in parts):
        raise _wrong("terms are texts", "", hint='for example ["age", "i.sex"]')
    found: dict[tuple[tuple[str, bool], ...], Term] = {}
    for word in itertools.chain.from_iterable(_words(part) for part in parts):
        for term in _written_out(word):
            # A continuous variable is the same with and without its prefix.
            known = found.setdefault(term.names, term)
            if known.only != term.only:
                hint = "name all levels in one place: i(1 2 3).x"
                raise _wrong("the same term stands twice, with different levels", word, hint)
    return tuple(found.values())


def _words(text: str) -> list[str]:
    if re.sub(_WORD, "", text).strip():
        raise _wrong("the brackets do not match", text.strip())
    return _WORD.findall(text)


def _written_out(word: str) -> list[Term]:
    pieces = re.split(r"#+", word)
    marks = set(re.findall(r"#+", word))
    if len(marks) > 1 or any(len(mark) > 2 for mark in marks) or "" in pieces:
        hint = "a#b is the product, a##b stands for a b a#b; write mixtures out"
        raise _wrong("this product is not understood", word, hint=hint)
    factors = [_factor(piece, word, product=len(pieces) > 1) for piece in pieces]
    if marks != {"##"}:
        return [Term(tuple(factors))]
    sizes = range(1, len(factors) + 1)
    return [Term(some) for size in sizes for some in itertools.combinations(factors, size)]


def _factor(piece: str, word: str, *, product: bool) -> Factor:
    match = _FACTOR.fullmatch(piece)
    if match is None:
        raise _wrong(
            "this term is not understood",
            word,
            hint="known: x, c.x, i.x, ib3.x, ib(last).x, ibn.x, i(1 2).x, i.x#c.z and i.x##c.z; "
            "no time series operators",
        )
    kind, name = match["kind"], match["name"]
    if kind == "c" or (kind is None and not product):
        return Factor(name=name, levels=False)
    base = (match["base"] or "first").strip("( )")
    only = tuple(int(level) for level in (match["some"] or match["one"] or "").split())
    if only:
        return Factor(name=name, levels=True, base="none", only=only)
    if base.isdigit():
        return Factor(name=name, levels=True, base=int(base))
    words: dict[str, Literal["first", "last", "freq", "none"]] = {
        "n": "none", "none": "none", "first": "first", "last": "last", "freq": "freq",
    }  # fmt: skip
    return Factor(name=name, levels=True, base=words[base])


def _wrong(what: str, where: str, hint: str = "") -> OutputCheckError:
    return OutputCheckError(what, code="terms", where=where, hint=hint)
