"""A savepoint or checkpoint of somebody else is looked at, and nothing of it runs, wherever in it a pickle can lie."""

from __future__ import annotations

import base64
import pickle
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.checkpoint.jobs import SavedJob, collecting
from tests.state.every_state import every_state

from millrace.checkpoint.folder import LocalFolder
from millrace.checkpoint.metadata import Metadata, read_metadata, write_metadata
from millrace.checkpoint.stored_file import LocalFile
from millrace.checkpoint.task_file import TaskFile, task_file
from millrace.cli.main import main
from millrace.common import Types
from millrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from millrace.runtime.coordination.snapshot import TaskFiles
from millrace.runtime.storage import dumps
from millrace.state import PickledObject, SavepointReader, SavepointWriter

OBJECT = Types.PICKLED_BYTE_ARRAY()
LIST, MAP = ListStateDescriptor("l", OBJECT), MapStateDescriptor("m", OBJECT, OBJECT)


class Evil:
    """Its pickle makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    return tmp_path / "pwned"


# -- the places -------------------------------------------------------------------------------------------------------


def in_metadata(folder: Path, change: Callable[[Metadata], Metadata]) -> None:
    place = LocalFolder(str(folder))
    found = read_metadata(place)
    (folder / "_metadata").unlink()  # it is written once
    write_metadata(place, change(found))


def text(value: Any) -> str:
    return base64.b64encode(dumps(value)).decode("ascii")


def driver(job: SavedJob, folder: Path, evil: Evil) -> None:
    """Positions and enumerators of sources, loops, committables, states of writers."""
    in_metadata(folder, lambda metadata: replace(metadata, driver=text(({"numbers": evil}, evil, {"x": [evil]}, evil))))


def smalls(job: SavedJob, folder: Path, evil: Evil) -> None:
    def change(metadata: Metadata) -> Metadata:
        saved = {uid: replace(each, smalls=(text(evil),)) for uid, each in metadata.saved.items()}
        return replace(metadata, saved=saved)

    in_metadata(folder, change)


def task_files(job: SavedJob, folder: Path, evil: Evil) -> None:
    for path in (folder.parent / "shared").rglob("*.*"):
        pieces = []
        with LocalFile(str(path)) as stored:
            for section, (keyed, shared, _, gate, _) in TaskFile(str(path), stored).read(lambda section: True):
                keyed = {**(keyed or {}), "evil": ("value", {"key": evil})}
                pieces.append({section.uid: (keyed, shared, evil, gate, evil)})
        path.write_bytes(b"".join(task_file(pieces, {}, whole=False)))  # type: ignore[arg-type]
    in_metadata(folder, without_checksums)


def without_checksums(metadata: Metadata) -> Metadata:
    """Whoever can write the files can write what is known of them, too."""
    return replace(metadata, tasks={task: _unknown(files) for task, files in metadata.tasks.items()})


def _unknown(files: TaskFiles) -> TaskFiles:
    changes = " ".join(entry.rpartition(":")[0] for entry in files.changes.split())
    return replace(files, changes=changes, whole_checksum=None)


def replaced(folder: Path, writer: SavepointWriter) -> None:
    shutil.rmtree(folder)
    writer.write(str(folder))


def keyed_values(job: SavedJob, folder: Path, evil: Evil) -> None:
    writer = SavepointWriter.new()
    states: list[tuple[StateDescriptor, Any]] = [(ValueStateDescriptor("v", OBJECT), evil), (LIST, [evil])]
    states.append((MAP, (1, [evil, 2])))
    for descriptor, value in states:
        writer.keyed_state("op", descriptor, [("a", value)], lambda row: row[0], lambda row: row[1])
    replaced(folder, writer)


def operator_values(job: SavedJob, folder: Path, evil: Evil) -> None:
    writer = SavepointWriter.new()
    writer.list_state("op", ListStateDescriptor("v", OBJECT), [evil])
    writer.union_state("op", LIST, [(1, evil)])
    writer.broadcast_state("op", MAP, {"a": {"b": evil}})
    replaced(folder, writer)


def classes(job: SavedJob, folder: Path, evil: Evil) -> None:
    """The metadata names a module, which makes the file when it is imported."""
    (evil.path.parent / "evil_module.py").write_text(f"open({str(evil.path)!r}, 'w')")

    def renamed(described: Any) -> Any:
        if isinstance(described, list):
            return list(map(renamed, described))
        if not isinstance(described, dict):
            return described
        found = {name: renamed(part) for name, part in described.items()}
        return {**found, "name": "evil_module:Evil"} if "version" in found else found

    def change(metadata: Metadata) -> Metadata:
        return replace(
            metadata,
            saved={
                uid: replace(saved, files=tuple(replace(each, columns=renamed(each.columns)) for each in saved.files))
                for uid, saved in metadata.saved.items()
            },
        )

    in_metadata(folder, change)


PLACES = {
    "savepoint": [driver, smalls, keyed_values, operator_values, classes],
    "checkpoint": [driver, task_files],
}


TRAPS = [(kind, place) for kind, places in PLACES.items() for place in places]


@pytest.fixture(params=TRAPS, ids=[f"{kind}-{place.__name__}" for kind, place in TRAPS])
def foreign(request: pytest.FixtureRequest, tmp_path: Path, trap: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A savepoint or checkpoint with a trap in one place. It lies where the user is, beside modules of its own."""
    kind, place = request.param
    job = SavedJob(collecting(every_state, 2), tmp_path / "job", checkpoint_every=1)
    job.epoch()
    checkpoint = job.epoch(tmp_path / "savepoint").checkpoint
    assert checkpoint is not None
    folder = tmp_path / "savepoint" if kind == "savepoint" else Path(checkpoint)
    place(job, folder, Evil(trap))
    trap.unlink(missing_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "evil_module", raising=False)
    return str(folder)


