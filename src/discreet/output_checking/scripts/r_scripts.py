"""Rewrite R scripts: safe functions in, code that may not run out.

In: the text of a script and a policy. Out: a `Rewriting`. A value that R would print by
itself is made invisible, unless it tells nothing of the data or has a safe form.
"""

from __future__ import annotations

from collections.abc import Sequence

from discreet.output_checking.rewriting import Language, Rewriting
from discreet.output_checking.scripts.documents import code_of
from discreet.output_checking.scripts.places import Notes
from discreet.output_checking.scripts.policies import ScriptPolicy
from discreet.output_checking.scripts.r_names import RNames
from discreet.output_checking.scripts.r_tokens import RSyntaxError
from discreet.output_checking.scripts.r_tree import parse_r
from discreet.output_checking.scripts.r_walking import Walker
from discreet.output_checking.texts import Lines

__all__ = ["rewrite_r"]


def rewrite_r(
    text: str,
    policy: ScriptPolicy | None = None,
    *,
    language: Language = "en",
    parts: Sequence[tuple[int, int]] | None = None,
) -> Rewriting:
    r"""Rewrite the text of one R script.

    Args:
        text: The program.
        policy: The rules; those that come with discreet if None.
        language: Of the wording for code that may not run.
        parts: Where the code is, if the text is a document with code chunks.

    >>> print(rewrite_r("d <- read.csv('a')\nsummary(d)\nd\n").text.split("\n", 1)[1], end="")
    d <- read.csv('a')
    fdz_summary(d)
    invisible(d)
    """
    notes = Notes(text=text, lines=Lines(text))
    try:
        tree = parse_r(code_of(text, parts))
        Walker(RNames(tree, policy or ScriptPolicy.default("r")), notes, language).run(tree)
    except RSyntaxError as error:
        notes.give_up_syntax(f"this R cannot be parsed: {error.what}", error.at)
    except RecursionError:
        notes.give_up_deep()
    return notes.rewriting()
