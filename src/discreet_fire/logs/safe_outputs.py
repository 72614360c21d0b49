"""Output of the safe commands in Stata (`fdz…`), as they print it.

In: lines below such a command. Out: a claim on those that have its form. A safe command shows
no small counts and no percentiles of too few cases; where a log does, they go, and a person looks
at it, since a log does not say what ran.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from discreet.files import texts_of
from discreet_fire.catalogue import stata_catalogue
from discreet_fire.logs.claims import NUMBER, Claim, LogCut, OutputForms, is_rule, numeric
from discreet_fire.logs.lines import LogLine
from discreet_fire.logs.rules import CleaningRules
from discreet_fire.logs.table_rules import far_out
from discreet_fire.statistics import LANGUAGES

_FIGURE = rf"\s{{1,40}}(?:{NUMBER.pattern}|\.|#)"
_COUNT = r"\s{1,40}(?P<n>\d[\d,]{0,14}|\.|#)"
#: The forms of the lines of each command: ``<n>`` is a number of cases, ``<f>`` any figure.
_FORMS: dict[str, tuple[re.Pattern[str], ...]] = {
    name: tuple(re.compile(one.replace("<n>", _COUNT).replace("<f>", _FIGURE)) for one in forms)
    for name, forms in stata_catalogue()["forms"].items()
}
#: What a dot stands for, which looks like a command.
LEGENDS = frozenset(
    texts_of("discreet_fire.statistics", "lines", language)["withheld"] for language in LANGUAGES
)
_FORM = OutputForms("safe_outputs")
_DOUBT = "safe_command"


def read_safe(
    window: Sequence[LogLine], rules: CleaningRules, names: Collection[str]
) -> Claim | None:
    """Lines that safe commands of these names printed."""
    forms = [form for name in sorted(names) for form in _FORMS.get(name, ())]
    cuts: list[LogCut] = []
    words: list[str] = []  # the statistics of tabstat
    cases = 0.0
    end = 0
    for at, line in enumerate(window):
        text = line.text
        hit = next((match for form in forms if (match := form.fullmatch(text))), None)
        parts = hit.groupdict() if hit is not None else {}
        broken: list[int] = []  # where figures start that break a rule
        for name in ("n", "counts"):
            if hit is not None and parts.get(name) is not None:
                counts = [numeric(word) or 0.0 for word in parts[name].split() if word != "|"]
                cases = counts[0]
                broken += [hit.start(name)] if any(map(rules.few, counts)) else []
        if hit is not None and parts.get("q") is not None:
            broken += [hit.start("value")] if far_out(int(parts["q"]), cases, rules) else []
        row = _FORM.row.fullmatch(text) if hit is None and "fdztabstat" in names else None
        head = _FORM.tabstat.fullmatch(text) if hit is None and "fdztabstat" in names else None
        if (at and (is_rule(text) or text in LEGENDS)) or hit is not None:
            pass
        elif head is not None:
            words = head["words"].split()
        elif row is not None and len(row["figures"].split()) == len(words):
            shown = dict(zip(words, map(numeric, row["figures"].split()), strict=True))
            count = shown.get("n", shown.get("count"))
            if count is not None:
                cases = count
                shares = [name for name, one in shown.items() if name[0] == "p" and one is not None]
                few = rules.few(count)
                few = few or any(far_out(int(share[1:]), cases, rules) for share in shares)
                broken += [row.start("figures")] if few else []
        elif not (words and _FORM.withheld.fullmatch(text)):
            break
        for start in broken:  # all figures go
            figures = NUMBER.finditer(text, start)
            cuts += [LogCut(at, one.start(), one.end(), "safe-command") for one in figures]
        end = at + 1
    return Claim(end, "safe", cuts, _DOUBT if cuts else "") if end else None
