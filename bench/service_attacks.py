"""Attacks on a service that runs, with the census of the demonstration: how often they succeed.

Run it alone: python bench/service_attacks.py [--pairs 200]. Prints the table that stands in
docs/service/policies.md; times of refusals need a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from importlib.resources import files
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from discreet_service.demo import make_demonstration
from tests.helpers import service_equality as equality
from tests.helpers import service_extraction as extraction
from tests.helpers.running_service import RunningDemo, running_demo
from tests.helpers.service_attacks import (
    AttackRate,
    forged_lines,
    guessed_jobs,
    guessing_hidden_cells,
    other_policy,
    people,
    probed_tags,
    real_keys,
    refusal_times,
    repeated_spelling,
    replayed_packages,
    told_by_time,
    without_rules,
)
from tests.helpers.service_averaging import averaging_catalogue, averaging_free_groups
from tests.helpers.service_data import OPEN_POLICY

HEAD = """| attack | success | n | without | with the policy (95 %) |
|---|---|---|---|---|"""

#: Gives a service that nobody asked before; with what is done to it before it runs.
Fresh = Callable[..., AbstractContextManager[RunningDemo]]


def questions(fresh: Fresh, pairs: int, many: int) -> Iterator[AttackRate]:
    """Numbers of jobs, spellings, hidden cells, packages, lines of the log, tags; time."""
    with fresh() as demo:
        yield guessed_jobs(demo, 20 * many)
        yield repeated_spelling(demo, 40)
        yield guessing_hidden_cells(demo)
        yield replayed_packages(demo)
        yield forged_lines(demo)
        yield probed_tags(demo)
        yield told_by_time(refusal_times(demo, pairs))


def averaging(fresh: Fresh, many: int) -> Iterator[AttackRate]:
    """By four keys together, each kind on a service that nobody asked before."""
    with fresh(other_policy(OPEN_POLICY)) as demo, without_rules("P6"):
        unruled = averaging_free_groups(demo, real_keys(demo, "requester", 4), many)
    with fresh() as demo:
        found = averaging_free_groups(demo, real_keys(demo, "requester", 4), many)
    yield replace(found, without=unruled.rate)
    for level in ("municipality", "district", "state", ""):
        with fresh() as demo:  # what one level exposes keeps others from being answered
            keys = real_keys(demo, "requester", 4)
            yield averaging_catalogue(demo, level, keys)
            if level == "municipality":
                sexes = averaging_catalogue(demo, level, keys, targets=("sex",))
                yield replace(sexes, attack=f"{sexes.attack}: men and women")


def near(fresh: Fresh, many: int) -> Iterator[AttackRate]:
    """Universes that differ by few: by filters, by areas of two systems, by rows."""
    policy = files("discreet_service").joinpath("demo_policy.toml").read_text("utf-8")
    with fresh(equality.with_places(policy, heeded=False)) as demo:
        equality.publish_places(demo)
        census, places = people(demo), people(demo, equality.PLACES)
        kinds = {
            "filters": (equality.near_filters(demo, census, many), census, "census"),
            "areas": (
                equality.near_filters(
                    demo, places, many, dataset="places", between=("region", "post")
                ),
                places,
                "places",
            ),
        }
        with fresh(equality.with_places(policy, heeded=False)) as other, without_rules("P5"):
            equality.publish_places(other)
            unruled = {
                name: equality.equality_of_filters(other, *kind)[1].rate
                for name, kind in kinds.items()
            }
        for name, kind in kinds.items():
            answered, _ = equality.equality_of_filters(demo, *kind)
            what = f"equality over {name} that differ by 1–9, as filters"
            yield replace(answered, attack=what, without=unruled[name])
        for level in ("district", "municipality"):
            by = [[("region", level), (name, "1")] for name in ("age5", "legal_age")]
            what = f"equality over ages in two groupings, as rows of a {level}"
            yield equality.equality_of_rows(demo, census, *by, what=what)
        areas = [
            equality.equality_of_rows(
                demo, places, [("region", level)], [("post", post)], dataset="places", what=level
            )
            for level, post in equality.POST.items()
            if level != "state"
        ]
    with fresh(equality.with_places(policy, heeded=True)) as careful:
        equality.publish_places(careful)
        heeded = [
            equality.equality_of_rows(
                careful, places, [("region", level)], [("post", post)], dataset="places", what=level
            )
            for level, post in equality.POST.items()
            if level != "state"
        ]
    for each, after in zip(areas, heeded, strict=True):
        what = f"equality over areas that differ by 1–9, as rows, {each.attack}; report heeded"
        yield replace(after, attack=what, without=each.rate)


def noise(fresh: Fresh, many: int) -> Iterator[AttackRate | str]:
    """Systems that may hand cells in, each on a day of its own."""
    styles: dict[str, Callable[[RunningDemo, int, int], extraction.ExtractionRun]] = {
        name: partial(_tabulated, style) for name, style in extraction.STYLES.items()
    }
    styles["keys in steps, shared by six"] = partial(_tabulated, extraction.in_steps, callers=6)
    styles["a search for bounds"] = extraction.searched
    with fresh() as demo:
        demo.clock.step = 0
        for name, style in styles.items():
            counts = itertools.cycle(range(1, 11))
            runs = [style(demo, next(counts), seed) for seed in range(many)]
            yield from extraction.extraction_rates(name, runs)


def _tabulated(
    style: extraction.Tabulating, demo: RunningDemo, count: int, seed: int, callers: int = 1
) -> extraction.ExtractionRun:
    return extraction.tabulated(demo, style, count, seed, callers)


def main() -> None:
    """Make a demonstration, attack it, and print what succeeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=200, help="refusals of each kind timed")
    parser.add_argument("--many", type=int, default=120, help="attempts of most attacks")
    parser.add_argument("--only", choices=["averaging", "near", "noise", "questions"])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_demonstration(folder / "demo")
        numbers = itertools.count()

        @contextmanager
        def fresh(change: Callable[[Path], None] = lambda _: None) -> Iterator[RunningDemo]:
            place = folder / f"service {next(numbers)}"
            with running_demo(folder / "demo", place, change=change) as demo:
                demo.clock.step = 20
                yield demo

        print(HEAD)
        said = []
        parts = {
            "averaging": averaging(fresh, given.many),
            "near": near(fresh, given.many),
            "noise": noise(fresh, given.many),
            "questions": questions(fresh, given.pairs, given.many),
        }
        chosen = [parts[given.only]] if given.only else parts.values()
        for each in itertools.chain.from_iterable(chosen):
            if isinstance(each, str):
                said.append(each)
            else:
                print(each.row(), flush=True)
    print("Noise that is known when staff is told, or after 3,000 cells:")
    print("\n".join(f"  {each}" for each in said))


if __name__ == "__main__":
    main()
