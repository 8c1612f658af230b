"""``OutputFileConfig``: the names of part files."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["OutputFileConfig", "OutputFileConfigBuilder"]


@dataclass(frozen=True)
class OutputFileConfig:
    """Prefix and suffix in ``<prefix>-<uid>-<subtask>-<n><suffix>``.

        >>> config = OutputFileConfig.builder().with_part_prefix("orders").with_part_suffix(".txt").build()
        >>> config.get_part_prefix(), config.get_part_suffix()
        ('orders', '.txt')
    """

    part_prefix: str = "part"
    part_suffix: str = ""

    @staticmethod
    def builder() -> OutputFileConfigBuilder:
        """Begins a configuration; ``build()`` ends it."""
        return OutputFileConfigBuilder()

    def get_part_prefix(self) -> str:
        """How the names of files begin."""
        return self.part_prefix

    def get_part_suffix(self) -> str:
        """How the names of files end."""
        return self.part_suffix


class OutputFileConfigBuilder:
    """Builds an ``OutputFileConfig``; by default the prefix is ``part`` and the suffix is empty."""

    def __init__(self) -> None:
        self.part_prefix = "part"
        self.part_suffix = ""

    def with_part_prefix(self, prefix: str) -> OutputFileConfigBuilder:
        self.part_prefix = prefix
        return self

    def with_part_suffix(self, suffix: str) -> OutputFileConfigBuilder:
        self.part_suffix = suffix
        return self

    def build(self) -> OutputFileConfig:
        return OutputFileConfig(self.part_prefix, self.part_suffix)


OutputFileConfig.OutputFileConfigBuilder = OutputFileConfigBuilder  # type: ignore[attr-defined]
