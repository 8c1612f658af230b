"""What WITH may say, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.connectors.tables.filesystem.tables import COLUMNS, context

from millrace.connectors.file_system.table.filesystem_table import FileSystemFactory
from millrace.relational.nodes import Field
from millrace.table import DataTypes as D
from millrace.table.sessions.table_info import factory_of
from millrace.util.exceptions import TableException

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"format": "parket"}, r"there is no format 'parket', did you mean 'parquet'\?; there are .*orc, parquet"),
    ({"parquet_codec": "x"}, r"format 'parquet' has no option 'parquet.codec'.*it has parquet.compression"),
    ({"parquet_compression": "ZIP"}, "Parquet cannot write it"),
    ({"format": "orc", "orc_compress": "ZIP"}, "ORC cannot write it"),
    ({"format": "json", "json_zone": "x"}, "format 'json' has no option 'json.zone'"),
    ({"keys": ["id", "name", "dt"]}, "all columns are partition columns"),
    ({"sink_parallelism": "many"}, "'sink.parallelism'"),
    ({"sink_rolling__policy_file__size": "big"}, "'sink.rolling-policy.file-size': not a size: 'big'"),
    ({"auto__compaction": "yes"}, "'auto-compaction': neither true nor false"),
    ({"sink_partition__commit_trigger": "never"}, "is one of process-time, partition-time, not 'never'"),
    ({"sink_partition__commit_policy_kind": "metastore"}, "there is no metastore .*use 'success-file'"),
    ({"sink_partition__commit_policy_kind": "mail"}, "is made of success-file and custom, not 'mail'"),
    ({"sink_partition__commit_policy_kind": "custom"}, "needs 'sink.partition-commit.policy.class'"),
    ({"sink_partition__commit_policy_kind": "custom", "sink_partition__commit_policy_class": "no.such.Class"},
     "is the path of a class in Python, .* not 'no.such.Class'"),
    ({"sink_partition__commit_policy_kind": "custom", "sink_partition__commit_policy_class": "builtins.dict"},
     r"is a class with a method commit\(\), not 'builtins.dict'"),
    ({"sink_partition__commit_trigger": "partition-time", "sink_partition__commit_watermark__time__zone": "Mars"},
     "is a time zone .*not 'Mars'"),
]  # fmt: skip


@pytest.mark.parametrize(("changed", "message"), WRONG)
def test_wrong_tables(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    with pytest.raises(TableException, match=message) as caught:
        FileSystemFactory().sink(context(tmp_path, **changed))
    assert "table c.d.t" in str(caught.value)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"metadata": [("m", "file.length", D.BIGINT())]}, "files have no metadata 'file.length'.*file.size"),
        ({"source_monitor__interval": "soon"}, "'source.monitor-interval': not a span of time"),
        ({"source_monitor__interval": "0 s"}, "'source.monitor-interval' is more than 0"),
        ({"source_report__statistics": "some"}, "is one of all, none"),
    ],
)
def test_wrong_sources(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    with pytest.raises(TableException, match=message):
        FileSystemFactory().source(context(tmp_path, **changed))


@pytest.mark.parametrize("format", ["parquet", "orc"])
@pytest.mark.parametrize("kind", [D.INTERVAL(D.SECOND()), D.ARRAY(D.INTERVAL(D.MONTH()))], ids=str)
def test_types_that_files_do_not_have(tmp_path: Path, format: str, kind: Any) -> None:
    with pytest.raises(TableException, match=r"files have no type INTERVAL .*\(column 'x'\)"):
        FileSystemFactory().sink(context(tmp_path, (Field("x", kind),), format=format))


def test_the_connector_is_found_and_knows_its_options(tmp_path: Path) -> None:
    options = context(tmp_path, COLUMNS).options
    assert isinstance(
        factory_of({**options, "csv.field-delimiter": ";", "parquet.compression": "ZSTD"}, "t"), FileSystemFactory
    )
    with pytest.raises(TableException, match="needs format"):
        factory_of({"connector": "filesystem", "path": "x"}, "t")
    with pytest.raises(TableException, match=r"has no option 'sink.paralellism', did you mean 'sink.parallelism'\?"):
        factory_of({**options, "sink.paralellism": "2"}, "t")


def test_what_the_planner_is_told(tmp_path: Path) -> None:
    options = {"sink_parallelism": "3", "sink_shuffle__by__partition_enable": "true"}
    made = FileSystemFactory().sink(context(tmp_path, keys=["dt"], **options))
    assert (made.parallelism, made.together) == (3, ("dt",))
    plain = FileSystemFactory().sink(context(tmp_path, keys=["dt"]))
    assert (plain.parallelism, plain.together) == (None, ())
