"""How often a reader guesses counts under invariant perturbation: python bench/invariant.py."""

from method_comparison import MATRIX, Tables

from discreet.demo import generate
from discreet.protection.noise import invariant_risk


def main() -> None:
    """Print the rates for the tables of the comparison of methods."""
    tables = Tables.of(generate(50_000)).counted()
    drawn = [[0.25] * 4] * 4
    for name, matrix, alpha in (
        ("0.6 and more stay", MATRIX, 1.0),
        ("half of it", MATRIX, 0.5),
        ("drawn by frequency alone", drawn, 1.0),
    ):
        found = invariant_risk(tables, matrix, alpha=alpha)
        each = ", ".join(f"{share:.0%}" for share in found.each)
        print(f"{name}: right {found.right:.0%}, by chance {found.chance:.0%}, printed as they are "
              f"{found.printed:.0%}; of the counts 1 to 4: {each}")  # fmt: skip


if __name__ == "__main__":
    main()
