"""Structure messages as a receiver of census data writes them: SDMX-ML 2.1 and 3.0, SDMX-JSON."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

GEO = {
    "XX": "", "XX1": "XX", "XX2": "XX", "XXZ": "XX", "M11": "XX1", "M12": "XX1", "M21": "XX2",
    "YY": "", "YY1": "YY",
}  # fmt: skip
SEX = {"T": "", "M": "T", "F": "T"}
AGE = {"TOTAL": "", "Y_LT15": "", "Y15T64": "", "Y_GE65": "", "Y0": "", "Y1": ""}
EDU = {"T": "", "ED0-2": "T", "ED3-8": "T", "ED3": "", "ED5": "", "NAP": "T"}
OBS = dict.fromkeys("AEQMU", "")
CONF = dict.fromkeys("FCAD", "")
STAT = dict.fromkeys(("T", "F", "Y_LT15", "EMP"), "")
V21 = "http://www.sdmx.org/resources/sdmxml/schemas/v2_1"
V30 = "http://www.sdmx.org/resources/sdmxml/schemas/v3_0"
URN = "urn:sdmx:org.sdmx.infomodel"


def _about(name: str) -> str:
    return f'id="{name}" agencyID="ESO" version="1.0"'


def _name(text: str) -> str:
    return f'<c:Name xml:lang="en">{text}</c:Name>'


class Writer:
    """The parts of a message in one version of SDMX-ML."""

    def __init__(self, version: str) -> None:
        self.old = version == "2.1"
        self.schema = V21 if self.old else V30

    def reference(self, kind: str, package: str, name: str, item: str = "") -> str:
        if not self.old:
            end = f".{item}" if item else ""
            return f"{URN}.{package}.{kind}=ESO:{name}(1.0){end}"
        if item:
            parent = f'maintainableParentID="{name}" maintainableParentVersion="1.0"'
            return f'<Ref {parent} agencyID="ESO" id="{item}" class="{kind}"/>'
        return f'<Ref agencyID="ESO" id="{name}" version="1.0" class="{kind}"/>'

    def codelist(self, name: str, codes: Mapping[str, str]) -> str:
        lines = ""
        for code, above in codes.items():
            parent = f'<Ref id="{above}"/>' if self.old else above
            inner = f"<s:Parent>{parent}</s:Parent>" if above else ""
            lines += f'<s:Code id="{code}">{_name(f"Label of {code}")}{inner}</s:Code>'
        return f"<s:Codelist {_about(name)}>{_name(name)}{lines}</s:Codelist>"

    def component(
        self, kind: str, name: str, codelist: str, more: str = "", inner: str = ""
    ) -> str:
        concept = self.reference("Concept", "conceptscheme", "CS", name)
        shown = '<s:TextFormat textType="String"/>'
        if codelist:
            target = self.reference("Codelist", "codelist", codelist)
            shown = f"<s:Enumeration>{target}</s:Enumeration>"
        return (
            f'<s:{kind} id="{name}"{more}><s:ConceptIdentity>{concept}</s:ConceptIdentity>'
            f"<s:LocalRepresentation>{shown}</s:LocalRepresentation>{inner}</s:{kind}>"
        )

    def structure(self, name: str, dimensions: Mapping[str, str]) -> str:
        parts = ""
        for place, (dimension, codelist) in enumerate(dimensions.items(), 1):
            parts += self.component("Dimension", dimension, codelist, f' position="{place}"')
        period = "<s:TextFormat textType='ObservationalTimePeriod'/>"
        last = self.component("TimeDimension", "TIME_PERIOD", "")
        parts += last.replace('<s:TextFormat textType="String"/>', period)
        measure = '<s:PrimaryMeasure><Ref id="OBS_VALUE"/></s:PrimaryMeasure>'
        measure = measure if self.old else "<s:Observation/>"
        whole = "<s:None/>" if self.old else "<s:Dataflow/>"

        def attribute(own: str, codelist: str, required: bool, related: str) -> str:
            word = {True: "Mandatory", False: "Conditional"}[required]
            usage = f' assignmentStatus="{word}"'
            if not self.old:
                usage = ' usage="mandatory"' if required else ' usage="optional"'
            inner = f"<s:AttributeRelationship>{related}</s:AttributeRelationship>"
            return self.component("Attribute", own, codelist, usage, inner)

        stated = attribute("OBS_STATUS", "CL_OBS_STATUS", True, measure)
        stated += attribute("CONF_STATUS", "CL_CONF_STATUS", False, measure)
        stated += attribute("COMMENT_DSET", "", False, whole)
        value = self.component("PrimaryMeasure" if self.old else "Measure", "OBS_VALUE", "")
        return (
            f"<s:DataStructure {_about(name)}>{_name(name)}<s:DataStructureComponents>"
            f'<s:DimensionList id="DimensionDescriptor">{parts}</s:DimensionList>'
            f'<s:AttributeList id="AttributeDescriptor">{stated}</s:AttributeList>'
            f'<s:MeasureList id="MeasureDescriptor">{value}</s:MeasureList>'
            "</s:DataStructureComponents></s:DataStructure>"
        )

    def dataflow(self, name: str, structure: str) -> str:
        target = self.reference("DataStructure", "datastructure", structure)
        used = f"<s:Structure>{target}</s:Structure>"
        return f"<s:Dataflow {_about(name)}>{_name(f'Title of {name}')}{used}</s:Dataflow>"

    def constraint(self, flow: str, codes: Mapping[str, Sequence[str]], include: str) -> str:
        kind, role = ("ContentConstraint", "type") if self.old else ("DataConstraint", "role")
        target = self.reference("Dataflow", "datastructure", flow)
        space = "c" if self.old else "s"
        lines = ""
        for name, chosen in codes.items():
            values = "".join(f"<{space}:Value>{code}</{space}:Value>" for code in chosen)
            lines += f'<{space}:KeyValue id="{name}">{values}</{space}:KeyValue>'
        return (
            f'<s:{kind} {_about(f"CON_{flow}")} {role}="Allowed">{_name("constraint")}'
            f"<s:ConstraintAttachment><s:Dataflow>{target}</s:Dataflow></s:ConstraintAttachment>"
            f'<s:CubeRegion include="{include}">{lines}</s:CubeRegion></s:{kind}>'
        )

    def hierarchy(self, codelist: str, above: str, codes: Sequence[str]) -> str:
        def coded(code: str, inner: str) -> str:
            target = self.reference("Code", "codelist", codelist, code)
            code_ = f"<s:Code>{target}</s:Code>"
            return f'<s:HierarchicalCode id="{code}">{code_}{inner}</s:HierarchicalCode>'

        tree = coded(above, "".join(coded(code, "") for code in codes))
        inner = (
            f"<s:Hierarchy {_about('H')} hasFormalLevels='false'>{_name('H')}{tree}</s:Hierarchy>"
        )
        return (
            inner if not self.old else f"<s:HierarchicalCodelist>{inner}</s:HierarchicalCodelist>"
        )

    def message(self, **parts: str) -> str:
        inner = "".join(f"<s:{kind}>{text}</s:{kind}>" for kind, text in parts.items())
        spaces = f'xmlns:m="{self.schema}/message" xmlns:s="{self.schema}/structure" '
        return (
            f'<?xml version="1.0" encoding="UTF-8"?><m:Structure {spaces}'
            f'xmlns:c="{self.schema}/common"><m:Header><m:ID>M</m:ID><m:Test>false</m:Test>'
            '<m:Prepared>2026-01-01</m:Prepared><m:Sender id="ESO"/></m:Header>'
            f"<m:Structures>{inner}</m:Structures></m:Structure>"
        )


def concepts() -> str:
    names = ("GEO", "SEX", "AGE", "EDU", "TIME_PERIOD", "OBS_VALUE", "OBS_STATUS")
    names += ("CONF_STATUS", "COMMENT_DSET")
    lines = "".join(f'<s:Concept id="{name}">{_name(name)}</s:Concept>' for name in names)
    return f"<s:ConceptScheme {_about('CS')}>{_name('CS')}{lines}</s:ConceptScheme>"


def write_messages(folder: Path) -> list[Path]:
    """Two cubes in 2.1, one with a constraint; one in 3.0 with a hierarchy; a grid in JSON."""
    old, new = Writer("2.1"), Writer("3.0")
    lists = {"CL_GEO": GEO, "CL_SEX": SEX, "CL_AGE": AGE, "CL_OBS_STATUS": OBS}
    lists |= {"CL_CONF_STATUS": CONF}
    dimensions = {"GEO": "CL_GEO", "SEX": "CL_SEX", "AGE": "CL_AGE"}
    ages = list(AGE)[:4]
    first = old.message(
        Dataflows=old.dataflow("HC1", "CENSUS") + old.dataflow("HC2", "CENSUS"),
        Codelists="".join(old.codelist(name, codes) for name, codes in lists.items()),
        Concepts=concepts(),
        DataStructures=old.structure("CENSUS", dimensions),
        Constraints=old.constraint("HC1", {"AGE": ages[:1]}, "true")
        + old.constraint("HC2", {"GEO": ["XX", "XX1", "XX2", "XXZ"], "AGE": ages}, "true"),
    )
    second = new.message(
        Dataflows=new.dataflow("HC3", "CENSUS_EDU"),
        Codelists=new.codelist("CL_EDU", EDU),
        Hierarchies=new.hierarchy("CL_EDU", "ED3-8", ["ED3", "ED5"]),
        DataStructures=new.structure(
            "CENSUS_EDU", {"GEO": "CL_GEO", "AGE": "CL_AGE", "EDU": "CL_EDU"}
        ),
        DataConstraints=new.constraint("HC3", {"AGE": ages}, "true")
        + new.constraint(
            "HC3",
            {"AGE": ["Y_LT15"], "EDU": [code for code in EDU if code not in "T NAP"]},
            "false",
        ),
    )
    paths = [folder / "eso-2.1.xml", folder / "eso-3.0.xml", folder / "grid.json"]
    for path, text in zip(paths, (first, second, json.dumps(grid())), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def grid() -> dict[str, Any]:
    """A grid of 1 km whose one dimension of codes lists figures."""

    def urn(kind: str, name: str, item: str = "") -> str:
        return f"{URN}.x.{kind}=ESO:{name}(1.0){item and '.' + item}"

    def dimension(name: str, codelist: str) -> dict[str, Any]:
        shown = {"enumeration": urn("Codelist", codelist)} if codelist else {"format": {}}
        return {
            "id": name,
            "conceptIdentity": urn("Concept", "CS", name),
            "localRepresentation": shown,
        }

    about = {"agencyID": "ESO", "version": "1.0"}
    status = {
        **dimension("OBS_STATUS", "CL_OBS_STATUS"),
        "usage": "mandatory",
        "attributeRelationship": {"observation": {}},
    }
    components = {
        "dimensionList": {
            "dimensions": [dimension("GRID", ""), dimension("STAT", "CL_STAT")],
            "timeDimension": dimension("TIME_PERIOD", ""),
        },
        "attributeList": {"id": "AttributeDescriptor", "attributes": [status]},
        "measureList": {"id": "MeasureDescriptor", "measures": [dimension("OBS_VALUE", "")]},
    }
    return {
        "data": {
            "codelists": [
                {"id": "CL_STAT", **about, "codes": [{"id": c, "name": c} for c in STAT]}
            ],
            "dataflows": [
                {"id": "GRID1", **about, "name": "Grid", "structure": urn("DataStructure", "CGRID")}
            ],
            "dataStructures": [
                {"id": "CGRID", **about, "name": "Grid", "dataStructureComponents": components}
            ],
        }
    }
