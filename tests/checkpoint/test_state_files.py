"""The state of subtasks in files: written, found again, checked, shared out anew."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.checkpoint.stored_classes import Order, Plain

from millrace.checkpoint import state_files
from millrace.checkpoint.classes import EvolutionError
from millrace.checkpoint.folder import CorruptFileError, Folder, MissingFileError, open_folder
from millrace.checkpoint.metadata import StateFile
from millrace.checkpoint.state_files import (
    check_states,
    iter_states,
    main_classes,
    read_operator_state,
    read_rows,
    read_states,
    write_states,
)
from millrace.common.typeinfo import Types
from millrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from millrace.datastream.window import TimeWindow
from millrace.runtime.exchange.keys import group_range, key_group
from millrace.runtime.state.address import Scoped
from millrace.runtime.state.backend import EVENT_TIMERS, KeyedStateBackend
from millrace.runtime.state.operator_state import Distribution, OperatorStateBackend
from millrace.runtime.state.restoring.redistribute import redistribute

MAX = 16
ANY = Types.PICKLED_BYTE_ARRAY()


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return open_folder(str(tmp_path))


@pytest.fixture(autouse=True)
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_files, "ROWS_IN_A_FILE", 7)


def backend_of(keys: Iterator[int] | range) -> KeyedStateBackend:
    """A backend with states of several kinds for each of the keys."""
    backend = KeyedStateBackend()
    value = backend.get_state(ValueStateDescriptor("value", ANY))
    elements = backend.get_list_state(ListStateDescriptor("list / of things", ANY))
    entries = backend.get_map_state(MapStateDescriptor("_map", ANY, ANY))
    windows = backend.table_of("windows", "windows")
    for key in keys:
        backend.at = key
        value.update(Order(key))
        elements.add_all([key, str(key)])
        entries.put_all({"a": key, key: None})
        backend.at = Scoped(key, TimeWindow(0, key + 1))
        value.update(Order(-key))
        backend.event_timers.register(key % 3, backend.at)
        backend.processing_timers.register(key % 5, key)
        windows.put(10 * (key % 2), key, key)
    return backend


def written(folder: Folder, prefix: str, subtask: int, backend: KeyedStateBackend) -> list[StateFile]:
    return write_states(folder, prefix, subtask, MAX, backend.full_pieces(), None)


def restored(folder: Folder, files: list[StateFile], groups: range | None) -> KeyedStateBackend:
    backend = KeyedStateBackend()
    backend.apply(read_states(folder, files, groups)[0])
    return backend


def in_group(groups: range, upper: int = 40) -> list[int]:
    return [key for key in range(upper) if key_group(key, MAX) in groups]


def test_what_was_written_is_read(folder: Folder) -> None:
    backend = backend_of(range(30))
    files = written(folder, "op", 0, backend)
    assert restored(folder, files, None).full() == backend.full()


def test_pieces_may_be_applied_one_after_the_other(folder: Folder) -> None:
    backend = backend_of(range(30))
    files = written(folder, "op", 0, backend)
    copy = KeyedStateBackend()
    pieces = list(iter_states(folder, files, None))
    assert len(pieces) == len(files)
    for piece in pieces:
        copy.apply(piece)
    assert copy.full() == backend.full()


@pytest.mark.parametrize(("before", "now"), [(1, 3), (3, 1), (2, 3), (3, 2), (4, 4)])
def test_any_number_of_subtasks_shares_it_anew(folder: Folder, before: int, now: int) -> None:
    files = []
    for subtask in range(before):
        keys = in_group(group_range(subtask, MAX, before))
        files += written(folder, "op", subtask, backend_of(iter(keys)))
    for subtask in range(now):
        groups = group_range(subtask, MAX, now)
        expected = backend_of(iter(in_group(groups)))
        found = restored(folder, files, groups)
        assert _without_numbers(found) == _without_numbers(expected)


def _without_numbers(backend: KeyedStateBackend) -> Any:
    """Timers of several subtasks keep their numbers, which differ from those of one subtask."""
    state = backend.full()
    return {name: (kind, set(entries) if kind == "timers" else entries) for name, (kind, entries) in state.items()}


def test_timers_keep_their_order(folder: Folder) -> None:
    backend = KeyedStateBackend()
    registered = [(5, "b"), (3, "z"), (5, "a"), (5, "c"), (3, "a")]
    for time, key in registered:
        backend.event_timers.register(time, key)
    backend.event_timers.delete(5, "b")
    backend.event_timers.register(5, "b")
    copy = restored(folder, written(folder, "op", 0, backend), None)
    fired = [copy.event_timers.pop_due(9) for _ in registered]
    assert fired == [(3, "z"), (3, "a"), (5, "a"), (5, "c"), (5, "b")]


def test_only_files_with_wanted_key_groups_are_read(folder: Folder) -> None:
    files = []
    for subtask in range(2):
        keys = in_group(group_range(subtask, MAX, 2))
        files += written(folder, "op", subtask, backend_of(iter(keys)))
    for file in files:
        if file.subtask == 1:
            folder.delete(file.path)
    assert restored(folder, files, group_range(0, MAX, 2)).full()
    with pytest.raises(MissingFileError):
        restored(folder, files, group_range(1, MAX, 2))


def test_names_of_files(folder: Folder) -> None:
    files = written(folder, "my-op", 3, backend_of(range(3)))
    assert [(file.path, file.state) for file in files] == [
        ("my-op/value-3-0.parquet", "value"),
        ("my-op/value-3-1.parquet", "value"),
        ("my-op/list_of_things-3-2.parquet", "list / of things"),
        ("my-op/map-3-3.parquet", "_map"),
        ("my-op/windows-3-4.parquet", "windows"),
        ("my-op/event-time-timers-3-5.parquet", EVENT_TIMERS),
        ("my-op/processing-time-timers-3-6.parquet", "\0processing-time-timers"),
    ]
    assert folder.files() == sorted(file.path for file in files)
    assert {(file.scope, file.subtask) for file in files} == {("keyed", 3)}


@pytest.mark.parametrize(
    ("state", "name"), [("..", "state"), ("Ünï/cödé", "n_c_d"), ("a" * 100, "a" * 60), ("\0", "state"), ("-x-", "x")]
)
def test_names_of_states_make_harmless_names_of_files(folder: Folder, state: str, name: str) -> None:
    (file,) = write_states(folder, "op", 0, MAX, [{state: ("value", {1: 1})}], None)
    assert file.path == f"op/{name}-0-0.parquet"
    assert read_states(folder, [file], None)[0] == {state: ("value", {1: 1})}


def test_a_file_is_described(folder: Folder, tmp_path: Path) -> None:
    (file,) = write_states(folder, "op", 1, MAX, [{"counts": ("value", {"a": 1, "b": 2})}], None)
    path = tmp_path / file.path
    assert (file.rows, file.size) == (2, path.stat().st_size)
    assert file.groups == sorted(key_group(key, MAX) for key in "ab")
    about = json.loads(pq.read_schema(path).metadata[b"millrace"])
    assert about == {
        "state": "counts",
        "scope": "keyed",
        "kind": "value",
        "subtask": 1,
        "columns": {"key": {"form": "str"}, "value": {"form": "int"}},
        "savepoint": tmp_path.name,
        "file": file.path,
    }
    assert file.columns == about["columns"]
    assert pd.read_parquet(path).to_dict("list") == {
        "key_group": [key_group(key, MAX) for key in "ab"],
        "key": ["a", "b"],
        "value": [1, 2],
    }


def test_files_are_small(folder: Folder) -> None:
    windows = {1: (True, dict.fromkeys("abcdefghi"))}
    state = {"many": ("value", dict.fromkeys(range(20), 0)), "windows": ("windows", windows)}
    assert [file.rows for file in write_states(folder, "op", 0, MAX, [state], None)] == [7, 7, 6, 7, 2]


def test_nothing_makes_no_files(folder: Folder) -> None:
    assert write_states(folder, "op", 0, MAX, [{}, {"empty": ("value", {})}], {}) == []
    assert folder.files() == []
    assert read_states(folder, [], None) == ({}, {})


# -- operator state ---------------------------------------------------------------------------------------------------


def operator_backend(items: int, offset: int = 0) -> OperatorStateBackend:
    backend = OperatorStateBackend()
    backend.get_list_state(ListStateDescriptor("split", ANY)).update([offset + item for item in range(items)])
    backend.get_union_list_state(ListStateDescriptor("union", ANY)).update([Plain(offset)])
    backend.get_broadcast_state(MapStateDescriptor("rules", ANY, ANY)).put_all({"a": offset, "b": None})
    return backend


def test_operator_state_comes_back(folder: Folder) -> None:
    state = operator_backend(3).full()
    files = write_states(folder, "op", 0, MAX, (), state)
    assert {(file.scope, file.groups) for file in files} == {("operator", None)}
    assert read_states(folder, files, None) == ({}, state)
    assert list(iter_states(folder, files, None)) == []


def test_keyed_and_operator_state_may_have_one_name(folder: Folder) -> None:
    files = write_states(folder, "op", 0, MAX, [{"a": ("value", {1: 2})}], {"a": (Distribution.UNION, (0, [3]))})
    assert read_states(folder, files, None) == ({"a": ("value", {1: 2})}, {"a": (Distribution.UNION, (0, [3]))})


def test_lists_of_several_subtasks_become_one(folder: Folder) -> None:
    files = []
    for subtask in range(2):
        files += write_states(folder, "op", subtask, MAX, (), operator_backend(2, 10 * subtask).full())
    _, shared = read_states(folder, files, None)
    assert shared["split"] == (Distribution.SPLIT_DISTRIBUTE, (0, [0, 1, 10, 11]))
    assert shared["union"] == (Distribution.UNION, (0, [Plain(0), Plain(10)]))
    assert shared["rules"] == (Distribution.BROADCAST, (True, {"a": 0, "b": None}, []))


@given(before=st.integers(1, 4), now=st.integers(1, 4), empty=st.sets(st.integers(0, 3)))
def test_operator_state_is_redistributed(
    tmp_path_factory: pytest.TempPathFactory, before: int, now: int, empty: set[int]
) -> None:
    folder = open_folder(str(tmp_path_factory.mktemp("savepoint")))
    states = [{} if subtask in empty else operator_backend(subtask, 10 * subtask).full() for subtask in range(before)]
    files = []
    for subtask, state in enumerate(states):
        files += write_states(folder, "op", subtask, MAX, (), state)
    found = [read_operator_state(folder, files, before, now, subtask) for subtask in range(now)]
    assert found == redistribute(states, now)


# -- damage -----------------------------------------------------------------------------------------------------------


def one_file(folder: Folder) -> StateFile:
    (file,) = write_states(folder, "op", 0, MAX, [{"a": ("value", {1: 2})}], None)
    return file


def test_a_missing_file_is_named(folder: Folder, tmp_path: Path) -> None:
    file = one_file(folder)
    folder.delete(file.path)
    with pytest.raises(MissingFileError) as raised:
        read_rows(folder, file)
    assert raised.value.path == f"{tmp_path}/op/a-0-0.parquet"


def test_a_short_file_is_named(folder: Folder, tmp_path: Path) -> None:
    file = one_file(folder)
    path = tmp_path / file.path
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CorruptFileError) as raised:
        read_states(folder, [file], None)
    assert str(raised.value) == f"{path} is corrupt: it has {file.size - 1} bytes, not {file.size}"


@given(place=st.integers(0), bit=st.integers(0, 7))
def test_any_change_of_a_file_is_found(tmp_path_factory: pytest.TempPathFactory, place: int, bit: int) -> None:
    root = tmp_path_factory.mktemp("savepoint")
    folder = open_folder(str(root))
    file = one_file(folder)
    content = bytearray((root / file.path).read_bytes())
    content[place % len(content)] ^= 1 << bit
    (root / file.path).write_bytes(content)
    with pytest.raises(CorruptFileError, match=r"a-0-0.parquet is corrupt: its checksum is wrong"):
        list(iter_states(folder, [file], range(MAX)))


# -- classes ----------------------------------------------------------------------------------------------------------

MODULE = "a_program_of_state_files"


@pytest.fixture
def program() -> Iterator[types.ModuleType]:
    """A module whose classes may be exchanged."""
    module = sys.modules[MODULE] = types.ModuleType(MODULE)
    yield module
    del sys.modules[MODULE]


def _define(module: types.ModuleType, fields: str, name: str = "Order", at: str = MODULE) -> Any:
    source = f"from dataclasses import dataclass\n@dataclass(frozen=True)\nclass {name}:\n    {fields}\n"
    exec(source, module.__dict__)
    cls = getattr(module, name)
    cls.__module__ = at
    return cls


def test_problems_name_the_state(folder: Folder, program: types.ModuleType) -> None:
    cls = _define(program, "id: int")
    entries = {number: cls(number) for number in range(20)}
    files = write_states(folder, "op", 0, MAX, [{"orders": ("value", entries)}], None)
    assert check_states(files) == []
    _define(program, "name: str")
    expected = (
        f"state 'orders', class {MODULE}.Order, field 'name': it is new and has no default; give it a default, or "
        f"raise state_version and set it in upgrade_state()"
    )
    assert [str(problem) for problem in check_states(files)] == [expected]
    with pytest.raises(EvolutionError) as raised:
        read_states(folder, files, None)
    assert str(raised.value) == expected


def test_keys_that_change_are_refused(folder: Folder, program: types.ModuleType) -> None:
    cls = _define(program, "id: int")
    files = write_states(folder, "op", 0, MAX, [{"orders": ("value", {cls(1): 2})}], None)
    _define(program, "id: int\n    more: int = 0")
    (problem,) = check_states(files)
    assert str(problem).startswith(f"state 'orders', class {MODULE}.Order: it is (part of) the key of stored state")
    with pytest.raises(EvolutionError, match=r"state 'orders', .* \(part of\) the key"):
        read_states(folder, files, None)


def test_problems_of_operator_state_name_it_too(folder: Folder, program: types.ModuleType) -> None:
    cls = _define(program, "id: int")
    files = write_states(folder, "op", 0, MAX, (), {"buffer": (Distribution.UNION, (0, [cls(1)]))})
    del program.Order
    assert [problem.state for problem in check_states(files)] == ["buffer"]
    with pytest.raises(EvolutionError, match=r"state 'buffer', .* has no class Order"):
        read_operator_state(folder, files, 1, 2, 0)


def test_classes_of_the_main_module_are_handed_in(
    folder: Folder, program: types.ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    cls = _define(program, "id: int", at="__main__")
    state = {"orders": ("value", {1: cls(1)}), "mixed": ("value", {1: {cls(2)}, 2: {cls(3)}})}
    files = write_states(folder, "op", 0, MAX, [state], None)
    assert main_classes(files) == {}
    assert len(check_states(files)) == 2
    monkeypatch.setattr(sys.modules["__main__"], "Order", cls, raising=False)
    known = main_classes(files)
    assert known == {"__main__:Order": cls}
    monkeypatch.undo()
    assert check_states(files, known) == []
    assert read_states(folder, files, None, known)[0] == state
    with pytest.raises(EvolutionError, match="module __main__ has no class Order"):
        read_states(folder, files, None)
