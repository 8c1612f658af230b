"""Metadata of checkpoints: the files of every task, also as earlier versions of Millrace recorded them."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

from millrace.checkpoint.directory import state_files
from millrace.checkpoint.folder import open_folder
from millrace.checkpoint.metadata import (
    CHECKPOINT,
    CHECKSUM,
    METADATA,
    Metadata,
    checkpoint_metadata,
    read_metadata,
    write_metadata,
)
from millrace.runtime.bases.epoch_protocol import TaskAck
from millrace.runtime.coordination.snapshot import JobSnapshot, TaskChain, TaskFiles


def chain_of(*acks: tuple[int, int, int | None, int | None]) -> TaskChain:
    """(epoch, run, bytes of changes, bytes of a whole state)"""
    chain = TaskChain()
    for epoch, run, delta, full in acks:
        chain.add(TaskAck(epoch, 0, 0, delta_bytes=delta, full_bytes=full, run=run))
    return chain


def test_what_is_recorded_is_read(tmp_path: Path) -> None:
    tasks = {
        (0, 0): chain_of((1, 5, 100, None), (2, 6, None, None), (3, 9, 80, None)).files(),
        (0, 1): chain_of((1, 4, 100, None), (2, 7, 60, 1_000), (3, 8, 90, None)).files(),
        (1, 0): TaskFiles(),
    }
    folder = open_folder(str(tmp_path))
    write_metadata(folder, checkpoint_metadata(JobSnapshot("job", "name", 3, 0, (), tasks)))
    found = read_metadata(folder)
    assert found.tasks == tasks
    assert found.size == 180 + 1_090
    assert state_files(found) == [
        ("0-0/1-5.delta", 100),
        ("0-0/3-9.delta", 80),
        ("0-1/2-7.full", 1_000),
        ("0-1/3-8.delta", 90),
    ]
    assert found.linked
    for task, files in tasks.items():
        assert TaskChain(files).files() == files
        assert TaskChain(files).first == (2 if task == (0, 1) else 0)


def test_a_checkpoint_of_an_earlier_version(tmp_path: Path) -> None:
    """Its files don't name those before them, so a job takes its state over instead of going on with them."""
    folder = open_folder(str(tmp_path))
    chains = {
        "0-0": {"first": 0, "full_bytes": None, "delta_bytes": [10, 20, 30], "runs": [0, 1, 2, 3]},
        "0-1": {"first": 2, "full_bytes": 500, "delta_bytes": [40], "runs": [7, 8]},
    }
    text = {"millrace": 1, **vars(Metadata(CHECKPOINT, "job", "name", 5, 0, ())), "tasks": chains, "history": [1, 2, 5]}
    del text["linked"]
    content = json.dumps(text, separators=(",", ":")).encode()
    folder.write(METADATA, [content[:-1], CHECKSUM, str(zlib.crc32(content)).encode(), b"}"])
    found = read_metadata(folder)
    assert state_files(found) == [
        ("0-0/1-1.delta", 10),
        ("0-0/2-2.delta", 20),
        ("0-0/5-3.delta", 30),
        ("0-1/2-7.full", 500),
        ("0-1/5-8.delta", 40),
    ]
    assert not found.linked
