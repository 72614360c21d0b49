"""Attacks on a service that runs, with the census of the demonstration: how often they succeed.

Run it alone: python bench/service_attacks.py [--pairs 200]. Prints the table that stands in
docs/service/policies.md; times of refusals need a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from discreet_service.demo import make_demonstration
from tests.helpers.running_service import running_demo
from tests.helpers.service_attacks import all_attacks

HEAD = """| attack | success | n | without | with the policy (95 %) |
|---|---|---|---|---|"""


def main() -> None:
    """Make a demonstration, attack it, and print what succeeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=200, help="refusals of each kind timed")
    parser.add_argument("--small", action="store_true", help="few attempts each")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_demonstration(folder / "demo")
        with running_demo(folder / "demo", folder / "service") as demo:
            demo.clock.step = 20
            print(HEAD)
            for each in all_attacks(demo, pairs=given.pairs, small=given.small):
                print(each.row(), flush=True)


if __name__ == "__main__":
    main()
