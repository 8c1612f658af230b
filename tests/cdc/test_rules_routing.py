"""Patterns of tables, and where tables go."""

from __future__ import annotations

import pytest

from millrace.cdc.pipeline_file import parse_pipeline
from millrace.cdc.table_selection import Router, Selector, router, selector, table_id
from millrace.cdc.yaml_tree import PipelineError
from millrace.connectors.cdc.events import TableId

HEAD = "source: {type: values}\nsink: {type: print}\n"
BLOCK = parse_pipeline(HEAD).source.block


def table(text: str) -> TableId:
    found = table_id(text)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        (r"app.orders", "app.orders", True),
        (r"app.orders", "app.orders2", False),
        (r"app.orders", "APP.Orders", True),
        (r"app.\.*", "app.anything", True),
        (r"app.\.*", "other.anything", False),
        (r"[a|w]pp.order_[0-9]+", "app.order_17", True),
        (r"app.a, app.b", "app.b", True),
        (r"app.a{1\,2}", "app.aa", True),
        (r"public.t", "db.public.t", True),
        (r"db.public.t", "db.public.t", True),
        (r"db.public.t", "public.t", False),
        (r"t", "app.t", False),
        (r"t", "t", True),
    ],
)
def test_patterns(pattern: str, name: str, fits: bool) -> None:
    assert (selector(pattern, BLOCK).match(table(name)) is not None) == fits


@pytest.mark.parametrize("pattern", ["a.b.c.d", "a..b", "app.[", "app.*"])
def test_what_is_no_pattern(pattern: str) -> None:
    with pytest.raises(PipelineError, match=r"dot"):
        selector(pattern, BLOCK)


def test_groups_of_a_pattern() -> None:
    found: Selector = selector(r"db_(\.*).(\.*)_tbl", BLOCK)
    assert found.match(table("db_foo.bar_tbl")) == ("foo", "bar")


def routes(*lines: str, mode: str = "all_match") -> Router:
    listed = "".join(f"  - {{{line}}}\n" for line in lines)
    return router(parse_pipeline(f"{HEAD}route:\n{listed}pipeline: {{route-mode: {mode}}}\n"))


def targets(found: Router, name: str) -> list[str]:
    return [str(each) for each in found.targets(table(name))]


def test_tables_go_where_rules_say() -> None:
    found = routes(
        r"source-table: app.orders, sink-table: ods.o",
        r"source-table: app.\.*, sink-table: 'copy.<>_x', replace-symbol: <>",
    )
    assert targets(found, "app.orders") == ["ods.o", "copy.orders_x"]
    assert targets(found, "app.items") == ["copy.items_x"]
    assert targets(found, "web.items") == ["web.items"]


def test_only_the_first_rule() -> None:
    lines = (r"source-table: app.a, sink-table: x.a", r"source-table: app.\.*, sink-table: x.b")
    assert targets(routes(*lines, mode="first_match"), "app.a") == ["x.a"]


def test_groups_in_the_name_of_the_sink() -> None:
    found = routes(r"source-table: 'db_(\.*).(\.*)_tbl', sink-table: 'sink_db_$1.sink_table_$2'")
    assert targets(found, "db_foo.bar_tbl") == ["sink_db_foo.sink_table_bar"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (r"source-table: 'a.(\.*)', sink-table: 'b.$2'", r"has \$2"),
        (r"source-table: 'a.(\.*)', sink-table: 'b.<>$1', replace-symbol: <>", "cannot both"),
        (r"source-table: a.b, sink-table: a.b.c.d", "is no name of a table"),
    ],
)
def test_routes_that_cannot_be(line: str, said: str) -> None:
    with pytest.raises(PipelineError, match=said):
        routes(line)
