"""Output of the safe commands in Stata (`fdz…`), as they print it.

In: lines below such a command. Out: a claim on those that have its form. A safe command shows
no small counts and no percentiles of too few cases; where a log does, they go, and a person looks
at it, since a log does not say what ran.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from discreet.files import texts_of
from discreet_fire.catalogue import command_table
from discreet_fire.logs.claims import NUMBER, Claim, LogCut, OutputForms, is_rule, numeric
from discreet_fire.logs.lines import LogLine
from discreet_fire.logs.rules import CleaningRules
from discreet_fire.statistics import LANGUAGES

_FIGURE = rf"\s{{1,40}}(?:{NUMBER.pattern}|\.|#)"
_COUNT = r"\s{1,40}(?P<n>\d[\d,]{0,14}|\.|#)"


def _form(text: str) -> re.Pattern[str]:
    """A form of line: ``<n>`` is a number of cases, ``<f>`` any figure."""
    return re.compile(text.replace("<n>", _COUNT).replace("<f>", _FIGURE))


#: The forms of the lines of each command.
_FORMS: dict[str, tuple[re.Pattern[str], ...]] = {
    name: tuple(map(_form, forms)) for name, forms in command_table().forms.items()
}


#: What a dot stands for, which looks like a command.
LEGENDS = frozenset(
    texts_of("discreet_fire.statistics", "lines", language)["withheld"] for language in LANGUAGES
)
_FORM = OutputForms("safe_outputs", "tabstat row withheld")
_DOUBT = "figures that a safe command does not show; look at where they come from"


def read_safe(
    window: Sequence[LogLine], rules: CleaningRules, names: Collection[str]
) -> Claim | None:
    """Lines that safe commands of these names printed."""
    lines = _Lines(names=names, rules=rules)
    count = 0
    while count < len(window) and lines.knows(window[count].text, count):
        count += 1
    if not count:
        return None
    return Claim(count, "safe", lines.cuts, _DOUBT if lines.cuts else "")


@dataclass(slots=True, kw_only=True)
class _Lines:
    """The lines of one output, one after the other."""

    names: Collection[str]
    rules: CleaningRules
    cuts: list[LogCut] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    cases: float = 0.0

    def knows(self, text: str, at: int) -> bool:
        """Whether the next line has a form of the command; what must go is noted."""
        if at and (is_rule(text) or text in LEGENDS):
            return True
        forms = (form for name in sorted(self.names) for form in _FORMS.get(name, ()))
        hit = next((match for form in forms if (match := form.fullmatch(text))), None)
        if hit is None:
            return "fdztabstat" in self.names and self._tabstat(text, at)
        parts = hit.groupdict()
        for name in ("n", "counts"):
            if parts.get(name) is not None:
                counts = [numeric(word) or 0.0 for word in parts[name].split() if word != "|"]
                self.cases = counts[0]
                self._check(text, at, hit.start(name), any(map(self._is_small, counts)))
        if parts.get("q") is not None:
            self._check(text, at, hit.start("value"), self._is_thin(int(parts["q"])))
        return True

    def _tabstat(self, text: str, at: int) -> bool:
        if (head := _FORM.tabstat.fullmatch(text)) is not None:
            self.words = head["words"].split()
            return True
        if _FORM.withheld.fullmatch(text):
            return bool(self.words)
        row = _FORM.row.fullmatch(text)
        values = row["figures"].split() if row is not None else []
        if row is None or len(values) != len(self.words):
            return False
        shown = dict(zip(self.words, map(numeric, values), strict=True))
        cases = shown.get("n", shown.get("count"))
        small = cases is not None and self._is_small(cases)
        if cases is not None:
            self.cases = cases
            shares = [
                int(word[1:]) for word, x in shown.items() if word[0] == "p" and x is not None
            ]
            small = small or any(map(self._is_thin, shares))
        self._check(text, at, row.start("figures"), small)
        return True

    def _is_small(self, count: float) -> bool:
        return 0 < count < self.rules.minimum

    def _is_thin(self, share: int) -> bool:
        return self.cases * min(share, 100 - share) < 100 * self.rules.percentile_cases

    def _check(self, text: str, at: int, start: int, broken: bool) -> None:
        """All figures of a line from a place on go if it breaks a rule."""
        if broken:
            self.cuts += [
                LogCut(at, match.start(), match.end(), "safe-command")
                for match in NUMBER.finditer(text, start)
            ]
