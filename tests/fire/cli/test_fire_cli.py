"""`discreet fire pre`, `undo` and `policy`, as staff of a research data centre use them."""

import json
from pathlib import Path

import pytest

from tests.helpers.command import run

MASTER = """\
version 14
do "sub/clean.do"
su wage, d
local top = r(max)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "master.do").write_text(MASTER)
    (tmp_path / "sub" / "clean.do").write_text("list wage\nglobal low = r(min)\n")
    return tmp_path


def test_a_do_file_is_rewritten_beside_the_original(folder: Path) -> None:
    done = run("fire", "pre", folder / "master.do")
    assert done.exit_code == 0, done.output
    assert (folder / "master.do").read_text() == MASTER
    text = (folder / "master_FiRe.do").read_text()
    assert 'do "sub/clean_FiRe.do"' in text
    assert "fdzsummarize wage, d" in text
    assert "*FDZ: command not permitted" in (folder / "sub" / "clean_FiRe.do").read_text()
    assert "2 places rewritten, 0 commented out" in done.output
    assert "[command] list: shows single records" in done.output


def test_an_officer_chooses_p_and_a_researcher_does_not(folder: Path) -> None:
    asked = folder / "asked.do"
    asked.write_text("su wage, critical(20)\nxtsum wage, crit(5)\nlist wage, critical(5)\n")
    assert "3 commented out" in run("fire", "pre", asked).output
    done = run("fire", "pre", asked, "--officer")
    assert "2 places rewritten, 1 commented out" in done.output, done.output
    text = (folder / "asked_FiRe.do").read_text()
    assert "\nfdzsummarize wage, critical(20)\nfdzxtsum wage, crit(5)\n*FDZ" in text
    # What an officer may do is none of the centre's rules: the next program is a researcher's.
    assert "3 commented out" in run("fire", "pre", asked).output


def test_programs_get_json(folder: Path) -> None:
    done = run("fire", "pre", folder, "--json")
    told = json.loads(done.stdout)
    assert told["written"] == 2
    assert {Path(file["source"]).name: file["refused"] for file in told["files"]} == {
        "master.do": 0,
        "clean.do": 1,
    }


def test_a_second_run_changes_nothing(folder: Path) -> None:
    run("fire", "pre", folder)
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*.*")}
    for words in ((folder,), (folder / "master_FiRe.do",)):
        done = run("fire", "pre", *words)
        assert done.exit_code == 0
        assert "as it was before" in done.output
    assert before == {
        path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*.*")
    }


def test_programs_of_one_file_may_be_called_in_another(folder: Path) -> None:
    (folder / "sub" / "clean.do").write_text("program mine\nsu `1'\nend\n")
    (folder / "master.do").write_text('do "sub/clean.do"\nmine wage\n')
    done = run("fire", "pre", folder / "master.do", "--strict")
    assert done.exit_code == 0, done.output


PATHS = 'global p "Z:/x"\ndo "$p/sub/clean.do"\ndo "$q/clean2.do"\ndo "$p/other.do"\n'


@pytest.mark.parametrize(
    ("files", "ends"),
    [
        ({"a.do": "", "show.do": 'di "lowest: $low"\n'}, {"show": ["*FDZ:"]}),
        (
            {"a.do": "include sub/low\ndi `low'\n", "sub/low.do": "local low = r(min)\n"},
            {"a": ["*FDZ:"]},
        ),
        # names of results need their original
        ({"a.do": "do hidden_FiRe\ndo sub/clean_FiRe\n"}, {"a": ["*FDZ:", "do sub/clean_FiRe"]}),
        # files that run each other end
        ({"a.do": "do b\n", "b.do": "do a\ndo b\n"}, {"a": ["do b_FiRe"], "b": ["do b_FiRe"]}),
        # paths by macros and from elsewhere
        ({"a.do": PATHS}, {"a": ['do "$p/sub/clean_FiRe.do"', 'do "$q/clean2_FiRe.do"', "*FDZ:"]}),
    ],
)
def test_files_are_followed_into_others(folder: Path, files: dict, ends: dict) -> None:
    for name, text in files.items():
        (folder / name).write_text(text)
    done = run("fire", "pre", folder if "show.do" in files else folder / "a.do")
    assert done.exit_code == 0, done.output
    for name, starts in ends.items():
        lines = (folder / f"{name}_FiRe.do").read_text().splitlines()[-len(starts) :]
        assert all(map(str.startswith, lines, starts)), lines
    assert done.output.count("review [path]") == (2 if PATHS in files.values() else 0)


def test_strict_fails_where_something_needs_review(folder: Path) -> None:
    (folder / "a.do").write_text("mystery x\n")
    assert run("fire", "pre", folder / "a.do").exit_code == 0
    assert run("fire", "pre", folder / "a.do", "--strict").exit_code == 1


def test_a_program_that_cannot_be_read_is_not_written(folder: Path) -> None:
    (folder / "a.do").write_text("su x\n")
    run("fire", "pre", folder / "a.do")
    assert (folder / "a_FiRe.do").exists()
    (folder / "a.do").write_text("mata\nx = 1\n")
    done = run("fire", "pre", folder / "a.do")
    assert done.exit_code == 2
    assert "NOT written" in done.output
    assert "open-block" in done.output
    # What was made of an earlier version must not run in its place.
    assert not (folder / "a_FiRe.do").exists()


def test_the_name_of_a_result_is_no_way_around(folder: Path) -> None:
    """A researcher hands in a file that looks like a result."""
    evil = folder / "evil_FiRe.do"
    evil.write_text("*! FDZ: this file was made by discreet fire pre\nlist wage\n")
    done = run("fire", "pre", folder)
    assert done.exit_code == 2
    assert "its original is not there" in done.output
    (folder / "evil.do").write_text("su wage\n")
    done = run("fire", "pre", folder)
    assert done.exit_code == 2
    assert "this program did not make it" in done.output
    assert evil.read_text().endswith("list wage\n")
    done = run("fire", "pre", folder, "--overwrite")
    assert done.exit_code == 0
    assert "\nlist" not in evil.read_text()


def test_a_forged_manifest_is_no_way_around(folder: Path) -> None:
    run("fire", "pre", folder / "sub" / "clean.do")
    output = folder / "sub" / "clean_FiRe.do"
    manifest = folder / "sub" / "clean_FiRe.json"
    document = json.loads(manifest.read_text())
    (folder / "sub" / "clean.do").write_text("browse\n")
    manifest.write_text(json.dumps(document))
    run("fire", "pre", output)
    assert "*FDZ: command not permitted in remote execution: browse" in output.read_text()


def test_a_link_out_of_the_folder_is_not_followed(folder: Path, tmp_path_factory) -> None:  # type: ignore[no-untyped-def]
    outside = tmp_path_factory.mktemp("outside") / "secret.do"
    outside.write_text("su x\n")
    (folder / "link.do").symlink_to(outside)
    (folder / "a.do").write_text("do link\n")
    run("fire", "pre", folder / "a.do")
    assert "*FDZ:" in (folder / "a_FiRe.do").read_text().splitlines()[-1]
    assert not outside.with_name("secret_FiRe.do").exists()


def test_programs_beside_a_do_file_are_told(folder: Path) -> None:
    (folder / "mine.ado").write_text("program mine\nend\n")
    done = run("fire", "pre", folder / "master.do")
    assert "mine.ado lies beside" in done.output
    assert "places to review: 1;" in (folder / "master_FiRe.do").read_text()
    told = json.loads((folder / "master_FiRe.json").read_text())["findings"]
    assert [finding["rule"] for finding in told] == ["ado-file"]
    (folder / "fdzsummarize.ado").write_text("program fdzsummarize\nlist\nend\n")
    done = run("fire", "pre", folder / "master.do")
    assert done.exit_code == 2
    assert not (folder / "master_FiRe.do").exists()


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.do", b"PK\x03\x04zip", "zip archive"),
        ("a.do", b"su x\x00", "zero bytes"),
        ("a.txt", b"su x", "not a do-file"),
        (None, b"", "does not exist"),
    ],
)
def test_wrong_input_is_told_and_nothing_written(
    folder: Path, name: str | None, data: bytes, message: str
) -> None:
    path = folder / (name or "nothing.do")
    if name:
        path.write_bytes(data)
    done = run("fire", "pre", folder / "master.do", path)
    assert done.exit_code == 2
    assert message in done.output
    assert not list(folder.rglob("*_FiRe*"))


def test_a_script_is_not_written_when_a_do_file_beside_it_is_wrong(folder: Path) -> None:
    (folder / "a.py").write_text("print(1)\n")
    before = sorted(folder.iterdir())
    assert run("fire", "pre", folder / "a.py", folder / "missing.do").exit_code == 2
    assert run("fire", "pre", folder / "gone.py", folder / "a.py").exit_code == 2
    assert sorted(folder.iterdir()) == before


def test_an_empty_folder_and_no_words_are_told(tmp_path: Path) -> None:
    done = run("fire", "pre", tmp_path)
    assert done.exit_code == 2
    assert "no do-file in this folder" in done.output
    assert run("fire", "pre").exit_code != 0


def test_a_wrong_policy_is_told_before_anything_is_written(folder: Path) -> None:
    policy = folder / "centre.toml"
    policy.write_text('[commands]\nx = "alowed"\n')
    done = run("fire", "pre", folder / "master.do", "--policy", policy)
    assert done.exit_code == 2
    assert "closest match: 'allowed'" in done.output
    assert not (folder / "master_FiRe.do").exists()


def test_german_wording_and_the_older_list(folder: Path) -> None:
    (folder / "preFire.txt").write_text("su\nmyado\n")
    (folder / "a.do").write_text("list x\nsu x\nmyado y\n")
    words = ("--policy", folder / "preFire.txt", "--language", "de")
    assert run("fire", "pre", folder / "a.do", *words).exit_code == 0
    lines = (folder / "a_FiRe.do").read_text().splitlines()
    assert lines[-2:] == [
        "fdzsummarize x",
        "fdzmyado y",
    ]
    assert any("Befehle, die nicht erlaubt sind" in line for line in lines)


def test_undo_restores(folder: Path) -> None:
    run("fire", "pre", folder / "master.do")
    (folder / "master.do").unlink()
    done = run("fire", "undo", folder / "master_FiRe.json")
    assert done.exit_code == 0
    assert (folder / "master.do").read_text() == MASTER
    assert run("fire", "undo", folder / "master.do").exit_code == 2


def test_the_policy_can_be_asked_and_written_for_the_server(folder: Path) -> None:
    done = run("fire", "policy", "--command", "ta")
    assert "tabulate: wrapped by fdztabulate" in done.output
    done = run("fire", "policy", "--command", "duplicates", "--json")
    rules = {rule["name"]: rule["action"] for rule in json.loads(done.stdout)["rules"]}
    assert rules["duplicates list"] == "refused"
    counts = json.loads(run("fire", "policy", "--json").stdout)["commands"]
    assert set(counts) == {"allowed", "refused", "review", "wrapped"}
    done = run("fire", "policy", "--out", folder / "fdz_policy.txt")
    assert done.exit_code == 0
    assert "list refused\n" in (folder / "fdz_policy.txt").read_text()


def test_two_results_never_have_the_same_name(folder: Path) -> None:
    (folder / "sub" / "CLEAN.do").write_text("su x\n")
    (folder / "sub" / "clean.DO").write_text("su y\n")
    names = {path.name for path in (folder / "sub").iterdir()}
    if len(names) < 3:
        names.discard("clean.DO")  # file names know no capitals here
    done = run("fire", "pre", folder)
    assert done.exit_code == (2 if "clean.DO" in names else 0)
    assert ("the name of another one" in done.output) == ("clean.DO" in names)


@pytest.mark.parametrize("result", ["master_FiRe.do", "master_FiRe.json"])
def test_a_folder_with_the_name_of_a_result_is_told(folder: Path, result: str) -> None:
    (folder / result).mkdir()
    for words in ((), ("--overwrite",)):
        done = run("fire", "pre", folder / "master.do", *words)
        assert done.exit_code == 2
        assert "a folder has the name of a result" in done.output


def test_an_original_comes_back_under_its_name_or_it_is_said_why_not(folder: Path) -> None:
    (folder / "CAPS.DO").write_text("su x\n")
    run("fire", "pre", folder / "CAPS.DO")
    (folder / "CAPS.DO").unlink()
    done = run("fire", "undo", folder / "CAPS_FiRe.json")
    assert done.exit_code == 0
    assert (folder / "CAPS.DO").read_text() == "su x\n"
    (folder / "CAPS.DO").write_text("su y\n")
    differs = run("fire", "undo", folder / "CAPS_FiRe.json")
    (folder / "CAPS_FiRe.do").unlink()
    missing = run("fire", "undo", folder / "CAPS_FiRe.json")
    for wrong in (differs, missing):
        assert wrong.exit_code == 2
        assert "--overwrite" not in wrong.output  # unknown option
