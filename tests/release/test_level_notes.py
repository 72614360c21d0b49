"""Remarks about a level: on each of its codes, in every format and language."""

import json

import pytest
from pyaxis import pyaxis

from discreet.errors import ProgrammeError
from discreet.release import check_release, protect

NOTE = """
[[tables.T1.notes]]
cells = {{ "region.level" = "{}" }}
text = {{ en = "Estimated.", de = "Geschätzt." }}
"""


def test_a_remark_on_a_level_is_one_on_each_of_its_codes(programme, folder):
    text = programme.read_text("utf-8").replace('["csv", "html"]', '["csv", "px", "json-stat"]')
    programme.write_text(text + NOTE.format("1"), encoding="utf-8")
    protect(programme, folder / "release")
    for language, said in (("en", "Estimated."), ("de", "Geschätzt.")):
        found = json.loads(
            (
                folder
                / "release"
                / ("T1.jsonstat.json" if language == "en" else "T1.de.jsonstat.json")
            ).read_text("utf-8")
        )
        assert found["dimension"]["region"]["category"]["note"] == {"1": [said], "2": [said]}
        parsed = pyaxis.parse(
            str(folder / "release" / "T1.px"), "utf-8", lang=language, null_values="^$"
        )
        notes = {
            key: value for key, value in parsed["METADATA"].items() if key.startswith("VALUENOTE")
        }
        assert list(notes) == ["VALUENOTE(Region,1)", "VALUENOTE(Region,2)"]
        assert [value[0] if isinstance(value, list) else value for value in notes.values()] == [
            said,
            said,
        ]


@pytest.mark.parametrize("level", ["3", "municipality"])
def test_levels_that_are_not_there_are_refused(level, programme, folder):
    text = programme.read_text("utf-8") + NOTE.format(level)
    programme.write_text(text, encoding="utf-8")
    with pytest.raises(ProgrammeError, match=f"region has no level '{level}'"):
        protect(programme, folder / "release")
    assert not list((folder / "release").glob("*.csv"))
    programme.write_text(text.replace("region.level", "shoe.level"), encoding="utf-8")
    with pytest.raises(ProgrammeError, match=r"'shoe\.level' is not a spanning"):
        check_release(programme)
    programme.write_text(text.replace("region.level", "sex.level"), encoding="utf-8")
    with pytest.raises(ProgrammeError, match="sex has no level"):
        check_release(programme)
