"""State backends and checkpoint storages of a user's own, on Spark."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.state.store.stores import SqliteBackend
from tests.spark.conftest import MakeEnvironment, Watch
from tests.spark.jobs.test_savepoints import numbering, printed, wanted
from tests.testing.conformance import storages
from tests.testing.conformance.storages import SqliteFiles

from millrace.common.jobs import JobStatus
from millrace.datastream import CustomCheckpointStorage, ExternalizedCheckpointRetention


def test_a_job_with_both(
    environment: MakeEnvironment, watch: Watch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It ends with a savepoint, and another job begins with that; nothing is lost or doubled."""
    stores = tmp_path / "stores"
    stores.mkdir()
    storage = f"plugin://{storages.__name__}:SqliteFiles/{tmp_path}/files.db!"
    options: dict[str, Any] = {
        "millrace.epoch.max-records": 200,
        "execution.checkpointing.storage": f"{storages.__name__}:SqliteFiles",
        "execution.checkpointing.dir": f"{tmp_path}/files.db!",
        "execution.checkpointing.interval": "10 ms",
    }
    env = environment(2, **options)
    env.set_state_backend(SqliteBackend(str(stores)))
    env.get_checkpoint_config().set_externalized_checkpoint_retention(
        ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION
    )
    numbering(env)
    client = env.execute_async("first")
    saved = client.stop_with_savepoint(False, f"{storage}saved").result()
    client.get_job_execution_result().result()
    assert watch.ends == [JobStatus.FINISHED]
    assert saved.startswith(storage)
    assert not os.listdir(stores)

    ignored = "state.backend.rocksdb.write-batch-size"
    env = environment(3, **{"execution.state-recovery.path": saved, ignored: "3 mb"})
    env.get_checkpoint_config().set_checkpoint_storage(CustomCheckpointStorage(SqliteFiles, f"{tmp_path}/files.db!"))
    numbering(env)
    env.execute("second")
    assert printed(watch) == wanted()
    told = [record.getMessage() for record in caplog.records if ignored in record.getMessage()]
    assert [message.partition(" (")[0] for message in told] == [f"no effect here: {ignored}"]
