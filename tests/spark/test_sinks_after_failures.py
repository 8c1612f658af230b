"""Exactly-once sinks on Spark, in a job whose functions fail and whose workers are killed."""

from __future__ import annotations

import os
import signal
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millrace.common import Configuration, Types
from millrace.common.serialization import Encoder
from millrace.connectors.dbapi import DbApiExactlyOnceSink, DbApiInsert
from millrace.connectors.file_system import BucketAssigner, FileSink, RollingPolicy
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.functions import TwoPhaseCommitSinkFunction
from millrace.testing import LedgerSink, read_ledger

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDS = 2_000


class Lines(TwoPhaseCommitSinkFunction[int, str]):
    """A file per transaction."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def begin_transaction(self) -> str:
        self.file = open(self.folder / f"{self.transaction_name()}.open", "w")  # noqa: SIM115
        return self.file.name

    def invoke(self, transaction: str, value: int, context: Any) -> None:
        self.file.write(f"{value}\n")

    def pre_commit(self, transaction: str) -> None:
        self.file.close()

    def commit(self, transaction: str) -> None:
        if os.path.exists(transaction):
            os.rename(transaction, transaction.replace(".open", ".done"))

    def abort(self, transaction: str) -> None:
        Path(transaction).unlink(missing_ok=True)

    def list_open_transactions(self, name_prefix: str) -> list[str]:
        return [str(path) for path in self.folder.glob(f"{name_prefix}*.open")]


def numbers(directory: Path, ending: str = "") -> list[int]:
    files = [path for path in directory.iterdir() if not path.name.startswith(".") and path.name.endswith(ending)]
    return sorted(int(line) for path in files for line in path.read_text().split())


def test_every_record_once(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("marks", "lines", "files"):
        (tmp_path / name).mkdir()
    with sqlite3.connect(tmp_path / "database") as connection:
        connection.execute("CREATE TABLE numbers (number INTEGER)")

    def unlucky(value: int) -> int:
        mark = tmp_path / "marks" / str(value)
        if value % 450 == 0 and not mark.exists():
            mark.touch()
            if value % 900 == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            raise OSError("the network is down")
        return value

    settings = Configuration()
    settings.set_string("execution.checkpointing.dir", str(tmp_path / "checkpoints"))
    settings.set_string("restart-strategy.type", "fixed-delay")
    settings.set_string("restart-strategy.fixed-delay.attempts", "10")
    settings.set_string("restart-strategy.fixed-delay.delay", "10 ms")
    settings.set_string("millrace.epoch.max-records", "60")
    env = StreamExecutionEnvironment.get_execution_environment(settings, spark=spark)
    env.set_parallelism(2)
    env.enable_checkpointing(300)
    stream = env.from_sequence(1, RECORDS).map(unlucky, Types.LONG())
    rows = FileSink.for_row_format(str(tmp_path / "files"), Encoder.simple_string_encoder())
    rows.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    rows.with_rolling_policy(RollingPolicy.default_rolling_policy(part_size=1000))
    stream.sink_to(rows.build())
    stream.add_sink(Lines(tmp_path / "lines"))
    stream.sink_to(LedgerSink(tmp_path / "ledger"))
    database, log = str(tmp_path / "database"), str(tmp_path / "log")
    insert = DbApiInsert[int]("INSERT INTO numbers VALUES (?)")
    stream.sink_to(DbApiExactlyOnceSink(lambda: sqlite3.connect(database), insert, log, inline_bytes=200))
    env.execute()

    assert len(list((tmp_path / "marks").iterdir())) == RECORDS // 450
    expected = list(range(1, RECORDS + 1))
    read_ledger(tmp_path / "ledger").check(expected)
    assert numbers(tmp_path / "lines", ".done") == expected
    assert numbers(tmp_path / "files") == expected
    connection = sqlite3.connect(database)
    assert sorted(number for (number,) in connection.execute("SELECT number FROM numbers")) == expected
    connection.close()
    assert not read_ledger(tmp_path / "ledger").prepared
    left = [path for pattern in ("lines/*.open", "files/.*", "log/*/*.log") for path in tmp_path.glob(pattern)]
    assert not left
