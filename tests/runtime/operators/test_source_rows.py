"""A source of batches of rows: an epoch is measured in rows."""

from __future__ import annotations

import pyarrow as pa
import pytest

from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.connectors.generated_sources import DataGeneratorSource, GeneratorSplit
from millrace.relational.rows import Rows, concat, record_batch
from millrace.runtime.operators.source import SourceOperator
from millrace.testing import OperatorHarness, Record

BATCH_ROWS = 100


def batch(index: int) -> Rows:
    return Rows(record_batch([pa.array(range(index * BATCH_ROWS, (index + 1) * BATCH_ROWS))], BATCH_ROWS))


EMPTY = Rows(record_batch([pa.array([], pa.int64())], 0))


@pytest.mark.parametrize(("at_once", "batches"), [(1, 3), (2, 4), (16, 10)])
def test_an_epoch_ends_after_that_many_rows(at_once: int, batches: int) -> None:
    """The poll that reaches the number is the last one: the limit divides no batch."""
    source = DataGeneratorSource(batch, 10, at_once=at_once)
    with OperatorHarness(lambda: SourceOperator(source, WatermarkStrategy.no_watermarks()), inputs=0) as harness:
        report = harness.read([GeneratorSplit("0", 0, 10)], records=3 * BATCH_ROWS)
        read = [item.value for item in harness.output if isinstance(item, Record)]
        assert concat(read).batch == concat([batch(index) for index in range(batches)]).batch
        assert [split.position for split in report.splits] == ([batches] if batches < 10 else [])


def test_a_batch_without_rows_counts_as_one_record() -> None:
    """Or an epoch of nothing but such batches would have no end."""
    source = DataGeneratorSource(lambda index: batch(index) if index == 7 else EMPTY, 10, at_once=1)
    with OperatorHarness(lambda: SourceOperator(source, WatermarkStrategy.no_watermarks()), inputs=0) as harness:
        report = harness.read([GeneratorSplit("0", 0, 10)], records=3)
        assert [split.position for split in report.splits] == [3]
        assert [split.position for split in harness.read(records=3).splits] == [6]
