"""The studio: how soon its pages begin, what they weigh, and how fast designs and tables are drawn.

    python bench/studio.py [--rounds 9] [--persons 3000] [--smoke]

Asks for each page of the studio as somebody who may read it, without a network, in the processor
time of the service, so that a busy machine does not count. A page weighs with its styles and its
script, none of it compressed. Designs that were never looked at are drawn, one and two, and a table
of ten thousand cells is shown: for the first time, when it is counted, and again. The program ends
with 1 where a goal is missed; `--smoke` asks once and judges weights alone.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from discreet_service.demo import make_demonstration
from tests.helpers.running_service import cheap_passwords
from tests.service.studio.conftest import HTML, StudioReaders
from tests.service.studio.test_designs import send
from tests.service.studio.test_pages import PAGES

#: Milliseconds until a page begins, bytes that it weighs, milliseconds of a drawing and a table.
BEGUN, WEIGHT, DRAWN, SHOWN = 100.0, 150_000, 300.0, 1_000.0
LARGE = "/tables/census/result?unit=person&by=region:municipality,state,sex,occupation:2&whole=1"
_STATIC = re.compile(r'(?:href|src)="(/static/[^"]+)"')


def spent(act: Callable[[], Any], rounds: int) -> tuple[float, Any]:
    """Processor time of an act in milliseconds, the median of rounds, and what it gave last."""
    times = []
    for _ in range(rounds):
        begun = time.process_time()
        answer = act()
        times.append(1_000 * (time.process_time() - begun))
    return statistics.median(times), answer


def weight(readers: StudioReaders, page: str) -> int:
    """Bytes of a page with all that it loads."""
    parts = [readers.browser().get(path).content for path in sorted({*_STATIC.findall(page)})]
    return len(page.encode()) + sum(map(len, parts))


def measured(readers: StudioReaders, rounds: int) -> list[tuple[str, float, float, int]]:
    """What was asked for: milliseconds, their goal, and bytes, which have no goal of a table."""
    rows = []
    for path, (_, _, allowed) in PAGES.items():
        name = min(allowed)
        readers.page(path, name)  # templates and words are read once
        begun, page = spent(lambda path=path, name=name: readers.page(path, name), rounds)
        rows.append((path, begun, BEGUN, weight(readers, page)))
    variances = iter(range(10_000))

    def drawn(**more: str) -> str:
        step = next(variances) / 1_000
        answer = send(readers, a_exact=f"{3 + step:.3f}", b_exact=f"{2.5 + step:.3f}", **more)
        assert answer.status_code == 200, answer.text[:500]
        text: str = answer.text
        return text

    drawn()
    for label, more in (("one design", {}), ("two designs", {"compared": "yes"})):
        took, page = spent(lambda more=more: drawn(**more), rounds)
        rows.append((f"/designs, {label}", took, DRAWN, weight(readers, page)))
    shown = lambda: readers.browser("rita").get(LARGE, headers=HTML)  # noqa: E731
    for label, times in (("first", 1), ("again", rounds)):
        took, answer = spent(shown, times)
        cells = answer.text.count("<td")
        rows.append((f"a table of {cells:,} cells, {label}", took, SHOWN, 0))
    return rows


def main() -> int:
    """Measure the studio of a demonstration; whether it keeps its goals."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--persons", type=int, default=3_000)
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    with TemporaryDirectory(prefix="discreet-studio-") as folder, cheap_passwords():
        make_demonstration(Path(folder), persons=options.persons)
        readers = StudioReaders(Path(folder))
        rows = measured(readers, 1 if options.smoke else options.rounds)
        readers.close()
    missed = 0
    for what, took, goal, size in rows:
        late, heavy = took > goal and not options.smoke, size > WEIGHT
        missed += late or heavy
        weighs = f"{size / 1_000:6.0f} kB" if size else " " * 9
        print(f"{took:7.0f} ms of {goal:5.0f} {weighs}  {what}{'  MISSED' * (late or heavy)}")
    print(f"{missed} of {len(rows)} missed their goal" if missed else "all goals kept")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
