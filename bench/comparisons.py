"""What is compared with what. Tasks are named by their module and their name there.

Loaded by interpreters that have nothing but the standard library too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

MILLION = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Tasks side by side.

    Args:
        group: What to ask for on the command line.
        title: What is done.
        tasks: What is measured, as "module: name"; ratios are to the first.
        sizes: How large; with --quick the first only.
        smoke: How large to see whether it runs; 0 if it cannot be made small.
        unit: What is counted by the size.
        rounds: How often tasks take turns.
        repeats: How often a task runs in each of its processes.
        together: Tasks take turns in one process.
        warm: Each task runs once before it is timed.
        told: What results tell of themselves.
        needs: A package, "reference" for the published data, or "acro".
        large: Takes many minutes.
        goals: For each size, how many times the processor time of the second task the first may
            take; 0 for no goal.
    """

    group: str
    title: str
    tasks: tuple[str, ...]
    sizes: tuple[int, ...]
    smoke: int
    unit: str = "rows"
    rounds: int = 3
    repeats: int = 3
    together: bool = False
    warm: bool = True
    told: tuple[str, ...] = ()
    needs: str = ""
    large: bool = False
    goals: tuple[float, ...] = ()

    def goal(self, size: int) -> float:
        """The goal for a size; 0 for none."""
        return dict(zip(self.sizes, self.goals, strict=False)).get(size, 0.0)

    @property
    def rounds_together(self) -> int:
        """How often each task runs in a process."""
        return self.rounds if self.together else self.repeats


#: Goals for 10 and 100 thousand, 1 and 10 million records.
_BESIDE_POLARS = {"integer": (3.0, 1.2, 0.0, 0.15), "string": (0.0, 0.0, 0.9, 0.3)}


