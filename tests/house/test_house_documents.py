"""README, tutorial, changelog and the other documents say what is so."""

import os
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import markdown
import nbformat
import pytest
from nbclient import NotebookClient

import discreet
from discreet.operations import OPERATIONS
from tests.helpers.places import ROOT
from tests.helpers.rows import for_all_rows
from tests.house.test_house_scripts import script

README = ROOT / "README.md"
TUTORIAL = ROOT / "docs" / "tutorial" / "first-release.md"
NOTEBOOK = TUTORIAL.with_suffix(".ipynb")
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))

FENCE = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One block of code of a document."""

    language: str
    title: str
    text: str


def blocks(document: Path) -> list[Block]:
    return [Block(*found) for found in FENCE.findall(document.read_text("utf-8"))]


def test_the_notebook_is_the_tutorial() -> None:
    """Its code is that of the page; one run tries both."""
    page = TUTORIAL.read_text("utf-8")
    assert script("tutorial_notebook").notebook(page) == NOTEBOOK.read_text("utf-8")
    written = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(written)
    cells = [cell.source for cell in written.cells if cell.cell_type == "code"]
    listing = blocks(TUTORIAL)
    assert {block.language for block in listing} == {"python", "toml", "sh"}
    assert all(
        cell.endswith(block.text.strip()) for cell, block in zip(cells, listing, strict=True)
    )


def test_the_reference_of_programmes_has_every_key_of_every_section() -> None:
    reference = script("programme_reference")
    page = (ROOT / "docs" / "reference" / "programme-file.md").read_text("utf-8")
    sections = dict.fromkeys(re.findall(r"<!-- keys (\S+) -->", page))
    assert list(sections) == list(reference.TEXTS)
    for name, model in reference.MODELS.items():
        fields = {field.alias or key for key, field in model.model_fields.items()}
        rows = [
            row
            for other in sections
            if reference.MODELS[other] is model
            for row in reference.table_of_keys(other)
        ]
        hand_written = page.partition(f"## `[{name.removesuffix('.keys')}]`")[2].partition("\n## ")[
            0
        ]
        text = "\n".join([*rows, hand_written])
        headings = {key for key in fields if re.search(rf"^## .*`\[{key}[\].]", page, re.MULTILINE)}
        elsewhere = headings if name == "programme" else set()
        if name == "sources.NAME":  # "the keys are those of [data]"
            elsewhere = set(reference.MODELS["data"].model_fields)
        missing = [key for key in fields - elsewhere if not re.search(rf"\b{key}\b", text)]
        assert missing == [], name


def test_reference_pages_are_filled_from_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    pages = script("reference_pages")
    filled = set()
    for path in sorted((ROOT / "docs").rglob("*.md")):
        text = path.read_text("utf-8")
        filled |= {name for name in pages.PLACES if re.search(rf"<!-- {name}( \S+)? -->", text)}
    assert filled == set(pages.PLACES)
    text = pages.on_page_markdown("<!-- operations --> <!-- endpoints --> <!-- other -->", None)
    assert all(f"## {name}\n" in text for name in OPERATIONS)
    assert "| POST `/api/v1/protect/counts` |" in text
    assert "<!-- other -->" in text
    assert "| `summarize` |" in pages.on_page_markdown("<!-- small-stata commands -->", None)


@pytest.mark.exhaustive
def test_the_tutorial_runs_as_printed(tmp_path: Path) -> None:
    tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    homes = {name: str(tmp_path / "home") for name in ("JUPYTER_CONFIG_DIR", "IPYTHONDIR")}
    place = {"metadata": {"path": str(tmp_path)}}
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = NotebookClient(notebook, kernel_name="python3", timeout=600, resources=place)
    client.execute(env={**os.environ, **homes, "PATH": tools})
    assert (tmp_path / "age-sex.xlsx").stat().st_size > 0
    assert (tmp_path / "release" / "age-sex.csv").exists()
    # `discreet verify` among its commands ends with 1 if a file is not as it was signed.
    released = {path.name for path in (tmp_path / "publication").iterdir()}
    assert released >= {"index.html", "release.seal", "turnover.csv", "adults.de.html"}


@pytest.mark.exhaustive
def test_a_country_is_made_from_scratch_by_commands_only(tmp_path: Path) -> None:
    listing = blocks(TUTORIAL.with_name("country.md"))
    assert {block.language for block in listing} == {"sh"}
    typed = "\n".join(["set -e", *(block.text for block in listing)])
    assert typed.count("--persons 500000") == 1
    typed = typed.replace("--persons 500000", "--persons 8000")  # the same way, sooner
    tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["sh", "-c", typed],
        cwd=tmp_path,
        env={**os.environ, "PATH": tools},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "60 tables" in done.stdout
    assert "The release is safe." in done.stdout  # what the audit says
    released = {path.name for path in (tmp_path / "release").iterdir()}
    assert released >= {
        "census.xlsx",
        "census.de.xlsx",
        "atlas.html",
        "turnover.csv",
        "home-sex.svg",
    }
    attacks = done.stdout.split("Against these attacks")[1:]
    rows = [re.findall(r"Rows that show one category[^:]*: ([\d,]+)", text)[0] for text in attacks]
    first, second = (int(row.replace(",", "")) for row in rows)
    # Keys differ from run to run, the effect of the remedies does not.
    assert 0 < second < first / 5


def test_the_german_tutorial_has_the_same_code() -> None:
    german = TUTORIAL.with_name("first-release-de.md")
    assert blocks(german) == blocks(TUTORIAL)


def test_the_example_of_the_readme_runs_in_ten_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (example,) = [block for block in blocks(README) if block.language == "python"]
    assert len([line for line in example.text.splitlines() if line.strip()]) <= 10
    exec(compile(example.text, README.name, "exec"), {})
    assert (tmp_path / "population.xlsx").read_bytes().startswith(b"PK")


@pytest.mark.exhaustive
def test_every_command_of_the_readme_runs_in_order_in_an_empty_clone(tmp_path: Path) -> None:
    """As a newcomer types them, one after another; `make test` is what is running here."""
    clone = tmp_path / "discreet"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    # `.ci/run` shows that the environment can be made; here it is the one of the tests.
    (clone / ".venv").symlink_to(sys.prefix)
    for name in ("constraints.txt", "pyproject.toml"):
        os.utime(clone / name, (0, 0))
    typed = ["set -e"]
    for block in blocks(README):
        commands = block.text.replace("make test ", ": make test ")
        # What it would do is what is typed next.
        commands = commands.replace("make demo ", "make --dry-run demo ")
        commands = commands.replace("discreet demo ", "discreet demo --persons 1000 ")
        typed.append(commands if block.language == "sh" else f"python <<'END'\n{block.text}END")
    bare = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    bare["PATH"] = bare["PATH"].replace(str(Path(sys.executable).parent) + os.pathsep, "")
    done = subprocess.run(
        ["sh", "-c", "\n".join(typed)],
        cwd=clone, env=bare, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    made = ("programme.toml", "release/index.html", "population.xlsx", "turnover.csv")
    assert [name for name in made if not (clone / name).exists()] == []


def test_the_readme_says_what_it_is_in_five_lines_and_two_commands() -> None:
    _, introduction, *_ = README.read_text("utf-8").split("\n\n")
    assert len(introduction.splitlines()) == 5
    commands = blocks(README)[0]
    assert commands.language == "sh"
    assert len(commands.text.splitlines()) == 2


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_to_files_lead_somewhere(document: str) -> None:
    text = (ROOT / document).read_text("utf-8")
    targets = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_the_changelog_has_the_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert f"## [{discreet.__version__}]" in text
    assert "## [Unreleased]" in text


def declared() -> set[str]:
    """The name of every package that pyproject.toml asks for."""
    groups = [
        PROJECT["project"]["dependencies"],
        *PROJECT["project"]["optional-dependencies"].values(),
        *PROJECT["dependency-groups"].values(),
    ]
    return {re.split(r"[\[<>=!~ ]", item)[0].lower() for group in groups for item in group}


def test_every_dependency_has_its_reason() -> None:
    text = (ROOT / "docs" / "decisions.md").read_text("utf-8")
    assert [name for name in sorted(declared()) if f"`{name}`" not in text] == []


def test_every_dependency_is_pinned_within_its_range() -> None:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert sorted(declared() - set(pins)) == []
    assert list(pins) == sorted(pins)


def test_no_group_asks_for_the_package_itself() -> None:
    """pip would look for a package of that name on the index."""
    assert "discreet" not in declared()


def test_every_page_is_in_the_navigation_and_every_entry_is_a_page() -> None:
    settings = (ROOT / "mkdocs.yml").read_text()
    listed = set(re.findall(r"- ([\w/-]+\.md)$", settings, re.MULTILINE))
    internal = set(re.findall(r"^  /(\S+\.md)$", settings, re.MULTILINE))
    docs = ROOT / "docs"
    assert internal == {"architecture.md", "decisions.md"}
    assert listed | internal == {page.relative_to(docs).as_posix() for page in docs.rglob("*.md")}


def test_the_documentation_can_be_searched_from_the_file_system_without_a_network() -> None:
    """Else pages ask a server of others for the script that runs the search."""
    settings = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert "\n  - offline\n" in settings
    (script,) = re.findall(r"polyfills:\n    - (\S+)\n", settings)
    assert "iframe-worker" in script  # the name by which the plugin knows that there is one
    assert "file:" in (ROOT / "docs" / script).read_text("utf-8")


def test_make_offers_what_the_documents_name() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    assert targets >= {
        "demo", "test", "test-all", "check", "bench", "mutate", "docs", "lock", "format", "clean",
    }  # fmt: skip
    for document in (README, ROOT / "CONTRIBUTING.md"):
        named = set(re.findall(r"\bmake ([a-z-]+)\b`", document.read_text("utf-8")))
        assert named <= targets


@pytest.mark.parametrize(("target", "spark"), [("test", False), ("test-more", True)])
def test_spark_is_installed_for_its_own_tests_only(target: str, spark: bool) -> None:
    line = ["make", "--dry-run", "VENV=build/no-such-environment", "SPARK=yes", target]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=True)
    assert ('".[spark]"' in done.stdout) == spark


def test_installing_brings_ten_packages_at_most() -> None:
    assert len(PROJECT["project"]["dependencies"]) <= 10


# -- Formulas ----------------------------------------------------------------

MARKED = [p for p in sorted((ROOT / "docs").rglob("*.md")) if "$" in p.read_text("utf-8")]


@cache
def page_with_formulas(document: Path) -> str:
    extensions = ["tables", "pymdownx.superfences", "pymdownx.arithmatex"]
    configured = {"pymdownx.arithmatex": {"generic": True}}
    return markdown.markdown(
        document.read_text("utf-8"), extensions=extensions, extension_configs=configured
    )


@for_all_rows("document", MARKED, ids=lambda document: document.stem)
def test_formulas_are_known_as_such(document: Path) -> None:
    """A space inside a dollar sign leaves it in the text."""
    text = re.sub(r"<(code|pre)\b.*?</\1>", "", page_with_formulas(document), flags=re.DOTALL)
    assert "$" not in text


def test_formulas_are_drawn_without_scripts() -> None:
    for document in MARKED:
        page = page_with_formulas(document)
        drawn = script("formulas").on_page_content(page)
        assert drawn.count("<math") == page.count('class="arithmatex"')
        assert not re.search(r"<m\w+[^>]*>[^<]*\\", drawn), document
