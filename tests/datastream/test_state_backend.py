"""State backends as values; defaults and messages were read off PyFlink 2.3."""

from __future__ import annotations

import pickle

import pytest

from millrace.datastream.state_backend import (
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    PredefinedOptions,
    StateBackend,
)


def test_identifiers_are_those_of_the_configuration() -> None:
    assert HashMapStateBackend().identifier == "hashmap"
    assert EmbeddedRocksDBStateBackend().identifier == "rocksdb"
    assert isinstance(HashMapStateBackend(), StateBackend)


def test_defaults() -> None:
    backend = EmbeddedRocksDBStateBackend()
    assert not backend.is_incremental_checkpoints_enabled()
    assert backend.get_predefined_options() is PredefinedOptions.DEFAULT
    assert backend.get_options() is None
    assert backend.get_number_of_transfer_threads() == 4
    assert backend.get_db_storage_paths() == []


def test_what_is_set_survives_a_pickle() -> None:
    backend = EmbeddedRocksDBStateBackend(True)
    backend.set_db_storage_paths("/tmp/a", "file:///tmp/b")
    backend.set_predefined_options(PredefinedOptions.FLASH_SSD_OPTIMIZED)
    backend.set_number_of_transfer_threads(8)
    copy = pickle.loads(pickle.dumps(backend))
    assert copy.is_incremental_checkpoints_enabled()
    assert copy.get_db_storage_paths() == ["/tmp/a", "/tmp/b"]
    assert copy.get_predefined_options() is PredefinedOptions.FLASH_SSD_OPTIMIZED
    assert copy.get_number_of_transfer_threads() == 8
    copy.set_db_storage_paths()
    assert copy.get_db_storage_paths() == []


@pytest.mark.parametrize(
    ("path", "message"),
    [("rel/x", "Relative paths are not supported"), ("hdfs:///x", "Path hdfs:///x has a non-local scheme")],
)
def test_working_files_are_local(path: str, message: str) -> None:
    backend = EmbeddedRocksDBStateBackend()
    with pytest.raises(ValueError, match=message):
        backend.set_db_storage_paths("/tmp/ok", path)
    assert backend.get_db_storage_paths() == []


def test_bad_values_are_refused() -> None:
    with pytest.raises(ValueError, match="should be greater than zero"):
        EmbeddedRocksDBStateBackend().set_number_of_transfer_threads(0)
    with pytest.raises(TypeError, match="'x', expected None, True or False"):
        EmbeddedRocksDBStateBackend("x")  # type: ignore[arg-type]


def test_what_needs_java_says_so() -> None:
    with pytest.raises(NotImplementedError, match="set_options is not in Millrace yet; nearest: set_predefined"):
        EmbeddedRocksDBStateBackend().set_options("com.example.Factory")
