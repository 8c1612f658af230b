"""Sweeping beside later epochs: whatever committer sweeps for an epoch takes nothing back of the one that runs.

The check is one of the kit for connectors, so sinks of others pass it too. Each committer and each function of two
phases in the package needs a case that runs in every suite: a new one fails here until it has one.
"""

from __future__ import annotations

import importlib
import itertools
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from tests.connectors.stores.as_rows import AsRows
from tests.connectors.tables.filesystem.tables import context
from tests.connectors.test_file_compaction import compacting
from tests.connectors.test_two_phase_commit import STORES, ToStore
from tests.connectors.test_write_ahead import Logged

import millrace
from millrace.common.functions import TwoPhaseCommitSinkFunction
from millrace.common.serialization import Encoder
from millrace.common.sink import Committer, NamedSink, Sink, SinkWriter, WriterInitContext
from millrace.connectors.file_system import FileSink, RollingPolicy
from millrace.connectors.file_system.table.filesystem_table import FileSystemFactory
from millrace.connectors.sink_function import TwoPhaseCommitSink
from millrace.relational.nodes import Field
from millrace.runtime.coordination.commits import OnOneThread
from millrace.table import DataTypes as D
from millrace.testing import Check, LedgerSink, read_ledger
from millrace.testing.connectors import SinkUnderTest, sink_checks
from millrace.testing.connectors.sinks import BESIDE, Driver


def parts(path: Path, hidden: bool = False) -> list[Path]:
    return [each for each in path.rglob("*") if each.is_file() and each.name.startswith((".", "_")) == hidden]


class Folder(SinkUnderTest):
    """A sink that writes into a folder."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="millrace-sweep-"))

    def written(self) -> Sequence[str]:
        return [line for path in parts(self.path) for line in path.read_text().splitlines()]

    def left_over(self) -> Sequence[str]:
        return [path.name for path in parts(self.path, hidden=True)]

    def close(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def row_sink(path: Path, policy: RollingPolicy) -> Sink[Any]:
    return FileSink.for_row_format(str(path), Encoder.simple_string_encoder()).with_rolling_policy(policy).build()


class Rows(Folder):
    def sink(self) -> Sink[Any]:
        return row_sink(self.path, RollingPolicy.on_checkpoint_rolling_policy())


class Compacted(Folder):
    def sink(self) -> Sink[Any]:
        made: Sink[Any] = compacting(self.path).build()
        return made


def in_partitions(text: str) -> list[Any]:
    return [pa.array([text]), pa.array([text[-1]])]


class Table(Folder):
    options: dict[str, str] = {}

    def sink(self) -> Sink[Any]:
        table = context(self.path, (Field("element", D.STRING()), Field("dt", D.STRING())), ["dt"], **self.options)
        return AsRows(FileSystemFactory().sink(table).stream(), in_partitions)

    def written(self) -> Sequence[str]:
        paths = [str(path) for path in parts(self.path)]
        found: list[str] = ds.dataset(paths).to_table(["element"])["element"].to_pylist() if paths else []
        return found


class CompactedTable(Table):
    options = {"auto__compaction": "true"}


class WriteAhead(SinkUnderTest):
    """Batches that wait in files, in a folder of this machine."""

    remembers = False

    def __init__(self) -> None:
        self.place = Logged(self.uri(), self.remembers, 0)

    def uri(self) -> str:
        return tempfile.mkdtemp(prefix="millrace-sweep-")

    def sink(self) -> Sink[Any]:
        return self.place.sink()

    def written(self) -> Sequence[str]:
        return self.place.committed()  # type: ignore[return-value]

    def left_over(self) -> Sequence[str]:
        return self.place.left_over()

    def close(self) -> None:
        self.place.close()


class WriteAheadInStore(WriteAhead):
    """Batches that wait in a store of objects, and a target that remembers what it has."""

    remembers = True

    def uri(self) -> str:
        pytest.importorskip("fsspec")
        return f"memory://logs/{uuid.uuid4().hex}"


class Function(SinkUnderTest):
    """A function of the user's own with two phases."""

    def __init__(self) -> None:
        self.name = uuid.uuid4().hex

    def sink(self) -> Sink[Any]:
        return TwoPhaseCommitSink(ToStore(self.name))

    def written(self) -> Sequence[str]:
        return STORES[self.name].records() if self.name in STORES else []

    def left_over(self) -> Sequence[str]:
        return [*STORES[self.name].buffered, *STORES[self.name].prepared]

    def close(self) -> None:
        STORES.pop(self.name, None)


class InLedger(Folder):
    def sink(self) -> Sink[Any]:
        return LedgerSink(self.path)

    def written(self) -> Sequence[str]:
        return read_ledger(self.path).records

    def left_over(self) -> Sequence[str]:
        return read_ledger(self.path).prepared


