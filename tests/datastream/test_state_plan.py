"""Which state backend a job gets, and what it needs."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from millrace.common.configuration import Configuration
from millrace.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from millrace.datastream.job_settings import configured_backend, state_plan
from millrace.datastream.state_backend import EmbeddedRocksDBStateBackend, HashMapStateBackend
from millrace.runtime.state.disk import plan
from millrace.runtime.state.disk.plan import OnDisk
from millrace.runtime.state.working import InMemory, StatePlan


@pytest.mark.parametrize(
    ("configuration", "expected"),
    [
        ({}, InMemory()),
        ({"state.backend.type": "hashmap"}, InMemory()),
        ({"state.backend": "filesystem"}, InMemory()),
        ({"state.backend.type": "rocksdb"}, OnDisk()),
        ({"state.backend.type": "LMDB"}, OnDisk()),
        ({"state.backend": "rocksdb"}, OnDisk()),
        ({"state.backend.type": "hashmap", "state.backend": "rocksdb"}, InMemory()),
        (
            {"state.backend.type": "rocksdb", "state.backend.rocksdb.localdir": "/ssd1/x, file:///ssd2"},
            OnDisk(("/ssd1/x", "/ssd2")),
        ),
    ],
)
def test_the_configuration_names_it(configuration: dict[str, str], expected: StatePlan) -> None:
    assert state_plan(configured_backend(configuration)) == expected


def test_there_is_no_other() -> None:
    with pytest.raises(ValueError, match=r"state.backend.type: there is no state backend 'forst'; use hashmap for"):
        configured_backend({"state.backend.type": "forst"})


def job_state(env: StreamExecutionEnvironment) -> Any:
    env.from_collection([1]).key_by(lambda value: value).reduce(lambda a, b: a + b).print()
    return pickle.loads(pickle.dumps(env.job_graph().state))


def test_a_job_carries_it() -> None:
    env = StreamExecutionEnvironment()
    assert isinstance(env.get_state_backend(), HashMapStateBackend)
    assert job_state(env) == InMemory()
    backend = EmbeddedRocksDBStateBackend()
    backend.set_db_storage_paths("/ssd")
    assert env.set_state_backend(backend) is env
    assert env.get_state_backend() is backend
    assert job_state(env) == OnDisk(("/ssd",))


def test_what_the_program_says_counts_more() -> None:
    env = StreamExecutionEnvironment(Configuration.from_dict({"state.backend.type": "rocksdb"}))
    assert isinstance(env.get_state_backend(), EmbeddedRocksDBStateBackend)
    env.set_state_backend(HashMapStateBackend())
    assert job_state(env) == InMemory()


def test_batch_jobs_keep_state_in_memory() -> None:
    env = StreamExecutionEnvironment().set_state_backend(EmbeddedRocksDBStateBackend())
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    assert job_state(env) == InMemory()


def test_only_backends_are_taken() -> None:
    with pytest.raises(TypeError, match=r"set_state_backend\(\)"):
        StreamExecutionEnvironment().set_state_backend("rocksdb")  # type: ignore[arg-type]


def test_a_missing_package_shows_before_the_job_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "find_spec", lambda name: None)
    env = StreamExecutionEnvironment().set_state_backend(EmbeddedRocksDBStateBackend())
    with pytest.raises(RuntimeError) as raised:
        job_state(env)
    assert str(raised.value) == (
        "keyed state on disk needs the package lmdb, which is not installed here: pip install "
        "'millrace-streaming[disk]', on the workers, too, or keep state in memory (HashMapStateBackend)"
    )
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.job_graph()
