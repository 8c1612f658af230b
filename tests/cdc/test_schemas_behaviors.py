"""What becomes of changes of schemas, as the values sink is told of them."""

from __future__ import annotations

import pytest
from tests.cdc.running import run

from millrace.runtime.coordination.coordinator import JobFailedError

HEAD = """
source:
  type: values
  events:
    - {table: a.t, create: {columns: {id: INT, name: VARCHAR(5), n: INT NOT NULL}, primary-key: [id]}}
    - {table: a.t, insert: [[1, x, 5]]}
"""
ROW = "    - {table: a.t, insert: [[2, y, 6]]}\n"


def changes(event: str, behavior: str, row: str = ROW, sink: str = "") -> list[str]:
    """What the sink is told after the first row."""
    text = f"{HEAD}    - {{table: a.t, {event}}}\n{row}sink:\n  type: values\n{sink}"
    return run(f"{text}pipeline: {{schema.change.behavior: {behavior}}}\n").printed[2:]


ADD = "add-column: {name: z, type: BIGINT NOT NULL, after: id}"
ADDED = "    - {table: a.t, insert: [[2, 9, y, 6]]}\n"


def test_an_added_column() -> None:
    assert changes(ADD, "evolve", ADDED) == [
        "AddColumnEvent{tableId=a.t, addedColumns=[ColumnWithPosition{column=`z` BIGINT NOT NULL, position=AFTER, "
        "existedColumnName=id}]}",
        "DataChangeEvent{tableId=a.t, before=[], after=[2, 9, y, 6], op=INSERT, meta=()}",
    ]
    assert changes(ADD, "lenient", ADDED) == [
        "AddColumnEvent{tableId=a.t, addedColumns=[ColumnWithPosition{column=`z` BIGINT, position=LAST, "
        "existedColumnName=null}]}",
        "DataChangeEvent{tableId=a.t, before=[], after=[2, y, 6, 9], op=INSERT, meta=()}",
    ]
    kept = ["DataChangeEvent{tableId=a.t, before=[], after=[2, y, 6], op=INSERT, meta=()}"]
    assert changes(ADD, "ignore", ADDED) == kept
    assert changes(ADD, "evolve", ADDED, "  exclude.schema.changes: [add.column]\n") == kept


DROP, DROPPED = "drop-column: n", "    - {table: a.t, insert: [[2, y]]}\n"


def test_a_dropped_column() -> None:
    assert changes(DROP, "evolve", DROPPED) == [
        "DropColumnEvent{tableId=a.t, droppedColumnNames=[n]}",
        "DataChangeEvent{tableId=a.t, before=[], after=[2, y], op=INSERT, meta=()}",
    ]
    assert changes(DROP, "lenient", DROPPED) == [
        "AlterColumnTypeEvent{tableId=a.t, typeMapping={n=INT}, oldTypeMapping={n=INT NOT NULL}}",
        "DataChangeEvent{tableId=a.t, before=[], after=[2, y, null], op=INSERT, meta=()}",
    ]


RENAME = "rename-column: {name: title}"


def test_a_renamed_column() -> None:
    assert changes(RENAME, "evolve")[0] == "RenameColumnEvent{tableId=a.t, nameMapping={name=title}}"
    assert changes(RENAME, "lenient") == [
        "AddColumnEvent{tableId=a.t, addedColumns=[ColumnWithPosition{column=`title` VARCHAR(5), position=LAST, "
        "existedColumnName=null}]}",
        "DataChangeEvent{tableId=a.t, before=[], after=[2, null, 6, y], op=INSERT, meta=()}",
    ]


def test_another_type() -> None:
    wider, narrower = "alter-column-type: {n: BIGINT NOT NULL}", "alter-column-type: {n: SMALLINT NOT NULL}"
    altered = "AlterColumnTypeEvent{{tableId=a.t, typeMapping={{n={} NOT NULL}}, oldTypeMapping={{n=INT NOT NULL}}}}"
    for behavior in ("evolve", "lenient"):
        assert changes(wider, behavior)[0] == altered.format("BIGINT")
    assert changes(narrower, "evolve")[0] == altered.format("SMALLINT")
    assert changes(narrower, "lenient") == [
        "DataChangeEvent{tableId=a.t, before=[], after=[2, y, 6], op=INSERT, meta=()}"
    ]


