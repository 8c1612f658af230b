"""Projections and filters: what comes out of the values sink."""

from __future__ import annotations

import pytest
from tests.cdc.running import run

from millrace.cdc.composer import compose
from millrace.cdc.pipeline_file import parse_pipeline
from millrace.cdc.yaml_tree import PipelineError
from millrace.runtime.coordination.coordinator import JobFailedError

SOURCE = """
source:
  type: values
  events:
    - table: app.orders
      create: {columns: {id: INT, name: STRING, price: 'DECIMAL(10, 2)', at: TIMESTAMP(3)}, primary-key: [id]}
    - {table: app.orders, insert: [[1, a, 1.50, '2024-05-06 07:08:09'], [2, b, 20, null]]}
    - {table: app.orders, update: [[1, a, 1.50, null], [1, a, 100, null], [2, b, 20, null], [2, b, 3, null]]}
    - {table: app.orders, delete: [[1, a, 100, null], [2, b, 3, null]]}
sink: {type: values}
transform:
"""


def rows(*rules: str, pipeline: str = "") -> list[str]:
    """Each change: its kind, and what is before and after."""
    listed = "".join("  - source-table: app.orders\n" + "".join(f"    {line}\n" for line in rule.split("\n"))
                     for rule in rules)  # fmt: skip
    printed = run(SOURCE + listed + pipeline).printed
    return [
        f"{line.rpartition('op=')[2].partition(',')[0]} {line.partition('before=')[2].partition(', op=')[0]}"
        for line in printed
        if line.startswith("DataChangeEvent")
    ]


def table(*rules: str) -> str:
    listed = "".join("  - source-table: app.orders\n" + "".join(f"    {line}\n" for line in rule.split("\n"))
                     for rule in rules)  # fmt: skip
    return run(SOURCE + listed).printed[0].partition("schema=")[2]


def test_columns_and_expressions() -> None:
    found = rows("projection: id, price * 2 AS twice, UPPER(name) big")
    assert found[:2] == ["INSERT [], after=[1, 3.00, A]", "INSERT [], after=[2, 40.00, B]"]
    assert found[2] == "UPDATE [1, 3.00, A], after=[1, 200.00, A]"
    assert found[-1] == "DELETE [2, 6.00, B], after=[]"


def test_a_star_and_a_column_in_the_place_of_one() -> None:
    assert table(r"projection: \*, UPPER(name) AS name, id + 1 AS next").startswith(
        "columns={`id` INT NOT NULL,`name` STRING,`price` DECIMAL(10, 2),`at` TIMESTAMP(3),`next` INT NOT NULL}"
    )
    assert rows(r"projection: \*, UPPER(name) AS name")[1] == "INSERT [], after=[2, B, 20.00, null]"


def test_metadata() -> None:
    found = rows("projection: id, __schema_name__ || '.' || __table_name__ AS t, __data_event_type__ AS kind")
    assert found == [
        "INSERT [], after=[1, app.orders, +I]",
        "INSERT [], after=[2, app.orders, +I]",
        "UPDATE [1, app.orders, -U], after=[1, app.orders, +U]",
        "UPDATE [2, app.orders, -U], after=[2, app.orders, +U]",
        "DELETE [1, app.orders, -D], after=[]",
        "DELETE [2, app.orders, -D], after=[]",
    ]


def test_when_a_change_was_committed() -> None:
    assert rows("projection: id, op_ts AS at")[:1] == ["INSERT [], after=[1, 0]"]


def test_a_row_enters_and_leaves_what_the_filter_lets_through() -> None:
    assert rows("projection: id, price\nfilter: price > 10") == [
        "INSERT [], after=[2, 20.00]",
        "INSERT [], after=[1, 100.00]",
        "DELETE [2, 20.00], after=[]",
        "DELETE [1, 100.00], after=[]",
    ]


def test_a_filter_knows_computed_columns() -> None:
    assert rows("projection: id, price * 2 AS twice\nfilter: twice = 40")[0] == "INSERT [], after=[2, 40.00]"


def test_a_filter_means_the_column_of_the_table() -> None:
    assert rows("projection: id, UPPER(name) AS name\nfilter: name = 'b'")[0] == "INSERT [], after=[2, B]"


def test_a_row_goes_by_the_first_rule_that_takes_it() -> None:
    found = rows(
        "projection: id, 'cheap' AS what\nfilter: price < 10",
        "projection: id, CAST('dear' AS VARCHAR(9)) AS what",
    )
    assert found == [
        "INSERT [], after=[1, cheap]",
        "INSERT [], after=[2, dear]",
        "UPDATE [1, cheap], after=[1, dear]",
        "UPDATE [2, dear], after=[2, cheap]",
        "DELETE [1, dear], after=[]",
        "DELETE [2, cheap], after=[]",
    ]


def test_deletions_that_stay() -> None:
    found = rows("projection: id, __data_event_type__ AS op\nconverter-after-transform: SOFT_DELETE")
    assert found[-2:] == ["INSERT [], after=[1, -D]", "INSERT [], after=[2, -D]"]


def test_keys_and_options() -> None:
    found = table("projection: id, name\nprimary-keys: name\npartition-keys: id\ntable-options: a=1,b=x")
    assert found.startswith("columns={`id` INT NOT NULL,`name` STRING NOT NULL}, primaryKeys=name, partitionKeys=id")
    assert "options=(a=1, b=x)" in found


def test_flink_cdc_s_names_of_functions() -> None:
    found = rows("projection: id, TIMESTAMP_DIFF(SECOND, at, TIMESTAMP '2024-05-06 07:09:09') AS s")
    assert found[0] == "INSERT [], after=[1, 60]"


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("projection: id +", "projection"),
        ("projection: id FROM x", "list of expressions"),
        ("filter: id >", "'filter' of app.orders"),
    ],
)
def test_texts_that_cannot_be_read(rule: str, said: str) -> None:
    with pytest.raises(PipelineError, match=rf"line 13: .*{said}"):
        compose(parse_pipeline(f"{SOURCE}  - source-table: app.orders\n    {rule}\n"))


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("projection: id, prize", "did you mean 'price'"),
        ("projection: id, id + 1", "an expression needs a name"),
        ("projection: name", "leaves out id, a column of the primary key"),
        ("projection: id\n    primary-keys: nam", "there is no column nam"),
        ("projection: id, nofunction(id) AS x", "nofunction"),
        ("filter: id + 1", "needs a BOOLEAN"),
    ],
)
def test_what_the_table_shows(rule: str, said: str) -> None:
    with pytest.raises(JobFailedError, match=said):
        run(f"{SOURCE}  - source-table: app.orders\n    {rule}\n")


def test_rules_that_make_different_tables() -> None:
    with pytest.raises(JobFailedError, match="make different tables"):
        rows("projection: id\nfilter: id > 1", "projection: id, name")
