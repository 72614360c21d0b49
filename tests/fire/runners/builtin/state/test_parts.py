"""Parts of a session: what is put back after steps that single values have chosen."""

from __future__ import annotations

import ast
from dataclasses import field, fields
from pathlib import Path

import numpy as np
import pytest

from discreet_fire.runners import builtin
from discreet_fire.runners.builtin.disclosure.command_effects import StateBeforeCommand
from discreet_fire.runners.builtin.language.macros import Macros
from discreet_fire.runners.builtin.state import parts
from discreet_fire.runners.builtin.state.session import Session
from discreet_fire.statistics.limits import SafeLimits

RESTORED = {"preserved", "files", "model", "fitted", "key", "trims", "draw", "values"}


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path, SafeLimits(), seed=3)


def test_a_field_that_does_not_say_what_becomes_of_it_is_an_error() -> None:
    with pytest.raises(TypeError, match="neither restored nor lasting"):

        @parts._part
        class Forgotten(parts.SessionPart):
            count: int = field(default=0)


def test_every_part_is_put_back(session: Session) -> None:
    fixed = {"limits", "entity", "trace"}
    mutable = vars(session).keys() - fixed
    assert {id(getattr(session, name)) for name in mutable} == {id(one) for one in session.parts}
    before = [part.checkpoint() for part in session.parts]
    assert {name for kept in before for name in kept} == RESTORED
    first = np.random.default_rng(3).random()
    session.options.draw.random(5)
    session.options.values["type"] = "double"
    session.history.trims.add("age > 3")
    session.history.key = b"other"
    session.results.model = object()
    for part, kept in zip(session.parts, before, strict=True):
        part.restore(kept)
    assert session.options.draw.random() == first
    assert (session.options.values, session.history.trims, session.history.key) == ({}, set(), b"")
    assert session.results.model is None


def test_no_part_shows_what_it_holds(session: Session) -> None:
    session.results.scalars["secret"] = 1234.5
    assert all("1234" not in repr(part) and "secret" not in repr(part) for part in session.parts)
    assert all(one.metadata.keys() == {"copy"} for part in session.parts for one in fields(part))


def test_what_commands_hand_on_does_not_print_what_it_holds(session: Session) -> None:
    session.trace.levels[0, "a"] = frozenset({"1234.5"})
    session.trace.names.add("income_1234")
    macros = Macros({"a": "1234.5"}, {})
    before = StateBeforeCommand(
        session=session, data=session.data, variables={}, rows=0, labels={"l": {1234.5: "secret"}}
    )
    assert all("1234" not in repr(one) for one in (session.trace, macros, before))


def test_no_command_takes_back_what_the_trace_knows() -> None:
    """Flags of the trace are set by its own methods, which never take one back."""
    root = Path(builtin.__path__[0])
    found = [
        f"{path.name}:{node.lineno} {ast.unparse(target)}"
        for path in sorted(root.rglob("*.py"))
        if path.parent.name != "state"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Assign | ast.AugAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        for flag in ("touched", "few", "plain", "code", "branches", "doubts", "quiet")
        if ast.unparse(target).endswith((f"trace.{flag}", f"log.{flag}"))
    ]
    assert not found
