"""``WatermarkOperator``: a watermark a batch, idle streams, and the end."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest
from tests.runtime.tables.table_runs import harness, rows_of

from millrace.common import WatermarkStrategy
from millrace.relational import types as t
from millrace.relational.rex import Literal, Ref
from millrace.runtime.elements import MAX_WATERMARK
from millrace.runtime.failure import OperatorError
from millrace.runtime.operators.timestamps import EventTime
from millrace.runtime.tables.base import Environment
from millrace.runtime.tables.watermark import RowsWatermarks, WatermarkAssigner
from millrace.testing import OperatorHarness, Record, Status, Watermark

TYPES = (t.TimestampType(3), t.TimestampType(3))
LTZ = (t.LocalZonedTimestampType(3), t.LocalZonedTimestampType(3))


def at(ms: int | None, zone: Any = None) -> Any:
    return None if ms is None else datetime.fromtimestamp(ms / 1000, timezone.utc).replace(tzinfo=zone)


def send(operator: OperatorHarness, *rows: tuple[int | None, int | None]) -> None:
    """(time, watermark) of each row of a batch."""
    operator.process_element(rows_of([(0, (at(one), at(other))) for one, other in rows], TYPES))


def marks(operator: OperatorHarness) -> list[Any]:
    return ["rows" if isinstance(item, Record) else item for item in operator.take_output()]


def config(**settings: Any) -> WatermarkAssigner:
    return WatermarkAssigner(column=0, expression=Ref(TYPES[1], 1), **settings)


def test_the_largest_so_far() -> None:
    with harness(config()) as operator:
        send(operator, (5, 3), (9, 7), (8, 6))
        send(operator, (9, 5))
        send(operator, (9, None))
        send(operator, (20, 18))
        assert marks(operator) == ["rows", Watermark(7), "rows", "rows", "rows", Watermark(18)]


def test_only_the_last_watermark_of_the_input_passes() -> None:
    with harness(config()) as operator:
        send(operator, (5, 3))
        operator.process_watermark(4)
        operator.end_input()
        assert marks(operator) == ["rows", Watermark(3), Watermark(MAX_WATERMARK), Status.FINISHED]


def test_a_quiet_stream_is_idle() -> None:
    with harness(config(idle_timeout=100)) as operator:
        send(operator, (5, 3))
        operator.set_processing_time(99)
        assert marks(operator) == ["rows", Watermark(3)]
        operator.set_processing_time(100)
        assert marks(operator) == [Status.IDLE]
        send(operator, (6, 4))
        assert marks(operator) == [Status.ACTIVE, "rows", Watermark(4)]


def test_zoned_columns_are_instants() -> None:
    expression = Ref(LTZ[1], 1)
    with harness(WatermarkAssigner(column=0, expression=expression)) as operator:
        operator.process_element(rows_of([(0, (at(5, timezone.utc), at(3, timezone.utc)))], LTZ))
        assert marks(operator) == ["rows", Watermark(3)]


def test_the_time_must_not_be_null() -> None:
    with harness(config()) as operator, pytest.raises(OperatorError, match="must not be NULL"):
        send(operator, (None, 3))


def test_restored() -> None:
    with harness(config()) as operator:
        send(operator, (5, 3))
        with operator.restored() as following:
            send(following, (4, 2))
            assert marks(following) == ["rows"]


def test_constants_are_allowed() -> None:
    never = Literal(t.TimestampType(3), None)
    with harness(WatermarkAssigner(column=0, expression=never)) as operator:
        send(operator, (5, 3))
        assert marks(operator) == ["rows"]


@pytest.mark.parametrize("restored", [False, True])
def test_a_row_from_far_in_the_future_is_not_followed(restored: bool) -> None:
    with harness(config(max_jump=100)) as operator:
        send(operator, (5, 3), (9, 7))
        following = operator.restored() if restored else operator
        send(following, (10**9, 10**9), (50, 48), (60, None))
        send(following, (10**9, 10**9))
        send(following, (160, 148))
        found = [item for item in marks(operator if not restored else following) if item != "rows"]
        assert found[-2:] == [Watermark(48), Watermark(148)] and Watermark(10**9) not in found
        assert following.counter("numTimeJumpsIgnored") == 2


def test_a_generator_of_a_split_does_as_the_operator() -> None:
    generator = RowsWatermarks(Ref(TYPES[0], 0), Ref(TYPES[1], 1), Environment())
    strategy = WatermarkStrategy(generator, max_jump_ms=100)
    found: list[Any] = []

    class Marks:
        def mark(self, mark: Any) -> None:
            found.append(mark)

    time = EventTime(strategy, lambda values, times: None, Marks())
    for pairs in ([(5, 3), (9, 7)], [(10**9, 10**9), (50, 48)], [(10**9, 10**9)], [(60, None)]):
        time.elements([rows_of([(0, (at(one), at(other))) for one, other in pairs], TYPES)], None, 0)
    assert found == [7, 48]
