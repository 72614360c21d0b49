"""Submissions of the demonstration's researcher, brought as far as a page is to show them."""

from pathlib import Path
from tempfile import TemporaryDirectory

from discreet_fire.queue import OutputDecision, PartVerdict, Submission, open_queue, submit
from discreet_service.permissions import Grant, Principal
from discreet_service.service import Service

REVIEWERS = tuple(
    Principal(name=name, kind="session", grants=(Grant("reviewer"),)) for name in ("vera", "viktor")
)
_WHY = "large groups, nothing is given away"


def handed_in(service: Service, name: str, program: str, project: str = "P9 health") -> int:
    """A program of the researcher, run and put into the queue; its number."""
    reviews = service.reviews.settings
    with TemporaryDirectory() as folder, open_queue(reviews.queue) as queue:
        path = Path(folder) / name
        path.write_text(program)
        handed = Submission(
            program=path,
            researcher="rosa",
            project=project,
            data=(reviews.folder / reviews.data["wages"],),
            unit="pid",
        )
        return submit(queue, handed)


def accepted(service: Service, number: int, approvals: int) -> None:
    """Accept all its outputs, with so many approvals."""
    desk, (first, _) = service.reviews, REVIEWERS
    standing = desk.report(first, number).view.row.standing
    every = {one.number: OutputDecision(verdict=PartVerdict.accept) for one in standing.parts}
    done = desk.decide(first, number, every, reason=_WHY, version=standing.version)
    for who in REVIEWERS[:approvals]:
        done = desk.act(who, number, "approve", reason=_WHY, version=done.version)
