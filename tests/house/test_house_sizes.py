"""Files of at most 800 lines."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.places import ROOT


@pytest.mark.parametrize(("lines", "code"), [(800, 0), (801, 1)])
def test_a_file_that_is_too_long_is_named(tmp_path: Path, lines: int, code: int) -> None:
    (tmp_path / "module.py").write_text("x = 1\n" * lines)
    command = [
        sys.executable,
        str(ROOT / "scripts" / "check_sizes.py"),
        str(tmp_path / "module.py"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert ("module.py:1: 801 lines" in done.stdout) == bool(code)
