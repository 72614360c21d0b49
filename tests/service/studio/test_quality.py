"""The dashboard: what it shows is what policies and log hold, for staff, and nothing of people."""

import html
import re
from typing import Any

import sqlalchemy as sa

from discreet_service.database.schema import POLICY_ALERTS, RATE_COUNTERS
from discreet_service.policies.overview import near_limits, refusals_by_rule, released_sums
from discreet_service.policies.rates import CELLS_PER_DAY, day_of
from tests.service.studio.conftest import GERMAN, HTML, plain, text_of

PAGE = "/quality/census/2022-1"
TOO_MUCH = "unit=person&by=region:municipality,sex,age5,education:2"


def _exposure(text: str) -> dict[tuple[str, str], list[str]]:
    """Variable and level → what stands in its cells."""
    table = text[text.index('<table id="exposure"') :]
    rows = re.findall(r"<tr><th scope=\"row\">(.*?)</th>(.*?)</tr>", table, re.DOTALL)
    found = {}
    for name, rest in rows:
        level, *cells = re.findall(r"<td[^>]*>(.*?)</td>", rest, re.DOTALL)
        found[html.unescape(name), level] = [re.sub(r"<[^>]+>", "", each) for each in cells]
    return found


def test_exposure_is_what_the_policies_work_out(readers: Any) -> None:
    """Of each limit so much as the policies say of the same counts."""
    readers.page("/tables/census/result?unit=person&by=region:district,sex", "rita")
    asked = readers.service.answers.prepared("census", _query("region:district,sex")).plan.asked
    axes = [next(axis for axis in one if axis is not None) for one in asked.shape]
    place, sex = sorted(axes, key=lambda axis: not axis.geography)
    policy = readers.service.policies.policy("census", "2022-1").exposure
    with readers.service.database.reading() as connection:
        used = readers.service.policies.exposures(asked, [(sex,), (sex, place)], connection)
    most = readers.service.policies._of(asked).layers.most_exposed(asked).exposure
    assert 0 < used[1] <= used[0] * place.size
    assert max(used) <= most
    cells = _exposure(readers.page(f"{PAGE}?unit=person", "cora"))
    row = next(each for name, each in cells.items() if "(sex)" in name[0])
    levels = ["", *policy.levels]
    for level, exposure in (("", used[0]), (place.level, used[1])):
        limit = policy.levels[level] if level else policy.everywhere
        shown = " ".join(row[levels.index(level)].replace("\xa0", " ").split())
        assert shown == f"{100 * exposure / limit:.0f} % {exposure:.1f} / {limit:.1f}"


def _query(by: str) -> Any:
    from discreet_service.web.queries import read_address

    return read_address([("unit", "person"), ("by", by)])


def test_sums_are_what_was_released(readers: Any) -> None:
    readers.page("/tables/census/result?unit=building&by=region:district", "rita")
    with readers.service.database.reading() as connection:
        sums = {one.unit: one for one in released_sums(connection, "census", "2022-1")}
    text = plain(readers.page(PAGE, "paul"))
    one = sums["building"]
    assert one.tables >= 1
    assert f"Buildings {one.tables} {one.cells:,} {one.universes}" in text
    before = one.tables
    readers.page("/tables/census/result?unit=building&by=region:district", "rita")
    with readers.service.database.reading() as connection:
        again = {one.unit: one for one in released_sums(connection, "census", "2022-1")}
    assert again["building"].tables == before


