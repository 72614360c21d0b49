"""Every example in a docstring gives what it says: one test for each package below the roots."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

from tests.helpers.places import ROOT

SOURCE = ROOT / "src"


def _with_examples(place: Path) -> list[str]:
    """Names of modules of a package, or of one file, that show examples."""
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
    return [
        ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        for path in files
        if path.suffix == ".py" and ">>> " in path.read_text("utf-8")
    ]


MODULES = {
    str(place.relative_to(SOURCE)): names
    for root in sorted(path.name for path in SOURCE.glob("discreet*") if path.suffix == "")
    for place in sorted((SOURCE / root).iterdir())
    if (names := _with_examples(place))
}


@pytest.mark.parametrize("package", MODULES)
def test_examples_give_what_they_say(package: str, pytestconfig: pytest.Config) -> None:
    words = pytestconfig.getini("doctest_optionflags")
    flags = sum(doctest.OPTIONFLAGS_BY_NAME[word] for word in words)
    report = list[str]()
    runner = doctest.DocTestRunner(optionflags=flags)
    for name in MODULES[package]:
        for example in doctest.DocTestFinder().find(import_module(name), name):
            runner.run(example, out=report.append)
    assert runner.tries
    assert not runner.failures, "".join(report)
