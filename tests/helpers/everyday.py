"""Rewrite a text, and what was said of it; for the tests of everyday forms."""

from discreet_fire.findings import Severity
from discreet_fire.rewriting.do_files import Rewriting, rewrite

__all__ = ["REFUSED", "rewritten", "rules", "said", "shown"]

REFUSED = "*FDZ: command not permitted in remote execution"


def rewritten(text: str) -> Rewriting:
    """What becomes of a text; rewriting it once more changes nothing."""
    done = rewrite(text)
    assert rewrite(done.text).text == done.text
    return done


def said(done: Rewriting) -> list[tuple[str, str]]:
    return [(finding.severity.value, finding.rule) for finding in done.findings]


def rules(text: str, severity: Severity = Severity.REVIEW) -> list[str]:
    """The rules of the findings of one severity."""
    return [finding.rule for finding in rewrite(text).findings if finding.severity is severity]


def shown(text: str, line: int = 0) -> str | None:
    """What becomes of figures that a text, or a line of it, would show; None if it shows none."""
    found = {
        finding.severity.value
        for finding in rewritten(text).findings
        if finding.rule == "shown" and line in (0, finding.line)
    }
    assert len(found) <= 1
    return found.pop() if found else None