class OnThreads(NamedSink[Any]):
    """A sink whose committer is called on a thread of its own, as in flow."""

    def __init__(self, sink: Sink[Any]) -> None:
        self._sink = sink

    def for_operator(self, uid: str) -> OnThreads:
        return OnThreads(self._sink.for_operator(uid))

    def create_writer(self, context: WriterInitContext) -> SinkWriter[Any]:
        return self._sink.create_writer(context)

    def create_committer(self) -> Committer[Any]:
        committer = self._sink.create_committer()
        assert committer is not None
        return OnOneThread(committer)


class LedgerOnThread(InLedger):
    def sink(self) -> Sink[Any]:
        return OnThreads(super().sink())


def beside(*places: Callable[[], SinkUnderTest]) -> list[Any]:
    return [
        pytest.param(check, id=place.__name__)
        for place in places
        for check in sink_checks(place)
        if str(check) == BESIDE
    ]


@pytest.mark.parametrize("check", beside(Rows, Compacted))
def test_file_sinks(check: Check) -> None:
    check()


def test_part_files_that_go_on(tmp_path: Path) -> None:
    """A part that several epochs write is hidden until it is large enough: sweeps leave it, and its parts of later
    epochs, wherever its writers go on."""
    sink = row_sink(tmp_path, RollingPolicy.default_rolling_policy(part_size=150))
    elements = [f"element {number:05d}" for number in range(200)]
    route = itertools.count()
    run = Driver(sink.for_operator("parts"), elements, parallelism=2, route=lambda element, width: next(route) % width)

    def recorded() -> None:
        run.checkpoint()
        run.sweep()

    for moment in range(24):
        steps = itertools.count()
        run.epoch(4, beside=lambda at=moment % 12, steps=steps: recorded() if next(steps) == at else None)
        if moment % 5 == 4:
            run.forget()  # its tasks go on elsewhere, from what they have recorded
            run.checkpoint()
    run.epoch(0, end=True)
    recorded()
    run.close()
    assert sorted(line for path in parts(tmp_path) for line in path.read_text().splitlines()) == elements[:96]


@pytest.mark.parametrize("check", beside(Table, CompactedTable))
def test_tables_of_files(check: Check) -> None:
    check()


@pytest.mark.parametrize("check", beside(WriteAhead, WriteAheadInStore))
def test_write_ahead(check: Check) -> None:
    check()


@pytest.mark.parametrize("check", beside(Function))
def test_functions_of_users(check: Check) -> None:
    check()


@pytest.mark.parametrize("check", beside(InLedger))
def test_ledger(check: Check) -> None:
    check()


@pytest.mark.parametrize("check", beside(LedgerOnThread))
def test_committers_on_their_own_thread(check: Check) -> None:
    check()


# -- every implementation has a case ----------------------------------------------------------------------------------

HERE = __name__
CASES = {
    "FileCommitter": f"{HERE}:test_file_sinks",
    "FileCommitter on S3": "tests.common.files.stores.test_conformance:test_s3",
    "TableCommitter": f"{HERE}:test_tables_of_files",
    "WriteAheadCommitter": f"{HERE}:test_write_ahead",
    "WriteAheadCommitter into databases": "tests.connectors.jdbc.test_conformance:test_marks",
    "_TransactionCommitter": f"{HERE}:test_functions_of_users",
    "PreparedTransactions": "tests.connectors.jdbc.test_conformance:test_two_phases",
    "KafkaCommitter": "tests.connectors.kafka.test_conformance:test_exactly_once",
    "_LedgerCommitter": f"{HERE}:test_ledger",
    "OnOneThread": f"{HERE}:test_committers_on_their_own_thread",
}
"""what sweeps -> the test that plays the check, in every suite"""


def subclasses(base: type) -> Iterator[type]:
    for each in base.__subclasses__():
        yield each
        yield from subclasses(each)


def sweeping() -> set[str]:
    """The classes of the package that say themselves what a sweep does, after import of all that may have some."""
    root = Path(millrace.__file__).parent
    for path in root.rglob("*.py"):
        if any(word in path.read_text() for word in ("Committer", "TwoPhaseCommitSink")):
            names = path.relative_to(root.parent).with_suffix("").parts
            importlib.import_module(".".join(name for name in names if name != "__init__"))
    found = [each for each in subclasses(Committer) if "sweep" in vars(each)]
    found += subclasses(TwoPhaseCommitSinkFunction)
    return {each.__name__ for each in found if each.__module__.startswith("millrace.")}


def always(place: str) -> list[str]:
    """The names of the checks that a test runs in every suite."""
    module, _, name = place.partition(":")
    test = getattr(importlib.import_module(module), name)
    (values,) = [mark.args[1] for mark in test.pytestmark if mark.name == "parametrize" and mark.args[0] == "check"]
    found = []
    for value in values:
        marks = getattr(value, "marks", ())
        if not any(mark.name == "slow" for mark in marks):
            found.append(str(getattr(value, "values", (value,))[0]))
    return found


def test_whatever_sweeps_has_a_case() -> None:
    assert sweeping() == {name for name in CASES if " " not in name}


@pytest.mark.parametrize("name", CASES)
def test_the_case_runs_in_every_suite(name: str) -> None:
    assert BESIDE in always(CASES[name])
