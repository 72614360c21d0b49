"""Where things stand: the repository, and the programs and logs of the tests."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Do-files, scripts and logs that the tests of output checking read.
FIRE_DATA = ROOT / "tests" / "fire" / "data"
