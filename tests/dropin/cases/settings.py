"""What settings of streams give back."""

from __future__ import annotations

from pyflink.datastream import FileSystemCheckpointStorage
from pyflink.datastream.state_backend import EmbeddedRocksDBStateBackend


def paths_of_checkpoints_are_normalised() -> None:
    """Slashes that are doubled, or at the end, are left out; a scheme without a host has one slash behind it."""
    shown = {
        "file:///var/checkpoints/": "file:/var/checkpoints",
        "hdfs://host:1/a//b/": "hdfs://host:1/a/b",
    }
    for path, expected in shown.items():
        assert FileSystemCheckpointStorage(path).get_checkpoint_path() == expected


def paths_of_state_are_normalised() -> None:
    """The same holds for the folders of a state backend."""
    backend = EmbeddedRocksDBStateBackend()
    backend.set_db_storage_paths("file:///var/db/", "/tmp/y//z/")
    assert backend.get_db_storage_paths() == ["/var/db", "/tmp/y/z"]
