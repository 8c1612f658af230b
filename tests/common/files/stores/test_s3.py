"""Files on a real server of S3: sources, sinks, tables and folders of checkpoints, and what goes wrong."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.common.files.stores.faults import Faults
from tests.connectors.dying import ending_at

from millrace.checkpoint.folder import Folder, RemoteFolder, SnapshotError, open_folder
from millrace.checkpoint.metadata import Metadata, write_metadata
from millrace.common.files import store_settings
from millrace.common.files.file_systems import locate
from millrace.common.serialization import Encoder
from millrace.connectors.file_system import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    FileSource,
    StreamFormat,
)
from millrace.testing.connectors.runtime import SinkRun, read_all
from millrace.testing.services import S3

pytestmark = pytest.mark.services


@pytest.fixture
def base(s3: S3) -> str:
    return f"s3://mill/{uuid.uuid4().hex}"


@pytest.fixture
def faults(s3: S3) -> Iterator[Faults]:
    with Faults(s3.port) as proxy:
        store_settings.use({**s3.configuration(), "s3.endpoint": proxy.url, "fs.s3a.attempts.maximum": "3"})
        yield proxy


def names(s3: S3, uri: str) -> list[str]:
    """The files below a URI, as the server has them."""
    folder = s3.data / uri.partition("://")[2]
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def sink(uri: str) -> FileSink[Any]:
    builder = FileSink.for_row_format(uri, Encoder.simple_string_encoder())
    return builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build()


def lines(uri: str) -> list[str]:
    return sorted(read_all(FileSource.for_record_stream_format(StreamFormat.text_line_format(), uri).build()))


def folder_at(uri: str) -> Folder:
    folder = open_folder(uri)
    assert isinstance(folder, RemoteFolder)
    return folder


@pytest.mark.parametrize("scheme", ["s3", "s3a", "s3p"])
def test_a_sink_and_a_source(scheme: str, base: str, s3: S3) -> None:
    run = SinkRun(sink(base.replace("s3:", f"{scheme}:")), parallelism=2)
    run.epoch(["a", "b"])
    run.epoch(["lost"], crash="write")
    run.epoch(["lost"], crash="abort")
    run.epoch(["c", "d"], crash="commit")
    run.epoch(["e"], end=True)
    assert lines(base) == ["a", "b", "c", "d", "e"]
    assert not [name for name in names(s3, base) if name.startswith(".")]


class Died(BaseException):
    """The driver does nothing any more."""


def put_together(uri: str, step: int) -> bool:
    """Files of three writers become one, while drivers die at a step; whether there are so many."""
    strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(1).build()
    builder = FileSink.for_row_format(uri, Encoder.simple_string_encoder())
    builder = builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    run = SinkRun(builder.enable_compact(strategy, FileCompactor.concat_file_compactor()).build(), parallelism=3)
    files = [pending for each in range(3) for pending in run.task(each, [f"{each}"], False, False)[0]]
    committer = run.sink.create_committer()
    assert committer is not None

    def dies() -> None:
        raise Died

    died = False
    with pytest.MonkeyPatch.context() as patched:
        ending_at(step, dies, patched)
        try:
            committer.commit(files)
        except Died:
            died = True
    committer.recover("job", files, [])
    committer.commit(files)
    return died


def test_files_that_are_put_together_while_the_driver_dies(base: str, s3: S3) -> None:
    """Before and after each thing that is done to a file: there is one in the end, with all of them once."""
    step, died = 0, True
    while died:
        uri = f"{base}/{step}"
        died = put_together(uri, step)
        assert lines(uri) == ["0", "1", "2"]
        (only,) = names(s3, uri)
        assert not only.startswith(".")
        step += 1
    assert step > 20


def test_what_a_dead_writer_leaves_is_never_seen(base: str, s3: S3) -> None:
    """Between upload and commit there are hidden files only; the next driver deletes them."""
    run = SinkRun(sink(base))
    committables, _ = run.task(0, ["uploaded"], False, False)
    assert len(committables) == 1 and len(names(s3, base)) == 1
    assert lines(base) == []
    run.recover()
    assert names(s3, base) == []


def test_a_folder_of_checkpoints(base: str) -> None:
    folder = folder_at(f"{base}/job")
    assert folder.sizes() == {} and folder.size("none") is None
    big = b"0123456789" * 700_000  # more than one part of an upload
    assert folder.write("shared/big", [big[:100], big[100:]]) == len(big)
    folder.write("small", [b"one"])
    folder.write("small", [b"other"])
    assert bytes(folder.read("small")) == b"other"
    assert folder.sizes() == {"shared/big": len(big), "small": 5}
    assert bytes(folder.read_range("shared/big", 6_999_990, 100)) == b"0123456789"
    with pytest.raises(FileNotFoundError):
        folder.read("none")
    folder.delete("none")
    folder.child("shared").delete_tree()
    assert folder.files() == ["small"]


def test_no_half_files(base: str) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"half"
        raise RuntimeError("the disk of the state is broken")

    with pytest.raises(RuntimeError, match="disk of the state"):
        folder_at(base).write("file", pieces())
    assert folder_at(base).files() == []


def test_a_second_driver_is_refused(base: str) -> None:
    folder = folder_at(f"{base}/chk-1")
    write_metadata(folder, Metadata("checkpoint", "1" * 32, "one", 1, 0, ()))
    with pytest.raises(SnapshotError, match="another driver is at work on the same job"):
        write_metadata(folder, Metadata("checkpoint", "1" * 32, "other", 1, 0, ()))


def test_of_many_at_once_one_wins(base: str) -> None:
    folder = folder_at(base)

    def attempt(number: int) -> int:
        try:
            return folder.write_new("claim", str(number).encode())
        except FileExistsError:
            return 0

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(attempt, range(8))) == 1


def test_throttling_is_waited_for(base: str, faults: Faults) -> None:
    faults.answer(("PUT",), 503, "SlowDown", times=2)
    assert folder_at(base).write("file", [b"one"]) == 3
    assert faults.refused == 2
    assert bytes(folder_at(base).read("file")) == b"one"


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        (503, "SlowDown", "asked too often, also after growing pauses; see fs.s3a.attempts.maximum"),
        (403, "AccessDenied", "or they may not do this"),
        (400, "ExpiredToken", "or they have expired; see s3.access-key"),
    ],
)
def test_a_store_that_refuses(status: int, code: str, said: str, base: str, faults: Faults) -> None:
    run = SinkRun(sink(base))
    run.epoch(["before"])
    faults.answer(("PUT", "POST"), status, code)
    with pytest.raises(OSError, match=said):
        folder_at(base).write("file", [b"one"])
    with pytest.raises(OSError, match=said):
        run.epoch(["not written"])
    faults.answer((), 0, "")
    run.recover()
    run.epoch(["after"], end=True)
    assert lines(base) == ["after", "before"]


def test_wrong_credentials(base: str, s3: S3) -> None:
    store_settings.use({**s3.configuration(), "s3.secret-key": "wrong-and-hidden"})
    for what in (lambda: folder_at(base).write("file", [b"one"]), lambda: lines(base), lambda: sink_one(base)):
        with pytest.raises(OSError, match=r"see s3\.access-key, s3\.secret-key") as caught:
            what()
        assert "wrong-and-hidden" not in str(caught.value)


def sink_one(uri: str) -> None:
    SinkRun(sink(uri)).epoch(["one"])


def test_a_missing_bucket(s3: S3) -> None:
    with pytest.raises(OSError, match="s3://no-such-mill/a: there is no such bucket"):
        folder_at("s3://no-such-mill/a").write("file", [b"one"])
    with pytest.raises(OSError, match="there is no such bucket"):
        sink_one("s3://no-such-mill/a")
    with pytest.raises(FileNotFoundError, match="there is no file or folder s3://no-such-mill/a"):
        lines("s3://no-such-mill/a")


def test_a_server_that_is_not_there(s3: S3) -> None:
    store_settings.use({**s3.configuration(), "s3.endpoint": "http://127.0.0.1:1", "fs.s3a.attempts.maximum": "2"})
    with pytest.raises(OSError, match=r"the store was not reached, also not after several attempts; see s3\.endpoint"):
        lines("s3://mill/a")


def test_settings_of_another_moment_open_it_anew(base: str, s3: S3) -> None:
    assert locate(base).file_system() is locate(base).file_system()
    before = locate(base).file_system()
    store_settings.use({**s3.configuration(), "fs.s3a.connection.timeout": "5s"})
    assert locate(base).file_system() is not before
