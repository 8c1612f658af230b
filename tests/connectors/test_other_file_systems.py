"""Files that are not on a local disk: pyarrow's file system in memory stands for S3 and its like."""

from __future__ import annotations

import pyarrow.fs
import pytest

from millrace.common.files import file_systems as filesystem_module
from millrace.common.files.file_systems import locate, open_file_system
from millrace.common.serialization import Encoder
from millrace.common.time import Duration
from millrace.connectors.file_system import BucketAssigner, FileSink, FileSource, StreamFormat
from millrace.testing.connectors.runtime import SinkRun, SourceRun, read_all


def names(uri: str) -> list[str]:
    location = locate(uri)
    selector = pyarrow.fs.FileSelector(location.path, allow_not_found=True, recursive=True)
    found = location.file_system().get_file_info(selector)
    return sorted(info.base_name for info in found if info.type == pyarrow.fs.FileType.File)


@pytest.fixture
def base(monkeypatch: pytest.MonkeyPatch) -> str:
    memory = pyarrow.fs.FileSystem.from_uri("mock:///")[0]
    real = open_file_system
    monkeypatch.setattr(
        filesystem_module, "open_file_system", lambda root: (memory, root[7:].strip("/")) if root else real(root)
    )
    for module in ("part_files", "file_stream"):
        monkeypatch.setattr(
            f"millrace.connectors.file_system.{module}.open_file_system", filesystem_module.open_file_system
        )
    return "mock:///out"


def test_every_epoch_finishes_its_parts(base: str) -> None:
    builder = FileSink.for_row_format(base, Encoder.simple_string_encoder())
    run = SinkRun(builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build())
    run.epoch(["a"])
    assert len(names(base)) == 1
    run.epoch(["lost"], crash="write")
    run.epoch(["lost"], crash="abort")
    run.epoch(["b", "c"], crash="commit")
    assert len(names(base)) == 2 and not any(name.startswith(".") for name in names(base))
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), base)
    assert sorted(read_all(source.build())) == ["a", "b", "c"]
    monitored = SourceRun(source.monitor_continuously(Duration.of_millis(1)).build())
    monitored.epoch()
    assert sorted(monitored.records()[0]) == ["a", "b", "c"]


def test_a_missing_path(base: str) -> None:
    with pytest.raises(FileNotFoundError, match="there is no file or folder mock:///none"):
        read_all(FileSource.for_record_stream_format(StreamFormat.text_line_format(), "mock:///none").build())