def test_refusals_alerts_and_limits_are_shown(readers: Any) -> None:
    assert readers.browser("rita").get(
        f"/tables/census/result?{TOO_MUCH}", headers=HTML
    ).status_code == 403  # fmt: skip
    service, now = readers.service, readers.service.clock()
    limit = service.policies.policy("census", "2022-1").rates.cells_per_day
    counter = {"subject": "census: busy<b>body", "measure": CELLS_PER_DAY}
    alert = {"dataset": "census", "version": "2022-1", "principal": "busy<b>body"}
    with service.database.writing() as connection:
        connection.execute(sa.insert(RATE_COUNTERS).values(
            **counter, window_start=day_of(now), amount=limit * 9 // 10
        ))  # fmt: skip
        connection.execute(sa.insert(POLICY_ALERTS).values(
            **alert, at=now, kind="partitions", number=30, stopped=True
        ))  # fmt: skip
    text = readers.page(PAGE, "cora", **GERMAN)
    assert "Ablehnungen nach Regel" in text
    assert "Weitere Abfragen unbedenklich: ja, nach einem Blick auf diese Punkte" in text
    assert text_of(text, "patterns") == "1"
    with service.database.reading() as connection:
        counted = refusals_by_rule(connection, "census", "2022-1")
    assert counted
    for rule, count in counted.items():
        assert re.search(rf'<th scope="row">{rule}</th><td[^>]*>.*?</td><td>{count}</td>', text)
    assert "busy<b>" not in text
    assert text.count("busy&lt;b&gt;body") == 2
    assert re.search(r'<td class="near">90\s*%</td>', text)
    with service.database.writing() as connection:
        for table in (RATE_COUNTERS, POLICY_ALERTS):
            connection.execute(sa.delete(table).where(sa.or_(
                *(column.contains("busy<b>body") for column in table.c
                  if column.name in ("subject", "principal"))
            )))  # fmt: skip
    after = readers.page(PAGE, "cora")
    assert "busy" not in after
    assert "Safe to answer more queries: yes<" in after
    assert "Parameters in use: the same as census 1" in after


def test_near_limits_are_those_of_today_and_of_this_version(readers: Any) -> None:
    service, now = readers.service, readers.service.clock()
    policy = service.policies.policy("census", "2022-1")
    limit, day = policy.rates.cells_per_day, day_of(now)
    planted = [
        ("census: anna", CELLS_PER_DAY, day, limit),
        ("census: otto", CELLS_PER_DAY, day - 86_400_000, limit),
        ("census: mia", CELLS_PER_DAY, day, limit // 3),
        ("census%: eve", CELLS_PER_DAY, day, limit),
        ("census", "policy cells of all", day, limit),
    ]
    with service.database.writing() as connection:
        names = ("subject", "measure", "window_start", "amount")
        kept = connection.execute(sa.select(RATE_COUNTERS)).mappings().all()
        connection.execute(sa.delete(RATE_COUNTERS))
        for row in planted:
            connection.execute(
                sa.insert(RATE_COUNTERS).values(**dict(zip(names, row, strict=True)))
            )
        found = near_limits(connection, policy, now)
        connection.execute(sa.delete(RATE_COUNTERS))
        for old in kept:
            connection.execute(sa.insert(RATE_COUNTERS).values(**dict(old)))
    assert [(one.principal, one.share) for one in found if one.rule == "P8"] == [("anna", 1.0)]


def test_who_is_explained_nothing_sees_shares_only(readers: Any) -> None:
    """A methodologist, say, reads no limits, names, refusals or alerts."""
    from discreet_service import permissions
    from discreet_service.permissions import Grant, Permission, Principal

    role = next(
        (name for name, one in permissions.ROLES.items()
         if Permission.quality_read in one.permissions
         and Permission.refusals_explain not in one.permissions),
        None,
    )  # fmt: skip
    if role is None:
        assert all(
            Permission.refusals_explain in one.permissions
            for one in permissions.ROLES.values()
            if Permission.quality_read in one.permissions
        )
        return
    name = "mira-of-methods"
    readers.add(name, Grant(role))
    text = readers.page(PAGE, name)
    assert " / 60.0" not in text
    assert 'id="near"' not in text
    assert 'id="refusals"' not in text
    assert ">rita<" not in text[text.index("<main") :]
    assert Principal(name=name, kind="session", grants=(Grant(role),)).may(Permission.quality_read)


def test_retired_or_unknown_versions_are_not_shown(readers: Any) -> None:
    readers.page("/quality/census/none", "cora", 404)
    readers.page("/quality/nothing/1", "cora", 404)


def test_sparse_parts_are_counted(readers: Any) -> None:
    """Crossings whose parts were judged, and those that hide some, as answers have them."""
    asked = "unit=person&by=region:municipality,occupation:2&totals=none"
    assert readers.browser("rita").get(
        f"/api/v1/datasets/census/data?{asked}&format=csv"
    ).status_code == 200  # fmt: skip
    version = readers.service.datasets.version("census")
    judged, hiding = readers.service.answers.sparse_tables(version)
    assert judged > 0
    assert hiding <= judged
    text = readers.page(PAGE, "paul")
    assert text_of(text, "judged") == f"{judged:,}"
    assert text_of(text, "hiding") == f"{hiding:,}"