# -- looking ----------------------------------------------------------------------------------------------------------


def looks(reader: SavepointReader) -> Iterator[Any]:
    """All that a reader can show."""
    yield reader.metadata
    try:
        yield [repr(source) for source in reader.sources()]
    except Exception as error:  # what is stored there is no source
        yield error
    for operator in reader.operators():
        yield reader.states(operator.uid)
        views = [reader.timers(operator.uid)]
        for state in operator.states:
            if state.scope == "keyed" and "timers" not in state.name:
                views.append(reader.keyed_state(operator.uid, state.name))
            elif state.scope == "operator":
                find = {"list": reader.list_state, "union list": reader.union_state}.get(state.kind)
                views.append((find or reader.broadcast_state)(operator.uid, state.name))
        for view in views:
            yield view.to_arrow(), view.to_pandas()
            try:
                yield list(view.items())
            except TypeError:  # windows, which have a method of their own
                yield None


def test_a_reader_runs_nothing(foreign: str, trap: Path) -> None:
    for found in looks(SavepointReader.read(foreign)):
        assert not trap.exists(), found


def test_commands_run_nothing(foreign: str, trap: Path, tmp_path: Path) -> None:
    plain = SavepointWriter.new().list_state("op", ListStateDescriptor("v", Types.LONG()), [1]).write("plain")
    uids = [operator.uid for operator in SavepointReader.read(foreign).operators()]
    commands = [["ls", foreign], ["diff", foreign, foreign], ["diff", foreign, plain], ["diff", plain, foreign]]
    commands += [["show", foreign, uid, *more] for uid in uids for more in ([], ["--key", "1"])]
    for command in commands:
        for form in ([], ["--json"]):
            result = CliRunner().invoke(main, ["state", *command, *form])
            assert not trap.exists(), command
            assert result.exit_code in (0, 1), (command, result.output, result.exception)


def test_with_trust_it_runs(foreign: str, trap: Path) -> None:
    """So that the tests above would notice."""
    reader = SavepointReader.read(foreign, trust=True)
    for saved in reader._opened.metadata.saved.values():  # these are for jobs only, no reader shows them
        list(map(pickle.loads, map(base64.b64decode, filter(None, saved.smalls))))
    try:
        list(looks(reader))
    except Exception:  # what came out of the pickle is nothing that Millrace knows
        pass
    assert trap.exists()


def test_what_is_not_run_is_shown_by_what_it_says(tmp_path: Path, trap: Path) -> None:
    values = ValueStateDescriptor("v", OBJECT)
    path = SavepointWriter.new().keyed_state("op", values, [("a", Evil(trap))], lambda row: row[0], lambda row: row[1])
    trap.unlink(missing_ok=True)
    ((key, value),) = SavepointReader.read(path.write(str(tmp_path / "s"))).keyed_state("op", "v").items()
    trap.unlink(missing_ok=True)
    assert (key, type(value), value.name) == ("a", PickledObject, "pathlib.Path.touch")
    shown = CliRunner().invoke(main, ["state", "show", str(tmp_path / "s"), "op"]).output
    assert "<pathlib.Path.touch " in shown and not trap.exists()
