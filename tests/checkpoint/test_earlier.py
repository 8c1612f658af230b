"""Tasks of any parallelism take over what earlier ones left: all of it once, and nobody reads more than its share."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from millrace.checkpoint import sections, snapshot_files, task_file
from millrace.checkpoint.folder import CorruptFileError, Folder, MissingFileError, open_folder
from millrace.checkpoint.metadata import Metadata
from millrace.checkpoint.snapshot_files import EarlierSubtask, keyed_state, rest_of, rests
from millrace.checkpoint.stored_file import LocalFile
from millrace.checkpoint.task_storage import FolderStorage, state_path
from millrace.common.typeinfo import Types
from millrace.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from millrace.datastream.window import TimeWindow
from millrace.runtime.bases.epoch_protocol import TaskAck
from millrace.runtime.coordination.snapshot import OperatorPlace, TaskChain, TaskFiles
from millrace.runtime.exchange.keys import group_range, key_group
from millrace.runtime.state.address import Scoped
from millrace.runtime.state.backend import KeyedStateBackend, only_keys
from millrace.runtime.state.operator_state import Distribution
from millrace.runtime.storage import NO_PAST, Written, version_of, whole_at

MAX = 32
ANY = Types.PICKLED_BYTE_ARRAY()
OPERATOR = "op"


class EarlierJob:
    """An operator whose subtasks change their state at random, epoch by epoch; oracle and files side by side."""

    def __init__(self, folder: Folder, parallelism: int, seed: int, keys: int = 200) -> None:
        self.folder, self.parallelism = folder, parallelism
        self._random = random.Random(seed)
        self._storage = FolderStorage(folder, {OPERATOR: MAX})
        self._keys: list[Any] = [*range(keys // 2), *(f"key {n}" for n in range(keys // 2))]
        self.backends = [KeyedStateBackend() for _ in range(parallelism)]
        self._chains = [TaskChain() for _ in range(parallelism)]
        self._pasts = [NO_PAST] * parallelism

    def epoch(self, number: int, whole: bool) -> None:
        for subtask, backend in enumerate(self.backends):
            own = group_range(subtask, MAX, self.parallelism)
            for key in self._keys:
                if key_group(key, MAX) in own and self._random.random() < 0.5:
                    self._change(backend, key, number)
            windows = backend.table_of("windows", "windows")
            if self._random.random() < 0.3:
                windows.drop(10 * self._random.randrange(number, number + 3))
            state = (backend.delta(), {"list": (Distribution.UNION, (number - 1, [subtask]))}, (subtask, number), None)
            task, version = (0, subtask), version_of(number, 1)
            past, delta = self._pasts[subtask], {OPERATOR: (*state, None), "other": (None,) * 5}
            (size, checksum), full = self._storage.write_delta(task, version, past, delta), Written(0)
            self._pasts[subtask] = whole_at(version) if whole else past.then(version)
            if whole:
                rest = {OPERATOR: (None, {"list": (Distribution.UNION, (0, [subtask] * number))}, *state[2:], None)}
                pieces = ({OPERATOR: (piece, None, None, None, None)} for piece in backend.full_pieces())
                full = self._storage.write_full(task, version, [rest, *pieces])
            ack = TaskAck(number, *task, delta_bytes=size, delta_checksum=checksum, run=1)
            if whole:
                ack = replace(ack, full_bytes=full.size, full_checksum=full.checksum)
            self._chains[subtask].add(ack)

    def _change(self, backend: KeyedStateBackend, key: Any, epoch: int) -> None:
        draw = self._random
        backend.at = key
        value = backend.get_state(ValueStateDescriptor("value", ANY))
        value.update(draw.random()) if draw.random() < 0.8 else value.clear()
        elements = backend.get_list_state(ListStateDescriptor("list", ANY))
        elements.add(epoch) if draw.random() < 0.8 else elements.clear()
        entries = backend.get_map_state(MapStateDescriptor("map", ANY, ANY))
        entries.put(draw.randrange(3), epoch) if draw.random() < 0.7 else entries.remove(draw.randrange(3))
        backend.event_timers.register(draw.randrange(5), key)
        backend.event_timers.delete(draw.randrange(5), key)
        backend.table_of("windows", "windows").put(10 * draw.randrange(epoch, epoch + 3), key, epoch)
        backend.at = Scoped(key, TimeWindow(0, draw.randrange(1, 4)))
        value.update(epoch)

    @property
    def metadata(self) -> Metadata:
        place = OperatorPlace(OPERATOR, "an operator", "Operator", self.parallelism, MAX, 0, 0)
        tasks = {(0, subtask): chain.files() for subtask, chain in enumerate(self._chains)}
        return Metadata("checkpoint", "job", "job", 7, 0, (place,), tasks=tasks)

    def share(self, groups: range, max_parallelism: int) -> dict[str, Any]:
        """The oracle: what the live state says of some key groups."""
        found = KeyedStateBackend()
        for backend in self.backends:
            found.apply(only_keys(backend.full(), lambda key: key_group(key, max_parallelism) in groups))
        return plain(found)


def plain(backend: KeyedStateBackend) -> dict[str, Any]:
    """The content, without the order of windows and keys."""
    return {
        name: (kind, {at: change[1] for at, change in entries.items()} if kind == "windows" else entries)
        for name, (kind, entries) in backend.full().items()
    }


@pytest.fixture(params=["as it is", "divided"])
def sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small state as it is, and divided as if it were large."""
    if request.param == "divided":
        monkeypatch.setattr(task_file, "UNDIVIDED", 0)
        monkeypatch.setattr(sections, "LEAST_BYTES", 1)
        monkeypatch.setattr(sections, "SLICE", 7)
        monkeypatch.setattr(task_file, "GATHERED_BYTES", 2_000)
        monkeypatch.setattr(task_file, "_TOGETHER", 500)


