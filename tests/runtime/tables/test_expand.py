"""``ExpandOperator``: grouping sets as rows."""

from __future__ import annotations

from tests.runtime.tables.table_runs import changes_of, harness, rows_of

from millrace.relational import types as t
from millrace.relational.rex import Literal, Ref
from millrace.relational.rows import UPDATE_AFTER, UPDATE_BEFORE
from millrace.runtime.tables.expand import Expand

TYPES = (t.VarCharType(1), t.IntType())


def test_each_row_once_a_set() -> None:
    key, number = (Ref(each, index) for index, each in enumerate(TYPES))
    no_key, first, second = Literal(TYPES[0], None), Literal(t.BigIntType(), 0), Literal(t.BigIntType(), 1)
    config = Expand(projections=((key, number, first), (no_key, number, second)))
    with harness(config) as operator:
        operator.process_element(rows_of([(UPDATE_BEFORE, ("a", 1)), (UPDATE_AFTER, ("a", 2))], TYPES))
        assert changes_of(operator.values) == [
            (UPDATE_BEFORE, ("a", 1, 0)),
            (UPDATE_BEFORE, (None, 1, 1)),
            (UPDATE_AFTER, ("a", 2, 0)),
            (UPDATE_AFTER, (None, 2, 1)),
        ]