def test_values_that_do_not_fit_any_more() -> None:
    event, row = "alter-column-type: {n: STRING}", "    - {table: a.t, insert: [[2, y, '7'], [3, z, seven]]}\n"
    assert [line.partition("after=")[2] for line in changes(event, "ignore", row)] == [
        "[2, y, 7], op=INSERT, meta=()}",
        "[3, z, null], op=INSERT, meta=()}",
    ]


def test_the_whole_table() -> None:
    again = "    - {table: a.t, create: {columns: {id: INT}, primary-key: [id]}}\n"
    assert changes("truncate: true", "evolve")[0] == "TruncateTableEvent{tableId=a.t}"
    assert changes("drop: true", "evolve", again) == [
        "DropTableEvent{tableId=a.t}",
        "CreateTableEvent{tableId=a.t, schema=columns={`id` INT NOT NULL}, primaryKeys=id, options=()}",
    ]
    assert len(changes("truncate: true", "lenient")) == 1
    assert changes("drop: true", "lenient", "") == []
    assert changes("truncate: true", "lenient", "", "  exclude.schema.changes: []\n") == [
        "TruncateTableEvent{tableId=a.t}"
    ]


@pytest.mark.parametrize("event", [ADD, DROP, RENAME, "truncate: true", "drop: true"])
def test_no_change_may_be(event: str) -> None:
    with pytest.raises(JobFailedError, match=r"'schema\.change\.behavior' is 'exception'"):
        changes(event, "exception", "")


MERGED = """
source:
  type: values
  events:
    - {table: a.t1, create: {columns: {id: INT, name: VARCHAR(5)}, primary-key: [id]}}
    - {table: a.t1, insert: [[1, x]]}
    - {table: a.t2, create: {columns: {id: BIGINT, n: DOUBLE}, primary-key: [id]}}
    - {table: a.t2, insert: [[20000000000, 1.5]]}
    - {table: a.t1, drop-column: name}
    - {table: a.t1, insert: [[2]]}
    - {table: a.t1, truncate: true}
sink: {type: values}
"""


def test_two_tables_in_one() -> None:
    route = "route:\n  - {source-table: 'a.\\.*', sink-table: b.t}\n"
    printed = run(f"{MERGED}{route}pipeline: {{schema.change.behavior: evolve}}\n").printed
    assert [line for line in printed if not line.startswith("Data")] == [
        "CreateTableEvent{tableId=b.t, schema=columns={`id` INT NOT NULL,`name` VARCHAR(5)}, primaryKeys=id, "
        "options=()}",
        "AlterColumnTypeEvent{tableId=b.t, typeMapping={id=BIGINT NOT NULL}, oldTypeMapping={id=INT NOT NULL}}",
        "AddColumnEvent{tableId=b.t, addedColumns=[ColumnWithPosition{column=`n` DOUBLE, position=AFTER, "
        "existedColumnName=name}]}",
    ]
    assert [line.partition("after=")[2].partition("]")[0] for line in printed if line.startswith("Data")] == [
        "[1, x",
        "[20000000000, null, 1.5",
        "[2, null, null",
    ]
    with pytest.raises(JobFailedError, match="'exception'"):
        run(f"{MERGED}{route}pipeline: {{schema.change.behavior: exception}}\n")


def test_a_table_without_the_key() -> None:
    text = MERGED.replace("a.t2, create: {columns: {id: BIGINT", "a.t2, create: {columns: {no: BIGINT").replace(
        "n: DOUBLE}, primary-key: [id]", "n: DOUBLE}, primary-key: [no]"
    )
    with pytest.raises(JobFailedError, match=r"a.t2 cannot go to b.t: the key there is \(id\)"):
        run(f"{text}route:\n  - {{source-table: 'a.\\.*', sink-table: b.t}}\n")


def test_batch_mode() -> None:
    text = f"{HEAD}    - {{table: a.t, {ADD}}}\n{ADDED}sink: {{type: values}}\n"
    streaming = run(f"{text}pipeline: {{schema.change.behavior: evolve}}\n").printed
    assert (
        run(f"{text}pipeline: {{schema.change.behavior: evolve, execution.runtime-mode: BATCH}}\n").printed == streaming
    )
