"""Records of the tests on sessions: counties in regions, with few women in two of them."""

import polars as pl

#: Women and men by county; the regions are the first letters. Two cells are small, in different
#: regions.
COUNTIES = {"e1": (20, 30), "e2": (2, 25), "e3": (31, 22), "w1": (24, 28), "w2": (1, 33)}
#: A wage that nobody else has: a mean over the few women of e2 would show it.
GIANT = 987_654.25


def people() -> pl.DataFrame:
    """One record a person."""
    rows = [
        {"region": county[0], "county": county, "sex": sex, "number": at}
        for county, counts in COUNTIES.items()
        for sex, count in zip("fm", counts, strict=True)
        for at in range(count)
    ]
    frame = pl.DataFrame(rows).with_row_index("pid")
    wage = 2000 + (pl.col("pid") * 37 % 501) + pl.col("number")
    small = (pl.col("county") == "e2") & (pl.col("sex") == "f")
    frame = frame.with_columns(
        pl.when(small).then(pl.lit(GIANT)).otherwise(wage).cast(pl.Float64).alias("wage"),
        age=20 + pl.col("pid") * 13 % 45,
    )
    return frame.with_columns(married=(pl.col("pid") * 7 % 11 < 5).cast(pl.Int64))