@pytest.mark.draw(8)
@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize(("before", "now"), [(1, 1), (3, 3), (1, 4), (4, 1), (2, 3), (5, 4)])
@pytest.mark.parametrize("groups", [MAX, MAX + 3])
def test_each_gets_its_share(tmp_path: Path, before: int, now: int, groups: int) -> None:
    job = EarlierJob(open_folder(str(tmp_path)), before, seed=before * 10 + now)
    place = job.metadata.operators[0]
    for epoch in range(1, 7):
        job.epoch(epoch, whole=epoch in (1, 4))
        for subtask in range(now):
            own = group_range(subtask, groups, now)
            backend = KeyedStateBackend()
            for piece in keyed_state(job.folder, job.metadata, place, own, groups):
                backend.apply(piece)
            assert plain(backend) == job.share(own, groups)


@pytest.mark.usefixtures("sizes")
def test_a_task_finds_its_own_state(tmp_path: Path) -> None:
    job = EarlierJob(open_folder(str(tmp_path)), 1, seed=1)
    storage = FolderStorage(job.folder)
    copy = KeyedStateBackend()
    for epoch in range(1, 5):
        job.epoch(epoch, whole=False)
        copy.apply(storage.read_delta((0, 0), version_of(epoch, 1))[OPERATOR][0])
        assert plain(copy) == plain(job.backends[0])
    job.epoch(5, whole=True)
    whole = KeyedStateBackend()
    for piece in storage.read_full((0, 0), version_of(5, 1)):
        whole.apply(piece[OPERATOR][0] or {})
    assert plain(whole) == plain(job.backends[0])


