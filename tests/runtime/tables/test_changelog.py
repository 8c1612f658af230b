"""``ChangelogNormalize``, ``DropUpdateBefore`` and ``UpsertMaterialize`` against the table that changes describe."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.tables.table_runs import check_table, element, few, run

from millrace.relational import types as t
from millrace.relational.rows import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from millrace.runtime.tables.changelog import ChangelogNormalize, DropUpdateBefore, UpsertMaterialize
from millrace.testing import EndInput, EpochEnd, Step

TYPES = (t.VarCharType(2), t.IntType())
Row = tuple[Any, ...]

UPSERTS = st.lists(
    st.tuples(st.sampled_from([INSERT, UPDATE_AFTER, UPDATE_BEFORE, DELETE]), st.sampled_from("ab"), st.integers(0, 3)),
    max_size=12,
)


@few
@given(UPSERTS)
def test_normalize(changes: list[tuple[int, str, int]]) -> None:
    table: dict[str, Row] = {}
    script: list[Step] = []
    for kind, key, number in changes:
        script.append(element((key, None if kind == DELETE else number), TYPES, kind))
        if kind == DELETE:
            table.pop(key, None)
        elif kind != UPDATE_BEFORE:
            table[key] = (key, number)
    script.append(EndInput())
    check_table(ChangelogNormalize(keys=(0,), types=TYPES), script, list(table.values()))
    check_table(ChangelogNormalize(keys=(0,), types=TYPES, before=False), script, list(table.values()), keys=[0])


def test_normalize_on_disk() -> None:
    script = [element(("a", n), TYPES, UPDATE_AFTER) for n in (1, 2, 2)]
    check_table(ChangelogNormalize(keys=(0,), types=TYPES), [*script, EndInput()], [("a", 2)], disk=True)


def test_the_first_row_on_disk_deletes_an_unknown_key() -> None:
    script = [element(("a", None), TYPES, DELETE), EpochEnd(), element(("b", 1), TYPES, UPDATE_AFTER), EndInput()]
    check_table(ChangelogNormalize(keys=(0,), types=TYPES), script, [("b", 1)], disk=True)


def test_a_deletion_brings_the_whole_row() -> None:
    script = [element(("a", 1), TYPES, UPDATE_AFTER), EpochEnd(), element(("a", None), TYPES, DELETE), EndInput()]
    found = run(ChangelogNormalize(keys=(0,), types=TYPES), script)
    assert found == [(INSERT, ("a", 1)), (DELETE, ("a", 1))]


@few
@given(UPSERTS, st.dictionaries(st.sampled_from("ab"), st.integers(0, 3)))
def test_a_sink_that_has_rows_of_a_failed_attempt(changes: list[tuple[int, str, int]], earlier: dict[str, int]) -> None:
    """Deletions go on of rows that are not known here; whatever the sink had of these keys, it is right behind them."""
    script: list[Step] = []
    table: dict[str, int] = {}
    told = set()
    for kind, key, number in changes:
        if kind == UPDATE_BEFORE:
            continue
        script.append(element((key, number), TYPES, kind))
        table.pop(key, None)
        told.add(key)
        if kind != DELETE:
            table[key] = number
    script.append(EndInput())
    config = ChangelogNormalize(keys=(0,), types=TYPES, before=False, repeated=True)
    sink = {key: number for key, number in earlier.items() if key in told}
    for kind, (key, number) in run(config, script):
        sink.pop(key, None)
        if kind != DELETE:
            sink[key] = number
    assert sink == table


def test_a_row_that_came_and_went_in_an_epoch_is_deleted() -> None:
    script = [element(("a", 1), TYPES, INSERT), element(("a", None), TYPES, DELETE), EndInput()]
    config = ChangelogNormalize(keys=(0,), types=TYPES, before=False)
    assert run(config, script) == []
    assert run(replace(config, repeated=True), script) == [(DELETE, ("a", None))]


def test_every_version() -> None:
    """For a temporal join: no version is left out, however many a batch has. A deletion that is more than its key has
    the time when it was."""
    changes = [
        (INSERT, 1),
        (UPDATE_AFTER, 2),
        (UPDATE_BEFORE, 2),
        (UPDATE_AFTER, 3),
        (DELETE, 4),
        (DELETE, 4),
        (INSERT, 5),
    ]
    script = [element(("a", number), TYPES, kind) for kind, number in changes]
    script += [element(("a", None), TYPES, DELETE), EndInput()]
    config = ChangelogNormalize(keys=(0,), types=TYPES, before=False, every=True)
    wanted = [(INSERT, 1), (UPDATE_AFTER, 2), (UPDATE_AFTER, 3), (DELETE, 4), (INSERT, 5), (DELETE, 5)]
    assert run(config, script) == [(kind, ("a", number)) for kind, number in wanted]


def test_drop_old_rows() -> None:
    kinds = [INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE]
    script = [*(element(("a", kind), TYPES, kind) for kind in kinds), EndInput()]
    assert run(DropUpdateBefore(), script) == [(kind, ("a", kind)) for kind in kinds if kind != UPDATE_BEFORE]


ROWS = st.tuples(st.sampled_from("ab"), st.integers(0, 3))


@few
@given(st.data())
def test_materialize(data: st.DataObject) -> None:
    """Of the rows that are there, the one that came last."""
    script: list[Step] = []
    left: list[Row] = []
    for row in data.draw(st.lists(ROWS, max_size=12)):
        if left and data.draw(st.integers(0, 2)) == 0:
            gone = left[data.draw(st.integers(0, len(left) - 1))]
            left.remove(gone)  # the first of equal ones
            script.append(element(gone, TYPES, DELETE))
        else:
            script.append(element(row, TYPES))
            left.append(row)
    expected = list({row[0]: row for row in left}.values())
    check_table(UpsertMaterialize(keys=(0,), types=TYPES), [*script, EndInput()], expected, keys=[0])


def test_a_key_changes_hands() -> None:
    """The old row of one key comes after the new row of another one that has the same primary key."""
    script = [element(("a", 1), TYPES), element(("a", 2), TYPES), EpochEnd(), element(("a", 1), TYPES, DELETE)]
    assert run(UpsertMaterialize(keys=(0,), types=TYPES), [*script, EndInput()]) == [(INSERT, ("a", 2))]


def test_by_the_key_of_the_changes() -> None:
    types = (*TYPES, t.VarCharType(1))
    script = [element(("a", 1, "x"), types), element(("a", 2, "y"), types), element(("a", 1, "z"), types, UPDATE_AFTER)]
    config = UpsertMaterialize(keys=(0,), types=types, unique=(1,))
    deleted = [EpochEnd(), element(("a", 1, None), types, DELETE), EndInput()]
    found = run(config, [*script, *deleted])
    assert found == [(INSERT, ("a", 1, "z")), (UPDATE_AFTER, ("a", 2, "y"))]
