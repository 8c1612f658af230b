"""Files on a real HDFS, asked by WebHDFS: sinks, sources, Parquet, folders of checkpoints, servers that die."""

from __future__ import annotations

import signal
import threading
import uuid

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.common.files.stores.test_s3 import lines, sink

from millrace.checkpoint.folder import SnapshotError, open_folder
from millrace.checkpoint.metadata import Metadata, write_metadata
from millrace.common.files import webhdfs
from millrace.common.files.file_systems import locate
from millrace.testing.connectors.runtime import SinkRun
from millrace.testing.services import Hdfs

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.connectors]


@pytest.fixture
def base(hdfs: Hdfs) -> str:
    return f"{hdfs.url}/{uuid.uuid4().hex}"


def files(uri: str) -> list[str]:
    return open_folder(uri).files()


def test_a_sink_and_a_source(base: str) -> None:
    run = SinkRun(sink(base), parallelism=2)
    run.epoch(["a", "b"])
    run.epoch(["lost"], crash="write")
    run.epoch(["lost"], crash="abort")
    run.epoch(["c", "d"], crash="commit")
    run.epoch(["e"], end=True)
    assert lines(base) == ["a", "b", "c", "d", "e"]
    assert not [name for name in files(base) if name.startswith(".")]


def test_what_a_dead_writer_leaves_is_never_seen(base: str) -> None:
    run = SinkRun(sink(base))
    run.epoch(["a"])
    run.task(0, ["uploaded"], False, False)
    assert len(files(base)) == 2 and lines(base) == ["a"]
    run.recover()
    assert len(files(base)) == 1


def test_a_folder_of_checkpoints(base: str) -> None:
    folder = open_folder(f"{base}/job")
    assert folder.sizes() == {} and folder.size("none") is None
    big = b"0123456789" * 1_000_000
    assert folder.write("shared/big", [big[:100], big[100:]]) == len(big)
    folder.write("small", [b"one"])
    folder.write("small", [b"other"])
    assert bytes(folder.read("small")) == b"other"
    assert folder.sizes() == {"shared/big": len(big), "small": 5}
    assert bytes(folder.read_range("shared/big", 9_999_990, 100)) == b"0123456789"
    with folder.open("shared/big") as file:
        assert bytes(file.read(5_000_000, 10)) == b"0123456789"
    with pytest.raises(FileNotFoundError):
        folder.read("none")
    folder.delete("none")
    folder.child("shared").delete_tree()
    assert folder.files() == ["small"]


def test_a_second_driver_is_refused(base: str) -> None:
    folder = open_folder(f"{base}/chk-1")
    write_metadata(folder, Metadata("checkpoint", "1" * 32, "one", 1, 0, ()))
    with pytest.raises(SnapshotError, match="another driver is at work on the same job"):
        write_metadata(folder, Metadata("checkpoint", "1" * 32, "other", 1, 0, ()))
    assert folder.files() == ["_metadata"]


def test_parquet(base: str) -> None:
    location = locate(f"{base}/rows.parquet")
    rows = pa.table({"a": range(200_000), "b": [str(each % 7) for each in range(200_000)]})
    pq.write_table(rows, location.path, filesystem=location.file_system(), row_group_size=10_000)
    read = pq.read_table(location.path, filesystem=location.file_system(), filters=[("a", ">", 199_000)])
    assert read.equals(rows.slice(199_001))


def test_a_server_that_pauses(base: str, hdfs: Hdfs) -> None:
    """Whoever writes waits; nothing is lost or there twice."""
    run = SinkRun(sink(base))
    run.epoch(["before"])
    node = hdfs.name_node
    assert node is not None
    node.signal(signal.SIGSTOP)
    threading.Timer(2, node.signal, [signal.SIGCONT]).start()
    run.epoch(["during"], end=True)
    assert lines(base) == ["before", "during"]


def test_no_data_node(base: str, hdfs: Hdfs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhdfs, "TRY_SECONDS", 3.0)
    assert hdfs.data_node is not None
    hdfs.data_node.kill()
    try:
        with pytest.raises(OSError, match=r"hdfs: CREATE .* was not answered in 3 s"):
            open_folder(base).write("file", [b"one"])
    finally:
        hdfs.start_data_node()
    assert open_folder(base).write("file", [b"one"]) == 3
