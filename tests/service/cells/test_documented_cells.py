"""What documentation and OpenAPI show as examples works."""

import re

import pytest

from tests.helpers.places import ROOT
from tests.service.cells.conftest import Caller, CallerMaker

PAGE = (ROOT / "docs" / "service" / "interface.md").read_text("utf-8")
BODIES = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_bodies_of_the_page_are_answered(
    caller: Caller, caller_with: CallerMaker, body: str
) -> None:
    kind = "figures" if '"layout"' in body else "counts"
    if '"official"' in body:
        caller = caller_with(official="sex == 'Total'")
    answer = caller.send(kind, body.encode(), "application/json")
    assert answer.status_code == 200, answer.text


def test_the_csv_of_the_page_gives_what_it_says(caller: Caller) -> None:
    content = re.search(r"printf '(.*?)' > cells.csv", PAGE)
    wanted = re.search(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert content is not None
    assert wanted is not None
    sent = content[1].replace("\\n", "\n").encode()
    answer = caller.send("counts", sent, "text/csv", parameter_set="census", format="csv")
    assert answer.text.replace("\r\n", "\n") == wanted[1]