class Counted:
    """Bytes that are read, by file."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bytes: dict[str, int] = {}
        opened, read = LocalFile.__init__, LocalFile.read
        names: dict[int, str] = {}

        def note(file: LocalFile, path: str) -> None:
            opened(file, path)
            names[id(file)] = path.rpartition("/")[0].rpartition("/")[2]

        def count(file: LocalFile, begin: int, length: int) -> bytes:
            name = names[id(file)]
            self.bytes[name] = self.bytes.get(name, 0) + length
            return read(file, begin, length)

        monkeypatch.setattr(LocalFile, "__init__", note)
        monkeypatch.setattr(LocalFile, "read", count)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counted]:
    return Counted(monkeypatch)


def large(tmp_path: Path, parallelism: int, keys: int) -> tuple[Folder, Metadata, OperatorPlace]:
    """Numbers by subtask, as whole states."""
    folder = open_folder(str(tmp_path))
    storage, tasks = FolderStorage(folder, {OPERATOR: MAX}), {}
    for subtask in range(parallelism):
        own = group_range(subtask, MAX, parallelism)
        entries = {key: key for key in range(keys) if key_group(key, MAX) in own}
        piece = {OPERATOR: ({"value": ("value", entries)}, None, None, None, None)}
        version = version_of(1, 1)
        size, checksum = storage.write_full((0, subtask), version, [piece])
        tasks[0, subtask] = TaskFiles(version, size, whole_checksum=checksum)
    place = OperatorPlace(OPERATOR, "an operator", "Operator", parallelism, MAX, 0, 0)
    return folder, Metadata("checkpoint", "job", "job", 1, 0, (place,), tasks=tasks), place


@pytest.mark.parametrize("now", [3, 8])
def test_nobody_reads_much_more_than_its_share(tmp_path: Path, counted: Counted, now: int) -> None:
    folder, metadata, place = large(tmp_path, 4, keys=300_000)
    stored = sum(folder.sizes().values())
    counted.bytes.clear()
    for subtask in range(now):
        before = sum(counted.bytes.values())
        own = group_range(subtask, MAX, now)
        found = {key for piece in keyed_state(folder, metadata, place, own, MAX) for key in piece["value"][1]}
        assert found == {key for key in range(300_000) if key_group(key, MAX) in own}
        # The end of each file, where its index is, comes on top; it counts for less the larger the state is.
        files = -(-4 // now) + 1
        assert sum(counted.bytes.values()) - before <= 1.2 * stored * len(own) / MAX + files * 64 * 1024


def test_as_many_tasks_as_before_read_their_own_files(tmp_path: Path, counted: Counted) -> None:
    folder, metadata, place = large(tmp_path, 4, keys=50_000)
    counted.bytes.clear()
    for subtask in range(4):
        list(keyed_state(folder, metadata, place, group_range(subtask, MAX, 4), MAX))
        rest_of(folder, metadata, place, subtask)
        assert set(counted.bytes) == {f"0-{subtask}"}
        counted.bytes.clear()


def test_what_all_need_is_read_once_a_process(tmp_path: Path, counted: Counted) -> None:
    job = EarlierJob(open_folder(str(tmp_path)), 3, seed=5)
    for epoch in (1, 2):
        job.epoch(epoch, whole=False)
    metadata, place = job.metadata, job.metadata.operators[0]
    snapshot_files._kept.get("", "", bytes)
    first = rests(job.folder, metadata, place)
    assert [rest.shared["list"][1] for rest in first] == [(0, [subtask, subtask]) for subtask in range(3)]
    assert [rest.small for rest in first] == [(subtask, 2) for subtask in range(3)]
    counted.bytes.clear()
    second = rests(job.folder, metadata, place)
    assert second == first
    assert counted.bytes == {}
    assert first[0].shared is not second[0].shared, "no two tasks share an object"


def test_damage_is_named(tmp_path: Path) -> None:
    folder, metadata, place = large(tmp_path, 2, keys=1_000)
    file = tmp_path / state_path((0, 1), version_of(1, 1), "full")
    content = file.read_bytes()
    file.write_bytes(content[:100] + bytes([content[100] ^ 1]) + content[101:])
    with pytest.raises(CorruptFileError, match=r"0-1/1-1\.full is corrupt: the checksum of the state of operator op"):
        EarlierSubtask(folder, metadata, place, 1)
    file.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    with pytest.raises(CorruptFileError, match="its end is damaged or missing"):
        EarlierSubtask(folder, metadata, place, 1)
    file.write_bytes(b"")
    with pytest.raises(CorruptFileError, match="it is no state file"):
        EarlierSubtask(folder, metadata, place, 1)
    file.unlink()
    with pytest.raises(MissingFileError, match=r"0-1/1-1\.full is missing"):
        EarlierSubtask(folder, metadata, place, 1)
