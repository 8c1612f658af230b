"""Flink's options for state and checkpoints: which work here, and what is told about those that do nothing.

Ignoring one of the latter never changes a result: they choose how Flink stores or transfers what Millrace stores in its
own way. The table in docs/guide/fault-tolerance.md is made from this one.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from millrace.common.config_values import to_duration
from millrace.util.similar import did_you_mean

__all__ = ["OPTIONS", "StateOption", "option_of", "tell_about", "warnings_about"]

logger = logging.getLogger("millrace")

_told: set[str] = set()
"""keys that this process has been told about"""

FAMILIES = ("state.", "execution.checkpointing.")
"""what the keys begin with of which each is known or told about"""


@dataclass(frozen=True)
class StateOption:
    """An option, or all whose keys begin as one that ends with ``*``."""

    keys: tuple[str, ...]
    """the key, then older names"""
    note: str
    """what it does, or why it does nothing and what is nearest"""
    works: bool = True
    same: tuple[str, ...] = ()
    """values that say what Millrace does anyway"""

    def has(self, key: str) -> bool:
        return any(key.startswith(name[:-1]) if name.endswith("*") else key == name for name in self.keys)

    def is_silent(self, value: str) -> bool:
        """Whether there is nothing to tell about a value."""
        return self.works or _plain(value) in map(_plain, self.same)


def _plain(value: str) -> str:
    text = value.strip().lower()
    try:
        return f"{to_duration(text).to_millis()} ms"
    except ValueError:
        return text


_EC = "execution.checkpointing."
_SB = "state.backend."
_NOTHING_WAITS = "no barrier waits in a queue, since nothing is in flight when an epoch ends"
_OWN_FILES = "state files have a form of their own, one a task and epoch"
_NO_LOG = "state is always kept as changes, in the same files"

OPTIONS = (
    StateOption((_EC + "interval",), "checkpoints at the first end of an epoch after this time"),
    StateOption((_EC + "timeout",), "one that takes longer to record counts as failed"),
    StateOption((_EC + "min-pause",), "least time from the end of one to the next"),
    StateOption((_EC + "mode",), "`AT_LEAST_ONCE` gets exactly once, too"),
    StateOption((_EC + "tolerable-failed-checkpoints",), "failures in a row that are only counted"),
    StateOption((_EC + "externalized-checkpoint-retention",), "what stays when the job is cancelled or fails"),
    StateOption((_EC + "storage", "state.checkpoint-storage"), "`filesystem`, `jobmanager` or your own class"),
    StateOption((_EC + "dir", "state.checkpoints.dir"), "where checkpoints go"),
    StateOption((_EC + "num-retained", "state.checkpoints.num-retained"), "checkpoints that are kept"),
    StateOption((_EC + "savepoint-dir", "state.savepoints.dir"), "where savepoints go"),
    StateOption((_SB + "type", "state.backend"), "`hashmap`, `rocksdb` or your own class"),
    StateOption((_SB + "rocksdb.localdir",), "where the on-disk backend keeps its files"),
    StateOption(("state.changelog.enabled", _SB + "changelog.enabled"), f"accepted: {_NO_LOG}"),
    StateOption(
        (_EC + "local-backup.enabled", _SB + "local-recovery"),
        "accepted: tasks that live go on with what they have, others read the files",
    ),
    StateOption(
        (_EC + "incremental", _SB + "incremental"),
        "checkpoints are always incremental, with a whole state now and then",
        works=False,
        same=("true",),
    ),
    StateOption((_SB + "async",), "the changes of an epoch are written at its end", works=False, same=("true",)),
    StateOption(
        (_EC + "max-concurrent-checkpoints",),
        "one at a time is enough: it is a file of the driver",
        works=False,
        same=("1",),
    ),
    StateOption(
        (_EC + "unaligned.enabled", _EC + "unaligned", _EC + "unaligned.forced", _EC + "force-unaligned"),
        _NOTHING_WAITS,
        works=False,
        same=("false",),
    ),
    StateOption(
        (_EC + "aligned-checkpoint-timeout", _EC + "alignment-timeout"), _NOTHING_WAITS, works=False, same=("0 ms",)
    ),
    StateOption((_EC + "unaligned.*", _EC + "recover-without-channel-state.*"), _NOTHING_WAITS, works=False),
    StateOption(
        (_EC + "interval-during-backlog",),
        f"the cadence does not depend on a backlog; nearest: {_EC}interval",
        works=False,
    ),
    StateOption(
        (_EC + "checkpoints-after-tasks-finish", _EC + "checkpoints-after-tasks-finish.enabled"),
        "checkpoints go on when some tasks have finished",
        works=False,
        same=("true",),
    ),
    StateOption(
        (_EC + "data-inline-threshold", "state.storage.fs.memory-threshold", _SB + "fs.memory-threshold"),
        f"{_OWN_FILES}; small ones are not put elsewhere",
        works=False,
    ),
    StateOption(
        (_EC + "write-buffer-size", "state.storage.fs.write-buffer-size", _SB + "fs.write-buffer-size"),
        f"{_OWN_FILES}, written piece by piece",
        works=False,
    ),
    StateOption((_EC + "file-merging.enabled",), _OWN_FILES, works=False, same=("false",)),
    StateOption((_EC + "file-merging.*",), _OWN_FILES, works=False),
    StateOption(
        (_EC + "snapshot-compression",),
        "state files are not compressed, savepoints (Parquet) are",
        works=False,
        same=("false",),
    ),
    StateOption(
        (_EC + "create-subdir", "state.checkpoints.create-subdir"),
        "there always is a folder with the id of the job",
        works=False,
        same=("true",),
    ),
    StateOption(
        (_EC + "cleaner.*", "state.checkpoint.cleaner.*"),
        "the driver deletes files when nobody needs them",
        works=False,
    ),
    StateOption(
        (_EC + "local-backup.dirs", "taskmanager.state.local.root-dirs"),
        f"there are no copies beside the working state; nearest: {_SB}rocksdb.localdir",
        works=False,
    ),
    StateOption((_SB + "fs.checkpointdir",), f"the name of Flink 1; nearest: {_EC}dir", works=False),
    StateOption(
        (_SB + "rocksdb.*",), f"the store of the on-disk backend is LMDB; nearest: {_SB}rocksdb.localdir", works=False
    ),
    StateOption((_SB + "forst.*",), f"there is no ForSt; nearest: {_SB}type = rocksdb", works=False),
    StateOption(("state.changelog.*", _SB + "changelog.*"), _NO_LOG, works=False),
    StateOption(
        ("state.latency-track.*", _SB + "latency-track.*", "state.size-track.*"),
        "single accesses to state are not measured; nearest: the metrics of operators",
        works=False,
    ),
)


def option_of(key: str) -> StateOption | None:
    """What is known about a key: an entry of its own counts more than one for many."""
    return next((option for option in OPTIONS if key in option.keys), None) or next(
        (option for option in OPTIONS if option.has(key)), None
    )


def warnings_about(configuration: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(key, why it does nothing) of the options that are set and have no effect."""
    for key, value in configuration.items():
        option = option_of(key)
        if option is not None and not option.is_silent(value):
            yield key, option.note
        elif option is None and key.startswith(FAMILIES):
            known = [name for each in OPTIONS for name in each.keys if not name.endswith("*")]
            yield key, f"there is no such option{did_you_mean(key, known)}"


def tell_about(configuration: Mapping[str, str]) -> None:
    """One warning for each option without effect, once in this process."""
    for key, why in warnings_about(configuration):
        if key not in _told:
            _told.add(key)
            logger.warning("%s = %s has no effect: %s", key, configuration[key], why)
