"""The entry of data catalogues: both texts say the same to an independent reader (rdflib)."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
from rdflib import DCAT, DCTERMS, FOAF, RDF, RDFS, Graph, Namespace, URIRef
from rdflib.compare import isomorphic

import discreet as dc

#: The reader warns of itself.
pytestmark = pytest.mark.filterwarnings("ignore:ConjunctiveGraph:DeprecationWarning")

SPDX = Namespace("http://spdx.org/rdf/terms#")
VCARD = Namespace("http://www.w3.org/2006/vcard/ns#")
ADDRESS = "https://example.org/census/"
PUBLICATION = f"""
[publication]
publisher = {{ en = "Office <of> Numbers", de = "Zahlenamt & Söhne" }}
source = "Census"
licence = "CC BY 4.0"
contact = "census@example.org"
reference_date = "2022-05-15"
address = "{ADDRESS}"
"""


def released(folder: Path, publication: str) -> Path:
    """A release of one table in two formats and languages."""
    folder.mkdir(exist_ok=True)
    dc.PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.5, 1: 0.5}}).write(folder / "p.json")
    (folder / "r.csv").write_text("id,a\n" + "".join(f"{n},{'xy'[n % 2]}\n" for n in range(40)))
    (folder / "s.key").write_text("a secret of thirty-two characters!!\n")
    (folder / "s.key").chmod(0o600)
    (folder / "p.toml").write_text(
        'languages = ["en", "de"]\ndate = "2026-03-01"\ntitle = { en = "All", de = "Alles" }\n'
        f'{publication}[data]\nsource = "r.csv"\n[keys]\nid = "id"\nsecret_file = "s.key"\n'
        '[perturbation]\ntable = "p.json"\n[quality]\nenabled = false\n[variables.a]\n'
        'codes = ["x", "y"]\nlabel = { en = "Sort", de = "Art" }\n'
        '[tables.T]\nby = ["a"]\nformats = ["csv", "px"]\n'
    )
    dc.protect(folder / "p.toml", folder / "out")
    return folder / "out"


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return released(tmp_path_factory.mktemp("release"), PUBLICATION)


@pytest.fixture(scope="module")
def graph(release: Path) -> Graph:
    return Graph().parse(release / "catalogue.jsonld", format="json-ld")


def test_both_texts_say_the_same(release: Path, graph: Graph) -> None:
    assert isomorphic(graph, Graph().parse(release / "catalogue.rdf", format="xml"))


def test_it_says_who_publishes_what(graph: Graph) -> None:
    whole = URIRef(ADDRESS)
    assert (whole, RDF.type, DCAT.Dataset) in graph

    def texts(subject: Any, predicate: Any) -> dict[str | None, str]:
        return {value.language: str(value) for value in graph.objects(subject, predicate)}

    assert texts(whole, DCTERMS.title) == {"en": "All", "de": "Alles"}
    publisher = graph.value(whole, DCTERMS.publisher)
    assert texts(publisher, FOAF.name) == {"en": "Office <of> Numbers", "de": "Zahlenamt & Söhne"}
    contact = graph.value(whole, DCAT.contactPoint)
    assert graph.value(contact, VCARD.hasEmail) == URIRef("mailto:census@example.org")
    told = texts(graph.value(whole, DCTERMS.provenance), RDFS.label)
    assert "cell-key" in told["en"]
    assert "Cell-Key" in told["de"]
    assert str(graph.value(whole, DCTERMS.issued)) == "2026-03-01"


def test_each_file_is_there_with_its_digest(release: Path, graph: Graph) -> None:
    listed = {}
    for distribution in graph.objects(URIRef(ADDRESS), DCAT.distribution):
        file = str(graph.value(distribution, DCAT.downloadURL)).removeprefix(ADDRESS)
        checksum = graph.value(distribution, SPDX.checksum)
        listed[file] = str(graph.value(checksum, SPDX.checksumValue))
    assert set(listed) == {"T.csv", "T.de.csv", "T.px", "T.de.px"}
    for file, digest in listed.items():
        assert hashlib.sha256((release / file).read_bytes()).hexdigest() == digest


def test_without_a_publisher_there_is_none(tmp_path: Path) -> None:
    assert not list(released(tmp_path / "x", "").glob("catalogue.*"))
