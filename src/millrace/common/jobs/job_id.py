"""The identifier of a job."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass

__all__ = ["JobID"]

_HEX = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class JobID:
    """32 hexadecimal characters; raises ``ValueError`` on anything else.

        >>> len(str(JobID.generate()))
        32
    """

    value: str

    def __post_init__(self) -> None:
        if not isinstance(self.value, str) or not _HEX.fullmatch(self.value):
            raise ValueError(f"a JobID has 32 lower-case hexadecimal characters, got {self.value!r}")

    @staticmethod
    def generate() -> JobID:
        """A new random id."""
        return JobID(uuid.uuid4().hex)

    def __str__(self) -> str:
        return self.value
