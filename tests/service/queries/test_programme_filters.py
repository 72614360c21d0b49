"""Filters of programmes: written from codes of variables, and read as the same codes."""

from discreet_service.datasets import DataVersion
from discreet_service.queries import conditions_of, filter_text


def test_filters_of_codes_are_read_as_the_same_codes(census: DataVersion) -> None:
    """Single codes of every level, the first half, and all but the first."""
    written = set()
    for unit in census.units.values():
        schema = census.records(unit.name)[0].collect_schema()
        for variable in unit.variables.values():
            for level in variable.levels:
                codes = variable.codes_of(level.number)
                for chosen in (
                    (codes[0],),
                    codes[-1:],
                    codes[: max(len(codes) // 2, 1)],
                    codes[1:],
                ):
                    if not chosen or len(chosen) == len(codes):
                        continue
                    text = filter_text(variable, chosen, schema)
                    [condition] = conditions_of(text, unit, census)
                    read = unit.variables[condition.variable].tree
                    assert read.source == variable.tree.source
                    finest = variable.leaves_within([variable.tree.index[one] for one in chosen])
                    again = unit.variables[condition.variable].leaves_within(
                        [read.index[one] for one in condition.codes]
                    )
                    if condition.variable == variable.name:
                        assert finest.tolist() == again.tolist(), text
                    written.add(text.partition(" ")[2].partition(" ")[0])
    # Lists, ranges and missing values were all written.
    assert written >= {"in", "==", ">="}
