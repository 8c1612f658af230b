"""Keys of state and checkpoints: ``state.*``, ``execution.checkpointing.*``.

Ignoring one never changes a result: they choose how Flink stores or transfers what Millrace stores in its own way.
"""

from __future__ import annotations

from millrace.configuration.declared.rule import ignored, works

_CHECKPOINTS = "datastream.checkpoint_config"
_PLAN = "datastream.checkpoint_plan"
_STATE = "datastream.state_plan"
_ENVIRONMENT = "datastream.stream_execution_environment"
_NOTHING_WAITS = "no barrier waits in a queue, since nothing is in flight when an epoch ends"
_OWN_FILES = "state files have a form of their own, one a task and epoch"
_NO_LOG = "state is always kept as changes, in the same files"

TITLE = "State and checkpoints"
RULES = (
    works("execution.checkpointing.interval", _CHECKPOINTS, "checkpoints at the first end of an epoch after this time"),
    works("execution.checkpointing.timeout", _CHECKPOINTS, "one that takes longer to record counts as failed"),
    works("execution.checkpointing.min-pause", _CHECKPOINTS, "least time from the end of one to the next"),
    works("execution.checkpointing.mode", _CHECKPOINTS, "`AT_LEAST_ONCE` gets exactly once, too"),
    works(
        "execution.checkpointing.tolerable-failed-checkpoints", _CHECKPOINTS, "failures in a row that are only counted"
    ),
    works(
        "execution.checkpointing.externalized-checkpoint-retention",
        _CHECKPOINTS,
        "what stays when the job is cancelled or fails",
    ),
    works("execution.checkpointing.storage", _PLAN, "`filesystem`, `jobmanager` or your own class"),
    works("execution.checkpointing.dir", _PLAN, "where checkpoints go"),
    works("execution.checkpointing.num-retained", _PLAN, "checkpoints that are kept"),
    works("execution.checkpointing.savepoint-dir", _ENVIRONMENT, "where savepoints go"),
    works("state.backend.type", _STATE, "`hashmap`, `rocksdb` or your own class"),
    works("state.backend.rocksdb.localdir", _STATE, "where the on-disk backend keeps its files"),
    works("io.tmp.dirs", _STATE, "where the on-disk backend keeps its files, unless it has a key of its own"),
    ignored("state.changelog.enabled", f"accepted: {_NO_LOG}", "true", "false"),
    ignored(
        "execution.checkpointing.local-backup.enabled",
        "accepted: tasks that live go on with what they have, others read the files",
        "true",
        "false",
    ),
    ignored(
        "execution.checkpointing.incremental",
        "checkpoints are always incremental, with a whole state now and then",
        "true",
    ),
    ignored("state.backend.async", "the changes of an epoch are written at its end", "true"),
    ignored(
        "execution.checkpointing.max-concurrent-checkpoints", "one at a time is enough: it is a file of the driver", "1"
    ),
    ignored(
        "execution.checkpointing.unaligned.enabled execution.checkpointing.unaligned.forced",
        _NOTHING_WAITS,
        "false",
    ),
    ignored("execution.checkpointing.aligned-checkpoint-timeout", _NOTHING_WAITS, "0 ms"),
    ignored("execution.checkpointing.unaligned.* execution.checkpointing.during-recovery.enabled", _NOTHING_WAITS),
    ignored(
        "execution.checkpointing.interval-during-backlog",
        "the cadence does not depend on a backlog; nearest: execution.checkpointing.interval",
    ),
    ignored(
        "execution.checkpointing.checkpoints-after-tasks-finish",
        "checkpoints go on when some tasks have finished",
        "true",
    ),
    ignored("execution.checkpointing.data-inline-threshold", f"{_OWN_FILES}; small ones are not put elsewhere"),
    ignored("execution.checkpointing.write-buffer-size", f"{_OWN_FILES}, written piece by piece"),
    ignored("execution.checkpointing.file-merging.*", _OWN_FILES),
    ignored(
        "execution.checkpointing.snapshot-compression",
        "state files are not compressed, savepoints (Parquet) are",
        "false",
    ),
    ignored("execution.checkpointing.create-subdir", "there always is a folder with the id of the job", "true"),
    ignored("execution.checkpointing.cleaner.*", "the driver deletes files when nobody needs them"),
    ignored(
        "execution.checkpointing.local-backup.dirs",
        "there are no copies beside the working state; nearest: state.backend.rocksdb.localdir",
    ),
    ignored(
        "execution.checkpointing.force execution.checkpointing.prefer-checkpoint-for-recovery",
        "all that is set of checkpoints counts, and a job begins with the newest",
    ),
    ignored(
        "state.backend.rocksdb.*", "the store of the on-disk backend is LMDB; nearest: state.backend.rocksdb.localdir"
    ),
    ignored("state.backend.forst.*", "there is no ForSt; nearest: state.backend.type = rocksdb"),
    ignored("state.changelog.*", _NO_LOG),
    ignored(
        "state.latency-track.* state.size-track.*",
        "single accesses to state are not measured; nearest: the metrics of operators",
    ),
)
