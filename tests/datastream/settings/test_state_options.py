"""Every option for state and checkpoints works, or is named."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from millrace.datastream.checkpoint_config import _OPTIONS
from millrace.datastream.settings import state_options
from millrace.datastream.settings.state_options import OPTIONS, StateOption, option_of, tell_about, warnings_about

DOCUMENTED = """
    execution.checkpointing.aligned-checkpoint-timeout execution.checkpointing.checkpoints-after-tasks-finish
    execution.checkpointing.cleaner.parallel-mode execution.checkpointing.create-subdir
    execution.checkpointing.data-inline-threshold execution.checkpointing.dir
    execution.checkpointing.externalized-checkpoint-retention
    execution.checkpointing.file-merging.across-checkpoint-boundary execution.checkpointing.file-merging.enabled
    execution.checkpointing.file-merging.max-file-size execution.checkpointing.file-merging.max-space-amplification
    execution.checkpointing.file-merging.pool-blocking execution.checkpointing.incremental
    execution.checkpointing.interval execution.checkpointing.interval-during-backlog
    execution.checkpointing.local-backup.dirs execution.checkpointing.local-backup.enabled
    execution.checkpointing.max-concurrent-checkpoints execution.checkpointing.min-pause execution.checkpointing.mode
    execution.checkpointing.num-retained execution.checkpointing.savepoint-dir
    execution.checkpointing.snapshot-compression execution.checkpointing.storage execution.checkpointing.timeout
    execution.checkpointing.tolerable-failed-checkpoints execution.checkpointing.unaligned.enabled
    execution.checkpointing.unaligned.during-recovery.enabled execution.checkpointing.unaligned.forced
    execution.checkpointing.unaligned.interruptible-timers.enabled
    execution.checkpointing.unaligned.max-subtasks-per-channel-state-file
    execution.checkpointing.unaligned.recover-output-on-downstream.enabled execution.checkpointing.write-buffer-size
    state.backend.type state.backend.rocksdb.localdir state.backend.rocksdb.memory.managed
    state.backend.rocksdb.predefined-options state.backend.rocksdb.metrics.num-snapshots state.backend.forst.cache.dir
    state.changelog.enabled state.changelog.periodic-materialize.interval state.changelog.storage
    state.latency-track.keyed-state-enabled state.latency-track.sample-interval
"""
"""what Flink 2 documents"""

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "fault-tolerance.md"



def row(option: StateOption) -> str:
    key, *older = (f"`{key}`" for key in option.keys)
    names = f"{key} ({', '.join(older)})" if older else key
    same = f" ({', '.join(f'`{value}`' for value in option.same)} is so)" if option.same else ""
    return f"| {names} | {'works' if option.works else 'named'}{same} | {option.note} |"


def test_the_guide_has_them_all() -> None:
    text = GUIDE.read_text("utf-8")
    missing = [row(option) for option in OPTIONS if row(option) not in text]
    assert not missing, "the table of docs/guide/fault-tolerance.md needs these rows:\n" + "\n".join(missing)


def test_no_key_has_two_entries() -> None:
    keys = [key for option in OPTIONS for key in option.keys]
    assert len(keys) == len(set(keys))


def test_all_that_the_setters_write_is_known() -> None:
    assert all(option_of(key) for key in _OPTIONS)


@pytest.mark.parametrize("key", DOCUMENTED.split())
def test_what_flink_documents_is_known(key: str) -> None:
    assert option_of(key) is not None


def test_what_has_no_effect_is_named() -> None:
    key = "state.backend.rocksdb.memory.managed"
    assert dict(warnings_about({key: "true"})) == {
        key: "the store of the on-disk backend is LMDB; nearest: state.backend.rocksdb.localdir"
    }


@pytest.mark.parametrize(
    ("key", "silent", "loud"),
    [
        ("execution.checkpointing.unaligned.enabled", "False", "true"),
        ("execution.checkpointing.incremental", "true", "false"),
        ("execution.checkpointing.max-concurrent-checkpoints", "1", "3"),
        ("execution.checkpointing.aligned-checkpoint-timeout", "0 s", "30 s"),
        ("state.checkpoints.create-subdir", "true", "false"),
    ],
)
def test_only_what_differs_is_named(key: str, silent: str, loud: str) -> None:
    assert not dict(warnings_about({key: silent}))
    assert dict(warnings_about({key: loud}))


def test_unknown_keys_are_named_with_the_nearest() -> None:
    found = dict(warnings_about({"execution.checkpointing.intervall": "1 s", "state.qq": "x", "other": "y"}))
    assert found == {
        "execution.checkpointing.intervall": (
            "there is no such option, did you mean 'execution.checkpointing.interval'?"
        ),
        "state.qq": "there is no such option",
    }


def test_each_is_told_once(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_options, "_told", set())
    settings = {"state.backend.forst.x": "1", "state.backend.type": "hashmap"}
    with caplog.at_level(logging.WARNING, "millrace"):
        tell_about(settings)
        tell_about(settings)
    assert [record.getMessage() for record in caplog.records] == [
        "state.backend.forst.x = 1 has no effect: there is no ForSt; nearest: state.backend.type = rocksdb"
    ]
