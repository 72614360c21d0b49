"""Rewrite a text, and what was said of it; for the tests of everyday forms."""

from __future__ import annotations

from discreet_fire.rewriting.do_files import Rewriting, rewrite

__all__ = ["REFUSED", "rewritten", "said"]

REFUSED = "*FDZ: command not permitted in remote execution"


def rewritten(text: str) -> Rewriting:
    """What becomes of a text; rewriting it once more changes nothing."""
    done = rewrite(text)
    assert rewrite(done.text).text == done.text
    return done


def said(done: Rewriting) -> list[tuple[str, str]]:
    return [(finding.severity.value, finding.rule) for finding in done.findings]
