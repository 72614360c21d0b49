"""Repeat what a session handed in, on the data of the centre: nothing of it has to be believed.

In: what was asked for (from a folder that anybody can have written), records and rules of the
centre (CONFIDENTIAL). Out: for each output whether its files are what the call gives, and what the
tables give away, taken together.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import DiscreetError
from discreet_fire.findings import Finding
from discreet_fire.research_session.calls import CallResult, CallSetting, answered
from discreet_fire.research_session.linked_outputs import linked_notes, not_followed
from discreet_fire.research_session.notebook import shown_output
from discreet_fire.research_session.session_data import SessionData
from discreet_fire.research_session.submission_folder import HandedOutput, HandedSession, files_of
from discreet_fire.statistics import SafeLimits


@dataclass(frozen=True, kw_only=True, repr=False)
class RepeatedOutput:
    """One output that was repeated (confidential)."""

    handed: HandedOutput  # as it was handed in
    result: CallResult | None  # what the call gave here; None if it failed
    files: dict[str, str]  # what its files hold when they are made here
    failure: str  # why the call failed; empty if it did not


@dataclass(frozen=True, kw_only=True, repr=False)
class SessionRepetition:
    """A session that was repeated (confidential)."""

    outputs: tuple[RepeatedOutput, ...]
    linked: tuple[Finding, ...]  # what its tables give away, taken together
    unfollowed: tuple[int, ...]  # outputs whose counts were not held against others


def repeated(handed: HandedSession, data: SessionData, limits: SafeLimits) -> SessionRepetition:
    """Repeat all calls of a session."""
    outputs: list[RepeatedOutput] = []
    results: dict[int, CallResult] = {}
    for one in handed.outputs:
        earlier = [result.result for result in results.values() if result.about == "model"]
        title = f"output {one.number}, {one.call.method}"
        setting = CallSetting(data=data, limits=limits, title=title, earlier=earlier)
        result, files, failure = None, {}, ""
        try:
            result = answered(one.call.call, setting)
            hidden = frozenset(one.hidden)
            shown = shown_output(one.call.call, result, one.number, one.name, limits, hidden)
            files = files_of(shown)
            results[one.number] = result
        except DiscreetError as error:
            result, failure = None, f"{error.code}: {error.what}"
        except Exception as error:  # arguments that no session writes; a text may quote data
            result, failure = None, type(error).__name__
        outputs.append(RepeatedOutput(handed=one, result=result, files=files, failure=failure))
    hidden_of = {one.number: frozenset(one.hidden) for one in handed.outputs}
    return SessionRepetition(
        outputs=tuple(outputs),
        linked=linked_notes(results, limits, hidden_of),
        unfollowed=not_followed(results),
    )
