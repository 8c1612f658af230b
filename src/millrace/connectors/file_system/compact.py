"""Compaction of small files before they are committed: named here, not there yet."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["FileCompactStrategy", "FileCompactor", "compaction_missing"]


def compaction_missing(name: str) -> NotImplementedError:
    """The error of everything about compaction."""
    return NotImplementedError(
        f"pyflink.datastream.connectors.file_system.{name} is not in Millrace yet; nearest: fewer and larger files by "
        "a longer checkpoint interval, a lower sink parallelism or RollingPolicy.default_rolling_policy(part_size=...)"
    )


class FileCompactStrategy:
    """When to compact. Not there yet: ``builder`` raises NotImplementedError.

        >>> FileCompactStrategy.builder()
        Traceback (most recent call last):
            ...
        NotImplementedError: pyflink.datastream.connectors.file_system.FileCompactStrategy is not in Millrace yet; ...
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise compaction_missing("FileCompactStrategy")

    @staticmethod
    def builder() -> NoReturn:
        """Not there: raises NotImplementedError."""
        raise compaction_missing("FileCompactStrategy")


class FileCompactor:
    """How to compact. Not there yet: its functions raise NotImplementedError.

        >>> FileCompactor.concat_file_compactor(b",")
        Traceback (most recent call last):
            ...
        NotImplementedError: pyflink.datastream.connectors.file_system.FileCompactor is not in Millrace yet; ...
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise compaction_missing("FileCompactor")

    @staticmethod
    def concat_file_compactor(file_delimiter: bytes | None = None) -> NoReturn:
        """Not there: raises NotImplementedError."""
        raise compaction_missing("FileCompactor")

    @staticmethod
    def identical_file_compactor() -> NoReturn:
        """Not there: raises NotImplementedError."""
        raise compaction_missing("FileCompactor")
