"""What is done when a partition is complete."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from millrace.common.files.file_systems import Location


@dataclass(frozen=True)
class PartitionCommitContext:
    """The partition that is complete."""

    table: tuple[str, str, str]
    keys: tuple[str, ...]
    values: tuple[str, ...]
    """as they stand in the path"""
    location: Location
    """of its folder"""

    def catalog_name(self) -> str:
        return self.table[0]

    def database_name(self) -> str:
        return self.table[1]

    def table_name(self) -> str:
        return self.table[2]

    def partition_keys(self) -> Sequence[str]:
        return self.keys

    def partition_values(self) -> Sequence[str]:
        return self.values

    def partition_path(self) -> str:
        """The folder, inside its file system."""
        return self.location.path

    def partition_spec(self) -> Mapping[str, str]:
        return dict(zip(self.keys, self.values))


class PartitionCommitPolicy(ABC):
    """Tells others that a partition is complete; subclass it for ``'sink.partition-commit.policy.kind' = 'custom'``.

    Runs in the driver. A partition may be committed again: when more rows came after it was complete, and after a
    failure. So it must be idempotent.
    """

    @abstractmethod
    def commit(self, context: PartitionCommitContext) -> None: ...


@dataclass(frozen=True)
class SuccessFile(PartitionCommitPolicy):
    """An empty file of that name in the partition's folder."""

    name: str = "_SUCCESS"

    def commit(self, context: PartitionCommitContext) -> None:
        location = context.location
        location.file_system().open_output_stream(f"{location.path.rstrip('/')}/{self.name}").close()
