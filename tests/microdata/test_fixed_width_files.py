"""Records of fixed width are read by the description beside them."""

from pathlib import Path

import pytest

import discreet as dc
from discreet.errors import MicrodataError
from tests.helpers.engines import rows

DESCRIBED = """\
region 1 3 "99"
  <RECODEABLE>
sex 4 1
  <RECODEABLE>
income 6 7 "9999.99"
  <NUMERIC>
  <DECIMALS> 2
"""
RECORDS = "01 m    1.50\n02 w  -12,25\n99 m 9999.99\n      345.67\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "people.rda").write_text(DESCRIBED)
    (tmp_path / "people.asc").write_text(RECORDS)
    return tmp_path / "people.asc"


def test_places_types_and_missing_codes(file: Path) -> None:
    assert rows(file).rows() == [
        ("01", "m", 1.5),
        ("02", "w", -12.25),
        (None, "m", None),
        (None, None, 345.67),
    ]


def test_what_is_said_holds_here_too(file: Path) -> None:
    frame = rows(file, rename={"sex": "s"}, recode={"s": {"m": "1"}}, null_values={"region": "02"})
    assert frame.columns == ["region", "s", "income"]
    assert frame["s"].to_list() == ["1", "w", "1", None]
    assert frame["region"].to_list() == ["01", None, None, None]
    with pytest.raises(MicrodataError, match="record 2, column 'sex'") as caught:
        dc.read_microdata(file, types={"sex": "integer"}, null_values={"sex": ["m"]})
    assert "w" not in caught.value.what.split()
    with pytest.raises(MicrodataError, match="do not apply"):
        dc.read_microdata(file, separator=";")


def test_descriptions_can_be_named(file: Path, tmp_path: Path) -> None:
    other = (tmp_path / "people.rda").rename(tmp_path / "columns.rda")
    with pytest.raises(MicrodataError, match="description of the columns is missing"):
        dc.read_microdata(file)
    assert rows(file, metadata=other).height == 4
    other.write_text("region one 2\n")
    with pytest.raises(MicrodataError, match="not a variable"):
        dc.read_microdata(file, metadata=other)


def test_a_programme_is_made_anew_when_the_description_changes(file: Path, tmp_path: Path) -> None:
    programme = tmp_path / "programme.toml"
    text = (
        '[data]\nsource = "people.asc"\n{more}[suppression]\n[rules.all]\n'
        "minimum_frequency = 2\n[tables.T1]\nby = ['sex']\nprotect = 'suppress'\nrules = 'all'\n"
        "value = 'count'\nformats = ['csv']\n"
    )

    def made(more: str = "") -> bool:
        programme.write_text(text.format(more=more))
        (table,) = dc.protect(programme, out=tmp_path / "release").tables
        return table.fresh

    assert (made(), made()) == (True, False)
    assert made('recode = { sex = { "m" = "w" } }\n')
    assert made()
    assert not made()
    (tmp_path / "people.rda").write_text(DESCRIBED.replace("sex 4 1", "sex 4 2"))
    assert made()
    (tmp_path / "columns.rda").write_text(DESCRIBED)
    stated = 'metadata = "columns.rda"\n'
    assert (made(stated), made(stated)) == (True, False)
