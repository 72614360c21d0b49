"""Lines of keys in TOML texts, compared with what the standard parser finds."""

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from discreet.release.programme.toml_lines import LineIndex, dotted

EVERYTHING = '''# a comment with [brackets] = "no key"
top = 1

[data]  # comment
source = "a ] } , # file" # = not a key
"quoted key" = 'literal \\'

[variables.region]
labels.m = { en = "x, y", de = { deep = [1, 2] } }
levels = [
  "one",   # first
  # nothing
  "two",
]
text = """
[not.a.header]
neither = "key"
"""
raw = \'\'\'
also = "no key"\'\'\'

[[array]]
a = 1
[[array]]
a = 2
[array.sub]
b = [{ c = 1 }, { c = 2 }]
'''


def test_every_kind_of_key_has_its_line() -> None:
    index = LineIndex.of(EVERYTHING)
    expected = {
        ("top",): 2,
        ("data",): 4,
        ("data", "source"): 5,
        ("data", "quoted key"): 6,
        ("variables", "region"): 8,
        ("variables", "region", "labels", "m", "de", "deep", 1): 9,
        ("variables", "region", "levels"): 10,
        ("variables", "region", "levels", 1): 13,
        ("variables", "region", "text"): 15,
        ("variables", "region", "raw"): 19,
        ("array", 0, "a"): 23,
        ("array", 1, "a"): 25,
        ("array", 1, "sub", "b", 1, "c"): 27,
    }
    assert {path: index.lines[path] for path in expected} == expected


def paths(value: object, above: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
    found = {above} if above else set()
    if isinstance(value, dict):
        pairs = list(value.items())
    elif isinstance(value, list):
        pairs = list(enumerate(value))
    else:
        pairs = []
    for key, inner in pairs:
        found |= paths(inner, (*above, key))
    return found


def test_the_index_knows_the_keys_that_the_parser_finds_and_no_others() -> None:
    found = set(LineIndex.of(EVERYTHING).lines) - {("array",)}
    assert found == paths(tomllib.loads(EVERYTHING)) - {("array",)}


def test_windows_line_ends_count_as_one() -> None:
    index = LineIndex.of("a = 1\r\n[t]\r\nb = 2\r\n")
    assert index.place(("t", "b")) == "line 3, t.b"


def test_a_missing_key_is_placed_at_the_nearest_one_above() -> None:
    index = LineIndex.of("x = 1\n[t]\ny = 2\n")
    assert index.place(("t", "z")) == "line 2, t.z"
    assert index.place(("u",)) == "u"


keys = st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1)
values = st.recursive(
    st.one_of(st.integers(), st.booleans(), st.text(alphabet="ab#[]{},='. ")),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)),
    max_leaves=8,
)


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{quoted(k)} = {toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ",\n".join(toml(item) for item in value) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else quoted(str(value))


@given(st.dictionaries(keys, values, max_size=4))
def test_any_document_is_walked_through_completely(document: dict[str, object]) -> None:
    text = "".join(f"{quoted(key)} = {toml(value)}\n" for key, value in document.items())
    assert tomllib.loads(text) == document
    assert set(LineIndex.of(text).lines) == paths(document)


def test_paths_are_shown_as_they_are_written() -> None:
    assert dotted(("tables", 'a "b"', "by", 2)) == 'tables."a \\"b\\"".by[2]'
