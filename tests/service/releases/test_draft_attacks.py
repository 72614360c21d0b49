"""What attacks find in a draft is told in steps, so that nothing of the noise follows from it."""

from types import SimpleNamespace
from typing import Any

import pytest

from discreet.errors import DiscreetError
from discreet.release import read_parameters
from discreet_service.releases import drafts
from discreet_service.releases.drafts import found_by_attacks


def version(table: Any = None) -> Any:
    return SimpleNamespace(parameters=SimpleNamespace(perturbation_table=table))


def reported(monkeypatch: pytest.MonkeyPatch, average: Any, determined: Any, cells: int) -> Any:
    """What is told where attacks find this."""
    rates = dict.fromkeys(drafts._TOLD_ATTACKS, 0) | {"average": average, "determined": determined}
    layers = [SimpleNamespace(cells=cells)]
    report = SimpleNamespace(rates=lambda: rates, universes=[SimpleNamespace(layers=layers)])
    monkeypatch.setattr(drafts, "attack", lambda *_, **__: report)
    return found_by_attacks(None, version())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("average", "determined", "cells", "told"),
    [
        (0.41, 0, 1_000, (0.5, 0.001)),
        (0.4999, 1, 1_000, (0.5, 0.001)),
        (0.51, 2, 1_000, (0.6, 0.002)),
        (1.7, 999, 1_000, (1.0, 0.999)),
        (None, None, 1_000, (None, None)),
        (0.1, 3, 0, (0.1, None)),
    ],
)
def test_rates_are_told_in_steps_and_never_as_none(
    monkeypatch: pytest.MonkeyPatch, average: Any, determined: Any, cells: int, told: Any
) -> None:
    found = reported(monkeypatch, average, determined, cells)
    assert (found["average"], found["determined"]) == told
    assert found["cells"] == cells
    assert set(found) == {"cells", "average", "determined", *drafts._TOLD_ATTACKS}


def test_drafts_without_noise_are_not_attacked(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: Any, **__: Any) -> Any:
        raise DiscreetError("nothing carries noise", code="attack")

    monkeypatch.setattr(drafts, "attack", none)
    assert found_by_attacks(None, version()) is None  # type: ignore[arg-type]

    def broken(*_: Any, **__: Any) -> Any:
        raise DiscreetError("the disk is full", code="disk-full")

    monkeypatch.setattr(drafts, "attack", broken)
    with pytest.raises(DiscreetError, match="disk is full"):
        found_by_attacks(None, version())  # type: ignore[arg-type]


def test_a_real_draft_is_attacked_with_its_own_table(office, made_release) -> None:
    table = read_parameters(office / "programme.toml").perturbation_table
    found = found_by_attacks(made_release, version(table))
    assert found is not None
    assert found["cells"] > 100
    assert round(10 * found["average"]) == pytest.approx(10 * found["average"])
    assert found["contradictions"] == 0
