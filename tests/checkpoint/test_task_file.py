"""Files of one task and epoch: written in sections, read in part, also those of the format before."""

from __future__ import annotations

import json
import pickle
import struct
import zlib
from pathlib import Path
from typing import Any

from millrace.checkpoint.folder import open_folder
from millrace.checkpoint.stored_file import LocalFile
from millrace.checkpoint.task_file import KEYED_SECTIONS, REST, TaskFile, task_file
from millrace.checkpoint.task_storage import FolderStorage
from millrace.runtime.exchange.keys import key_group
from millrace.runtime.storage import NO_PAST

MAX = 128


def written(path: Path, pieces: list[dict[str, Any]], whole: bool) -> Path:
    path.write_bytes(b"".join(task_file(pieces, {"a": MAX, "b": MAX}, whole)))
    return path


def test_a_whole_state_is_divided_by_key_group(tmp_path: Path) -> None:
    keyed = {"value": ("value", {key: str(key) for key in range(100_000)})}
    pieces = [{"a": (None, None, "small", None, None)}, {"a": (keyed, None, None, None, None)}]
    path = written(tmp_path / "file", pieces, whole=True)
    wanted = range(32, 48)
    with LocalFile(str(path)) as stored:
        file = TaskFile(str(path), stored)
        assert [section.first for section in file.sections if section.holds == KEYED_SECTIONS] == sorted(
            section.first for section in file.sections if section.holds == KEYED_SECTIONS
        )
        found: dict[int, str] = {}
        for section, (some, *_) in file.read(lambda section: section.may_hold(wanted)):
            part = some["value"][1]
            assert {key_group(key, MAX) for key in part} <= set(range(section.first, section.last + 1))
            found.update(part)
        rest = [state for _, state in file.read(lambda section: section.holds == REST)]
    assert {key for key in found if key_group(key, MAX) in wanted} == {
        key for key in range(100_000) if key_group(key, MAX) in wanted
    }
    assert len(found) < 20_000
    assert rest == [(None, None, "small", None, None)]


def test_small_changes_are_one_section(tmp_path: Path) -> None:
    state = ({"value": ("value", {1: 2})}, {"list": 3}, "small", 4, 5)
    path = written(tmp_path / "file", [{"a": state, "b": (None,) * 5}], whole=False)
    with LocalFile(str(path)) as stored:
        file = TaskFile(str(path), stored)
        assert [(section.uid, section.first) for section in file.sections] == [("a", -1), ("b", -1)]
        assert [found for _, found in file.read(lambda section: section.uid == "a")] == [state]


def test_large_changes_come_back_as_one(tmp_path: Path) -> None:
    folder = open_folder(str(tmp_path))
    entries = {key: key for key in range(5_000)}
    state = ({"value": ("value", entries), "windows": ("windows", {7: (True, {1: 2})})}, None, "small", None, 5)
    storage = FolderStorage(folder, {"a": MAX})
    storage.write_delta((0, 0), 1, NO_PAST, {"a": state})
    assert FolderStorage(folder).read_delta((0, 0), 1) == {"a": state}


def test_files_of_format_1_can_be_read(tmp_path: Path) -> None:
    state = ({"value": ("value", {1: 2})}, None, "small", 4, None)
    magic, section = b"MLRSTAT1", pickle.dumps(state)
    index = json.dumps([["a", len(magic), len(section), zlib.crc32(section)]]).encode()
    path = tmp_path / "file"
    path.write_bytes(magic + section + index + struct.pack("<II8s", len(index), zlib.crc32(index), magic))
    with LocalFile(str(path)) as stored:
        assert [found for _, found in TaskFile(str(path), stored).read(lambda section: True)] == [state]
