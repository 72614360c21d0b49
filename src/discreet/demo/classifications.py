"""The classifications of the synthetic census, with labels and the shares that occur.

In: the map. Out: name → `Classification`, with English and German labels. All shares are
invented; nothing here is confidential.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from discreet.classifications import MISSING, Classification
from discreet.classifications.tree import TOTAL
from discreet.demo.geography import Geography


@dataclass(frozen=True, slots=True)
class Code:
    """A code with its labels.

    Args:
        code: The code that records carry.
        en: English label.
        de: German label.
        share: How common it is among its like (only where shares do not depend on age).
    """

    code: str
    en: str
    de: str
    share: float = 0.0

    @property
    def labels(self) -> dict[str, str]:
        """The label in each language."""
        return {"en": self.en, "de": self.de}


def codes_of(entries: tuple[Code, ...]) -> tuple[str, ...]:
    """The codes of a list.

    >>> codes_of(SEX)
    ('m', 'w')
    """
    return tuple(entry.code for entry in entries)


SEX = (Code("m", "male", "männlich"), Code("w", "female", "weiblich"))

MARITAL_STATUS = (
    Code("single", "single", "ledig"),
    Code("married", "married", "verheiratet"),
    Code("widowed", "widowed", "verwitwet"),
    Code("divorced", "divorced", "geschieden"),
    Code("partnership", "registered partnership", "eingetragene Partnerschaft"),
    Code("partnership_ended", "partnership ended", "Partnerschaft beendet"),
)

EDUCATION_GROUPS = (
    Code("in_training", "not yet finished", "noch nicht abgeschlossen"),
    Code("low", "low", "niedrig"),
    Code("medium", "medium", "mittel"),
    Code("high", "high", "hoch"),
)

# By group.
EDUCATION: dict[str, tuple[Code, ...]] = {
    "in_training": (
        Code("pre_school", "below school age", "noch nicht schulpflichtig"),
        Code("pupil", "at school", "in der Schule"),
    ),
    "low": (
        Code("no_certificate", "no certificate", "ohne Abschluss"),
        Code("basic", "basic school certificate", "Hauptschulabschluss"),
    ),
    "medium": (
        Code("middle", "middle school certificate", "mittlerer Schulabschluss"),
        Code("upper", "university entrance certificate", "Hochschulreife"),
        Code("vocational", "vocational training", "Berufsausbildung"),
    ),
    "high": (
        Code("bachelor", "bachelor or master craftsman", "Bachelor oder Meister"),
        Code("master", "master or diploma", "Master oder Diplom"),
        Code("doctorate", "doctorate", "Promotion"),
    ),
}

HOUSEHOLD_TYPE = (
    Code("single", "one person", "Einpersonenhaushalt"),
    Code("couple", "couple without children", "Paar ohne Kinder"),
    Code("family", "couple with children", "Paar mit Kindern"),
    Code("lone_parent", "lone parent", "Alleinerziehende"),
    Code("shared", "other persons living together", "Mehrpersonenhaushalt ohne Kernfamilie"),
)

TENURE = (
    Code("owned", "lived in by the owner", "vom Eigentümer bewohnt"),
    Code("rented", "rented out", "vermietet"),
    Code("vacant", "vacant", "leer stehend"),
)

BUILDING_TYPE = (
    Code("detached", "detached house", "freistehendes Haus"),
    Code("semi_detached", "semi-detached house", "Doppelhaushälfte"),
    Code("terraced", "terraced house", "gereihtes Haus"),
    Code("apartments", "block of flats", "Mehrfamilienhaus"),
    Code("other", "other building with dwellings", "sonstiges Gebäude mit Wohnraum"),
)

CONSTRUCTION = (
    Code("before_1919", "before 1919", "vor 1919"),
    Code("1919_1948", "1919 to 1948", "1919 bis 1948"),
    Code("1949_1978", "1949 to 1978", "1949 bis 1978"),
    Code("1979_1990", "1979 to 1990", "1979 bis 1990"),
    Code("1991_2000", "1991 to 2000", "1991 bis 2000"),
    Code("2001_2010", "2001 to 2010", "2001 bis 2010"),
    Code("2011_2020", "2011 to 2020", "2011 bis 2020"),
    Code("since_2021", "2021 and later", "2021 und später"),
)

CONTINENTS = (
    Code("europe", "Europe", "Europa"),
    Code("africa", "Africa", "Afrika"),
    Code("america", "America", "Amerika"),
    Code("asia", "Asia and Oceania", "Asien und Ozeanien"),
)

# First the country's own nationality, directly below the total; then by continent, with
# shares among foreigners; last those that belong to no continent.
NATIONALITY: dict[str, tuple[Code, ...]] = {
    "": (Code("home", "own nationality", "inländisch"),),
    "europe": (
        Code("al", "Albanian", "albanisch", 70),
        Code("at", "Austrian", "österreichisch", 170),
        Code("ba", "Bosnian", "bosnisch", 180),
        Code("be", "Belgian", "belgisch", 28),
        Code("bg", "Bulgarian", "bulgarisch", 380),
        Code("ch", "Swiss", "schweizerisch", 40),
        Code("cz", "Czech", "tschechisch", 60),
        Code("dk", "Danish", "dänisch", 22),
        Code("es", "Spanish", "spanisch", 170),
        Code("fi", "Finnish", "finnisch", 12),
        Code("fr", "French", "französisch", 140),
        Code("gb", "British", "britisch", 90),
        Code("gr", "Greek", "griechisch", 350),
        Code("hr", "Croatian", "kroatisch", 420),
        Code("hu", "Hungarian", "ungarisch", 210),
        Code("ie", "Irish", "irisch", 14),
        Code("is", "Icelandic", "isländisch", 1.5),
        Code("it", "Italian", "italienisch", 620),
        Code("mt", "Maltese", "maltesisch", 0.8),
        Code("nl", "Dutch", "niederländisch", 130),
        Code("pl", "Polish", "polnisch", 850),
        Code("pt", "Portuguese", "portugiesisch", 130),
        Code("ro", "Romanian", "rumänisch", 860),
        Code("ua", "Ukrainian", "ukrainisch", 950),
    ),
    "africa": (
        Code("cv", "Cape Verdean", "kap-verdisch", 0.7),
        Code("eg", "Egyptian", "ägyptisch", 42),
        Code("er", "Eritrean", "eritreisch", 85),
        Code("gh", "Ghanaian", "ghanaisch", 40),
        Code("ke", "Kenyan", "kenianisch", 16),
        Code("ls", "Lesothan", "lesothisch", 0.6),
        Code("ma", "Moroccan", "marokkanisch", 85),
        Code("ng", "Nigerian", "nigerianisch", 80),
        Code("sc", "Seychellois", "seychellisch", 0.6),
    ),
    "america": (
        Code("br", "Brazilian", "brasilianisch", 55),
        Code("bz", "Belizean", "belizisch", 0.6),
        Code("ca", "Canadian", "kanadisch", 18),
        Code("co", "Colombian", "kolumbianisch", 26),
        Code("pe", "Peruvian", "peruanisch", 11),
        Code("us", "American", "amerikanisch", 120),
        Code("uy", "Uruguayan", "uruguayisch", 1.6),
    ),
    "asia": (
        Code("af", "Afghan", "afghanisch", 390),
        Code("au", "Australian", "australisch", 14),
        Code("bt", "Bhutanese", "bhutanisch", 0.6),
        Code("cn", "Chinese", "chinesisch", 150),
        Code("fj", "Fijian", "fidschianisch", 0.6),
        Code("in", "Indian", "indisch", 230),
        Code("jp", "Japanese", "japanisch", 36),
        Code("sy", "Syrian", "syrisch", 920),
        Code("tr", "Turkish", "türkisch", 1_350),
        Code("vn", "Vietnamese", "vietnamesisch", 105),
    ),
    "other": (
        Code("stateless", "stateless", "staatenlos", 28),
        Code("unclear", "unclear", "ungeklärt", 35),
    ),
}

OCCUPATION_GROUPS = (
    Code("0", "Armed forces", "Streitkräfte"),
    Code("1", "Leading", "Leitung"),
    Code("2", "Research, teaching, medicine, law", "Forschung, Lehre, Medizin, Recht"),
    Code("3", "Technology and specialist services", "Technik und Fachdienste"),
    Code("4", "Office work", "Büroarbeit"),
    Code("5", "Service and sales", "Dienstleistung und Verkauf"),
    Code("6", "Farming, forestry, fishing", "Land- und Forstwirtschaft, Fischerei"),
    Code("7", "Crafts", "Handwerk"),
    Code("8", "Machines and vehicles", "Maschinen und Fahrzeuge"),
    Code("9", "Helping", "Hilfsarbeit"),
)

# The group is the first digit.
OCCUPATION = (
    Code("01", "Officers", "Offiziere", 2),
    Code("02", "Other ranks", "Mannschaften", 4),
    Code("11", "Heads of firms and offices", "Leitung von Firmen und Ämtern", 9),
    Code("12", "Heads of sales and administration", "Leitung Vertrieb und Verwaltung", 16),
    Code("13", "Heads of production", "Leitung Produktion", 14),
    Code("14", "Heads of hotels and shops", "Leitung Gastgewerbe und Handel", 9),
    Code("21", "Natural science and engineering", "Naturwissenschaft und Ingenieurwesen", 48),
    Code("22", "Medicine and pharmacy", "Medizin und Pharmazie", 28),
    Code("23", "Teaching", "Lehre", 52),
    Code("24", "Economics and administration", "Wirtschaft und Verwaltung", 42),
    Code("25", "Software and networks", "Software und Netze", 30),
    Code("26", "Law, society and culture", "Recht, Gesellschaft und Kultur", 34),
    Code("27", "Statistics", "Statistik", 0.6),
    Code("31", "Engineering technicians", "Technische Fachkräfte", 46),
    Code("32", "Nursing and health assistance", "Pflege und Gesundheitsdienste", 50),
    Code("33", "Finance and public service", "Finanzen und öffentlicher Dienst", 78),
    Code("34", "Social work, sport and art", "Soziales, Sport und Kunst", 30),
    Code("35", "User support", "Anwenderbetreuung", 12),
    Code("36", "Ships and aircraft", "Schiffe und Luftfahrzeuge", 1.2),
    Code("41", "General office work", "Allgemeine Büroarbeit", 42),
    Code("42", "Counters and information", "Schalter und Auskunft", 14),
    Code("43", "Accounts and stock", "Rechnungswesen und Lager", 32),
    Code("44", "Libraries and archives", "Bibliotheken und Archive", 2.4),
    Code("51", "Cooking, hair and housekeeping", "Küche, Friseur und Hauswirtschaft", 36),
    Code("52", "Sales", "Verkauf", 62),
    Code("53", "Child care and personal care", "Kinder- und Altenbetreuung", 44),
    Code("54", "Guards and rescue", "Schutz und Rettung", 13),
    Code("61", "Farms and gardens", "Landbau und Gärten", 12),
    Code("62", "Forests and fishing", "Forst und Fischerei", 1.4),
    Code("71", "Building", "Bau", 38),
    Code("72", "Metal and vehicles", "Metall und Fahrzeuge", 44),
    Code("73", "Printing and instrument making", "Druck und Instrumentenbau", 4),
    Code("74", "Electricity and electronics", "Elektrik und Elektronik", 24),
    Code("75", "Food, wood and textiles", "Nahrung, Holz und Textil", 20),
    Code("81", "Operating machines", "Maschinenbedienung", 18),
    Code("82", "Assembling", "Montage", 12),
    Code("83", "Driving", "Fahren", 30),
    Code("91", "Cleaning", "Reinigung", 38),
    Code("92", "Helping on farms", "Hilfe in der Landwirtschaft", 3),
    Code("93", "Helping in building and transport", "Hilfe in Bau und Verkehr", 28),
    Code("94", "Helping in kitchens", "Küchenhilfe", 9),
    Code("96", "Refuse and street work", "Entsorgung und Straße", 10),
)


AGE5_BOUNDS = tuple(range(0, 90, 5))
LEGAL_AGE_BOUNDS = (0, 6, 14, 16, 18, 21, 67)
AREA_BOUNDS = (0, 40, 60, 80, 100, 120, 160)

_TITLES = {
    "region": ("Region", "Region"),
    "state": ("State", "Land"),
    "sex": ("Sex", "Geschlecht"),
    "age5": ("Age", "Alter"),
    "legal_age": ("Age", "Alter"),
    "nationality": ("Nationality", "Staatsangehörigkeit"),
    "marital_status": ("Marital status", "Familienstand"),
    "education": ("Education", "Bildungsabschluss"),
    "occupation": ("Occupation", "Beruf"),
    "household_type": ("Type of household", "Haushaltstyp"),
    "tenure": ("Use", "Nutzung"),
    "area_class": ("Floor area", "Wohnfläche"),
    "building_type": ("Type of building", "Gebäudetyp"),
    "construction": ("Year of construction", "Baujahr"),
}

Labels = dict[str, dict[str, str]]


def classifications_of(place: Geography) -> dict[str, Classification]:
    """All classifications, by name.

    >>> trees = classifications_of(Geography.of(1_000, seed=2026))
    >>> trees["education"].children("high")
    ('bachelor', 'master', 'doctorate')
    """
    trees = {
        "region": _region(place),
        "state": state_of(place),
        "sex": _flat("sex", SEX),
        "age5": _numbers("age5", AGE5_BOUNDS, column="age"),
        "legal_age": _numbers("legal_age", LEGAL_AGE_BOUNDS, column="age"),
        "nationality": grouped("nationality", CONTINENTS, NATIONALITY),
        "marital_status": _flat("marital_status", MARITAL_STATUS),
        "education": grouped("education", EDUCATION_GROUPS, EDUCATION),
        "occupation": _occupation(),
        "household_type": _flat("household_type", HOUSEHOLD_TYPE),
        "tenure": _flat("tenure", TENURE),
        "area_class": _numbers("area_class", AREA_BOUNDS, column="area"),
        "building_type": _flat("building_type", BUILDING_TYPE),
        "construction": _flat("construction", CONSTRUCTION),
    }
    return {name: tree.replace(titles=_titles(name)) for name, tree in trees.items()}


def _titles(name: str) -> dict[str, str]:
    english, german = _TITLES[name]
    return {"en": english, "de": german}


def _labels(entries: Iterable[Code]) -> Labels:
    return {entry.code: entry.labels for entry in entries}


def _flat(name: str, entries: tuple[Code, ...]) -> Classification:
    codes = [entry.code for entry in entries]
    return Classification.flat(name, codes, labels=_labels(entries))


def _numbers(name: str, bounds: tuple[int, ...], column: str) -> Classification:
    return Classification.from_intervals(name, bounds=bounds, column=column)


def _tree(
    name: str, pairs: Iterable[tuple[Code, str]], missing: Code | None = None
) -> Classification:
    """A tree from codes with the code above each, in tree order."""
    at = {TOTAL: 0}
    parents = [-1]
    labels: Labels = {}
    for entry, above in pairs:
        at[entry.code] = len(at)
        parents.append(at[above])
        labels[entry.code] = entry.labels
    if missing is not None:
        labels[missing.code] = missing.labels
    return Classification(name=name, codes=tuple(at), parents=tuple(parents), labels=labels)


def grouped(
    name: str, groups: tuple[Code, ...], members: Mapping[str, tuple[Code, ...]]
) -> Classification:
    """Two levels; members of a group that is not listed stand directly below the total."""
    named = {group.code: group for group in groups}
    pairs: list[tuple[Code, str]] = []
    for group, entries in members.items():
        if group in named:
            pairs.append((named[group], TOTAL))
        pairs += [(entry, group if group in named else TOTAL) for entry in entries]
    return _tree(name, pairs)


def _occupation() -> Classification:
    pairs: list[tuple[Code, str]] = []
    for group in OCCUPATION_GROUPS:
        pairs.append((group, TOTAL))
        pairs += [(entry, group.code) for entry in OCCUPATION if entry.code[0] == group.code]
    return _tree("occupation", pairs, Code(MISSING, "not working", "nicht erwerbstätig"))


def state_of(place: Geography) -> Classification:
    """The states of the invented country."""
    entries = zip(place.states, place.state_names, strict=True)
    return _flat("state", tuple(Code(code, name, name) for code, name in entries))


def _region(place: Geography) -> Classification:
    """States, districts, municipalities; a district bears the name of its largest place."""
    by_state: dict[int, list[int]] = {}
    for district, state in enumerate(place.district_state.tolist()):
        by_state.setdefault(state, []).append(district)
    by_district: dict[int, list[int]] = {}
    for municipality, district in enumerate(place.municipality_district.tolist()):
        by_district.setdefault(district, []).append(municipality)
    pairs: list[tuple[Code, str]] = []
    for state, districts in by_state.items():
        above, name = place.states[state], place.state_names[state]
        pairs.append((Code(above, name, name), TOTAL))
        for district in districts:
            members = by_district[district]
            pairs.append((_district(place, district, members), above))
            for member in members:
                name = place.municipality_names[member]
                code = Code(place.municipalities[member], name, name)
                pairs.append((code, place.districts[district]))
    tree = _tree("region", pairs)
    return tree.replace(column="municipality", level_names=("state", "district", "municipality"))


def _district(place: Geography, district: int, members: list[int]) -> Code:
    largest = max(members, key=lambda member: int(place.population[member]))
    name = place.municipality_names[largest]
    if len(members) == 1:
        return Code(place.districts[district], f"{name}, city", f"{name}, Stadt")
    return Code(place.districts[district], f"{name} district", f"Kreis {name}")
