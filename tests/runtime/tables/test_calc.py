"""``CalcOperator``: filter and projection in one pass."""

from __future__ import annotations

from tests.runtime.tables.table_runs import changes_of, harness, rows_of

from millrace.relational import types as t
from millrace.relational.rex import Call, Literal, Ref
from millrace.relational.rows import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from millrace.runtime.tables.calc import Calc

TYPES = (t.IntType(), t.BooleanType())
NUMBER, FLAG = Ref(TYPES[0], 0), Ref(TYPES[1], 1)
CHANGES = [(INSERT, (1, True)), (UPDATE_BEFORE, (1, True)), (UPDATE_AFTER, (2, None)), (DELETE, (3, True))]


def results(config: Calc) -> list[object]:
    with harness(config) as operator:
        operator.process_element(rows_of(CHANGES, TYPES))
        return list(changes_of(operator.values))


def test_kinds_are_kept() -> None:
    columns = (Literal(t.VarCharType(1), "x"), NUMBER)
    assert results(Calc(expressions=columns)) == [(kind, ("x", row[0])) for kind, row in CHANGES]


def test_null_is_not_true() -> None:
    assert results(Calc(condition=FLAG)) == [change for change in CHANGES if change[1][1]]


def test_both() -> None:
    config = Calc(condition=FLAG, expressions=(NUMBER,))
    assert results(config) == [(kind, row[:1]) for kind, row in CHANGES if row[1]]


def test_nothing_is_left() -> None:
    assert results(Calc(condition=Literal(t.BooleanType(), False))) == []


def test_the_environment_reaches_the_functions() -> None:
    """Processing time is that of the operator."""
    now = Call(t.LocalZonedTimestampType(3, False), "CURRENT_TIMESTAMP")
    with harness(Calc(expressions=(now,)), processing_time=86_400_000) as operator:
        operator.process_element(rows_of(CHANGES[:1], TYPES))
        ((_, (found,)),) = changes_of(operator.values)
    assert found.isoformat() == "1970-01-02T00:00:00+00:00"
