"""The release of the firms: sensitive cells hidden, and audited as it stands in its folder.

In: the folder of firms and programme. Out: the release in a folder of its own, and in numbers
how much is hidden. An error unless every sensitive cell is proven to be protected.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import PublicationError

if TYPE_CHECKING:
    from discreet.release import ReleaseSummary

__all__ = ["HiddenFirms", "audited", "hide"]


@dataclass(frozen=True, kw_only=True)
class HiddenFirms:
    """What came of it.

    Args:
        release: The release of the firms.
        figures: Number of its figures; one that several tables share counts once.
        hidden: How many of them are hidden.
        sensitive: How many of those are sensitive; each is proven to be protected.
    """

    release: ReleaseSummary
    figures: int
    hidden: int
    sensitive: int

    def text(self) -> str:
        """The same for people."""
        return (
            f"Firms: {self.hidden:,} of {self.figures:,} figures are hidden, {self.sensitive:,} of "
            f"them by the rules.\nAn audit of {self.release.out} proves each of these protected."
        )

    def described(self) -> dict[str, Any]:
        """The same for programs."""
        return {
            "out": str(self.release.out),
            "figures": self.figures,
            "hidden": self.hidden,
            "sensitive": self.sensitive,
        }


def hide(
    programme: Path, out: Path, *, progress: Callable[[int, int, str], None] | None = None
) -> HiddenFirms:
    """Protect the tables of the firms, and audit what stands in the folder then.

    Args:
        programme: The programme, with the firms beside it.
        out: The folder of the release.
        progress: As for `discreet.protect`.
    """
    from discreet.release import protect

    return audited(programme, protect(programme, out, progress=progress))


def audited(programme: Path, release: ReleaseSummary) -> HiddenFirms:
    """Look for what anyone can work out; an error if a sensitive cell is not protected.

    Args:
        programme: The programme, with the firms beside it.
        release: The release.
    """
    from discreet.release import audit_release

    found = audit_release(programme, release.out)
    if not found.safe:
        raise PublicationError(
            "the release of the firms is not safe, or was changed",
            code="demo-firms",
            where=str(release.out),
            hint="use an empty folder for the demonstration",
        )
    audits = found.audits.values()
    return HiddenFirms(
        release=release,
        figures=sum(len(each.hidden) for each in audits),
        hidden=sum(int(each.hidden.sum()) for each in audits),
        sensitive=sum(int(each.sensitive.sum()) for each in audits),
    )