def _tabulation() -> Iterator[Comparison]:
    cells = "400 × 18 × 2: "
    sizes, smoke = (MILLION, 10 * MILLION), 5_000
    for kind in ("integer", "category", "string"):
        tasks = (f"tabulation: discreet {kind}", f"tabulation: polars {kind}")
        title = f"{cells}all margins perturbed, beside inner cells only"
        yield Comparison(
            group="tabulation", title=title, tasks=tasks, smoke=smoke,
            sizes=(10_000, MILLION // 10, *sizes), goals=_BESIDE_POLARS.get(kind, ()),
        )  # fmt: skip
        yield Comparison(
            group="tabulation",
            title=f"{cells}all margins perturbed, beside a cube with sums of keys",
            tasks=(tasks[0], f"tabulation: duckdb cube {kind}"),
            sizes=sizes,
            goals=(1.0, 0.7),
            smoke=smoke,
        )
        if kind != "category":
            yield Comparison(
                group="tabulation",
                title=f"{cells}beside the package of another office (inner cells only)",
                tasks=(tasks[0], f"tabulation: cell-key-perturbation {kind}"),
                sizes=sizes,
                smoke=smoke,
                needs="cell_key_perturbation",
            )
    for engine in ("frame", "polars file", "duckdb file"):
        yield Comparison(
            group="tabulation",
            title=f"{cells}largest contributions beside sums",
            tasks=(f"tabulation: {engine}, sums and top 2", f"tabulation: {engine}, sums"),
            sizes=sizes,
            smoke=smoke,
        )
    yield Comparison(
        group="tabulation",
        title="Two-way tables of five variables",
        tasks=("tabulation: ten tables, one pass", "tabulation: ten tables, ten passes"),
        sizes=(2 * MILLION,),
        smoke=smoke,
    )
    yield Comparison(
        group="tabulation",
        title="Fingerprints of cells, beside the pass that suppression makes",
        tasks=("tabulation: ten tables to suppress", "tabulation: fingerprints of ten tables"),
        sizes=(MILLION,),
        smoke=smoke,
    )
    yield Comparison(
        group="tabulation",
        title="11,000 regions on three levels × 18 × 2, from Parquet",
        tasks=("tabulation: discreet parquet", "tabulation: polars parquet"),
        sizes=(5 * MILLION, 83 * MILLION),
        smoke=smoke,
        rounds=1,
        repeats=1,
        warm=False,
    )
    yield Comparison(
        group="programme",
        title="600 tables, region by up to three more variables, with all margins",
        tasks=(
            "census: programme, protected",
            "census: programme, unprotected",
            "census: programme, taken up half way",
        ),
        sizes=(MILLION // 10, MILLION),
        goals=(0.0, 1.3),
        smoke=300,
        unit="persons",
        rounds=1,
        repeats=1,
        warm=False,
    )

    yield Comparison(
        group="programme",
        title="A release with a file for each of 10,787 municipalities",
        tasks=("regional: files of areas, plainly", "regional: files of areas"),
        sizes=(MILLION // 10,),
        smoke=200,
        unit="persons",
        rounds=1,
        repeats=1,
        warm=False,
    )


def _before() -> Iterator[Comparison]:
    """This code beside that of an older checkout."""
    sizes = (200, 10_000, MILLION // 10, MILLION, 10 * MILLION)
    for task, what in (
        ("discreet integer", "Tables of integers, with all margins, perturbed"),
        ("discreet string", "Tables of texts, with all margins, perturbed"),
        ("discreet parquet", "Tables from Parquet, perturbed"),
    ):
        yield Comparison(
            group="before",
            title=f"{what}, beside an older checkout",
            tasks=(f"tabulation: {task}, before", f"tabulation: {task}"),
            sizes=sizes,
            smoke=200,
            rounds=5,
            repeats=9,
            needs="old",
        )


def _noise() -> Iterator[Comparison]:
    for task, size, small in (
        ("lookup", 10 * MILLION, 1_000),
        ("keys integer", 2 * MILLION, 1_000),
        ("keys string", 2 * MILLION, 1_000),
    ):
        yield Comparison(
            group="noise", title=task.capitalize(), tasks=(f"tabulation: {task}",),
            sizes=(size,), smoke=small, rounds=1,
        )  # fmt: skip
    yield Comparison(
        group="noise", title="Design of a perturbation table", tasks=("tabulation: design",),
        sizes=(20, 100), smoke=5, unit="maximum noise", rounds=1, repeats=5,
    )  # fmt: skip


#: Methods of suppression, ours and those of the public engine of τ-ARGUS.
OURS = ("fast", "auto", "optimal", "modular", "hypercube")
#: Its hypercube method asks for an external program.
THEIRS = ("modular", "optimal")


#: Public problems, bounds as in their files, with the lowest costs known to us.
PUBLIC = {
    "table8": 103,
    "osorio": 13,
    "targus": 2_033_155,
    "table7": 3_909_548,
    "hie1372d": 524_831,
    "dep_activite": 15_735,
}
#: Per cent of sensitive cells in tables of random firms, about.
SHARES = (10, 40, 70)


def _costs_of_suppression() -> Iterator[Comparison]:
    told = ("cells", "sensitive", "secondaries", "cost", "bound", "open outside", "open inside")
    for name, best in PUBLIC.items():
        yield Comparison(
            group="patterns",
            title=f"Suppression of the public problem {name}; lowest cost known {best:,}",
            tasks=tuple(f"suppression: discreet {method} {name}" for method in ("fast", "auto")),
            sizes=(0,),
            smoke=0,
            unit="",
            rounds=1,
            repeats=1,
            warm=False,
            told=told,
            needs="reference",
            large=name in ("table7", "hie1372d", "dep_activite"),
        )
    for share in SHARES:
        both = tuple(f"suppression: discreet {method} firms {share}" for method in ("fast", "auto"))
        for size in (1_000, 10_000, 100_000):
            yield Comparison(
                group="suppression",
                title=f"Suppression of random firms, rule P(10), some {share} % of cells sensitive",
                tasks=(*both, f"suppression: pytauargus modular firms {share}"),
                sizes=(size,),
                smoke=100 if size == 1_000 else 0,
                unit="cells, about",
                rounds=1,
                repeats=1,
                warm=False,
                told=told,
                needs="pytauargus",
                large=size > 1_000,
            )


def _suppression() -> Iterator[Comparison]:
    # The size of a table of the reference data is given by its name.
    for name, cells in (
        ("SizeReg", 162),
        ("YearSizeReg", 1_134),
        ("SizeInd", 3_294),
        ("RegInd", 6_588),
    ):
        ours = tuple(f"suppression: discreet {method} {name}" for method in OURS)
        theirs = tuple(f"suppression: pytauargus {method} {name}" for method in THEIRS)
        yield Comparison(
            group="suppression",
            title=f"Suppression of {name}, rule P(10)",
            tasks=ours + theirs,
            sizes=(cells,),
            smoke=cells if name == "SizeReg" else 0,
            unit="cells",
            rounds=1,
            repeats=1,
            warm=False,
            told=("secondaries", "cost", "bound", "open outside", "open inside"),
            needs="pytauargus",
            large=name in ("SizeInd", "RegInd"),
        )
    for name, cells in (("SizeReg", 162), ("RegInd", 12_798), ("SizeRegInd", 59_292)):
        yield Comparison(
            group="audit",
            title=f"Audit of {name}",
            tasks=(f"suppression: discreet audit {name}", f"suppression: pytauargus audit {name}"),
            sizes=(cells,),
            smoke=cells if name == "SizeReg" else 0,
            unit="cells",
            rounds=1,
            repeats=1,
            warm=False,
            told=("hidden", "open"),
            needs="pytauargus",
            large=name == "SizeRegInd",
        )
    yield from _suppression_at_size()


def _suppression_at_size() -> Iterator[Comparison]:
    """Tables of many occupied cells."""
    kinds = (
        ("fast", "sparse frequency tables in five variables", (10_000, 100_000, MILLION)),
        (
            "survey",
            "farm surveys in four variables, insiders kept out",
            (5_000, 13_000, 20_000, 60_000, 400_000),
        ),
        ("public", "farm surveys in four variables, the public alone", (5_000, 13_000, 20_000)),
    )
    for task, kind, sizes in kinds:
        for size in sizes:
            yield Comparison(
                group="suppression",
                title=f"Suppression at size: {kind}, method fast",
                tasks=(f"sparse: {task}",),
                sizes=(size,),
                smoke=100 if size in (10_000, 20_000) and task != "public" else 0,
                unit="occupied cells, about",
                rounds=1,
                repeats=1,
                warm=False,
                told=(
                    "cells",
                    "sensitive",
                    "secondaries",
                    "cost",
                    "bound",
                    "cost of all",
                    "open inside",
                ),
                large=size > 100_000,
            )


#: Statistics that safe commands and polars both make, and models of statsmodels.
STATISTICS = (
    "summarize",
    "summarize, entities",
    "summarize, weights",
    "summarize detail",
    "summarize detail, entities",
    "tabulate numbers",
    "tabulate numbers, entities",
    "tabulate texts",
    "tabulate texts, entities",
    "tabulate texts, weights",
    "tabulate two-way",
    "tabulate two-way, entities",
    "tabstat numbers",
    "tabstat numbers, entities",
    "tabstat texts",
    "tabstat texts, entities",
    "tabstat texts, text entities",
    "tabstat texts, weights",
    "tabstat quartiles",
    "tabstat quartiles, entities",
)
MODELS = (
    "regress",
    "regress, factor variables",
    "regress, robust",
    "regress, clustered",
    "regress, robust, one variable",
    "regress, three rows of each person",
    "regress, analytic weights",
    "regress, sampling weights",
    "logit",
    "probit",
)
ACRO = (
    *("crosstab", "crosstab of means", "pivot_table", "hist"),
    *("ols", "olsr", "logit", "logitr", "probit", "probitr"),
)


def _output_checking() -> Iterator[Comparison]:
    for name in STATISTICS:
        yield Comparison(
            group="safe-commands",
            title=name,
            tasks=(f"safe_commands: polars {name}", f"safe_commands: discreet {name}"),
            sizes=(MILLION,),
            smoke=2_000,
            rounds=15,
            together=True,
        )
    for name in MODELS:
        yield Comparison(
            group="models",
            title=name,
            tasks=(f"models: statsmodels {name}", f"models: discreet {name}"),
            sizes=(MILLION,),
            smoke=2_000,
            rounds=5,
            together=True,
            needs="statsmodels",
        )
    for name in ("a program", "all programs", "a program, new names", "all programs, new names"):
        yield Comparison(
            group="rewriting",
            title="Rewriting do-files",
            tasks=(f"rewriting: {name}",),
            sizes=(MILLION,),
            smoke=20_000,
            unit="characters",
            rounds=1,
            repeats=5,
            told=("lines", "edits"),
        )
    for task in ("differences", "differences, one size", "differences and unions", "all cells"):
        yield Comparison(
            group="ledger",
            title="Universes against all released ones",
            tasks=(f"ledger: {task}",),
            sizes=(10_000,),
            smoke=100,
            unit="tables",
            rounds=1,
            repeats=1,
            warm=False,
            told=("found", "bytes", "marks"),
        )


def _acro() -> Iterator[Comparison]:
    for name in ACRO:
        sides = (
            f"acro_side: plain {name}",
            f"acro_side: acro {name}",
            f"beside_acro: discreet {name}",
        )
        yield Comparison(
            group="acro", title=name, tasks=sides, sizes=(MILLION,), smoke=2_000, needs="acro"
        )
    for name in ("counts", "means"):
        yield Comparison(
            group="acro",
            title=f"Verdicts on a table of {name} with cells that break a rule",
            tasks=(f"beside_acro: verdicts on {name}", f"acro_side: verdicts on {name}"),
            sizes=(1,),
            smoke=1,
            unit="table",
            rounds=1,
            repeats=1,
            told=("few", "one", "two", "alike", "but one", "others"),
            needs="acro",
        )


def _rounding() -> Iterator[Comparison]:
    """Rounding that keeps sums, and its audit."""
    tasks = (
        "controlled, 100 x 100",
        "controlled, 20 x 20 x 25",
        "controlled, 100 x 100 x 100",
        "small counts, 19 x 12 x 23",
        "audit, 100 x 100",
    )
    for task in tasks:
        yield Comparison(
            group="rounding",
            title=f"Rounding to base 5: {task}",
            tasks=(f"rounding: {task}",),
            sizes=(100,),
            smoke=5,
            unit="codes per variable, at most",
            rounds=1,
            repeats=1,
            told=("cells", "open") if "audit" in task else ("cells", "mean", "largest"),
        )


def _safe() -> Iterator[Comparison]:
    """SAFE on the synthetic census: the optimum of small files, the search in large ones."""
    sizes = {"exact": (1_500, 12_000, 30_000), "searched": (1_500, 12_000, 30_000)}
    for task in ("exact", "searched", "20 pairs", "20 triples", "50 tables"):
        yield Comparison(
            group="safe",
            title=f"SAFE: {task}",
            tasks=(f"safe: {task}",),
            sizes=sizes.get(task, (2_000_000,)),
            smoke=500,
            unit="persons",
            rounds=1,
            repeats=1,
            warm=False,
            told=("distinct", "rare", "largest", "no less", "mean", "change", "at least"),
        )


def _record_methods() -> Iterator[Comparison]:
    """Methods on records, of persons or of households with one record each."""
    for task, sizes in (
        ("pram", (MILLION, 10 * MILLION)),
        ("rank swap", (MILLION, 10 * MILLION)),
        ("swap", (MILLION, 10 * MILLION, 40 * MILLION)),
        ("local suppression", (MILLION,)),
        ("microaggregation sorted", (MILLION,)),
        ("microaggregation mdav", (50_000,)),
        ("risk of records", (MILLION,)),
    ):
        for size in sizes:
            yield Comparison(
                group="records",
                title=f"Methods on records: {task}",
                tasks=(f"record_exchange: {task}",),
                sizes=(size,),
                smoke=2_000 if size <= MILLION else 0,
                unit="records",
                rounds=1,
                repeats=2 if size < 40 * MILLION else 1,
                warm=size < 40 * MILLION,
                told=("unique",) if task == "risk of records" else ("changes",),
                large=size > 10 * MILLION,
            )


COMPARISONS = (
    *_tabulation(),
    *_before(),
    *_noise(),
    *_suppression(),
    *_costs_of_suppression(),
    *_rounding(),
    *_safe(),
    *_record_methods(),
    *_output_checking(),
    *_acro(),
)
