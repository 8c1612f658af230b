"""Rolling policies: when a part file is finished and the next one begun."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

__all__ = [
    "CheckpointRollingPolicy",
    "DefaultRollingPolicy",
    "OnCheckpointRollingPolicy",
    "PartFileInfo",
    "RollingPolicy",
]


class PartFileInfo(ABC):
    """What a policy may know about the open part file of a bucket.

        >>> class Large(CheckpointRollingPolicy):
        ...     def should_roll_on_event(self, part_file_state, element):
        ...         return part_file_state.get_size() > 1_000_000
        ...     def should_roll_on_processing_time(self, part_file_state, current_time):
        ...         return False
    """

    bucket_id: str
    creation_time: int
    """ms since the epoch."""
    last_update_time: int
    """When the last element was written, ms since the epoch."""
    size: int
    """Bytes written so far."""

    def get_bucket_id(self) -> str:
        """The bucket that the file belongs to."""
        return self.bucket_id

    def get_creation_time(self) -> int:
        """When the file was begun, in ms since 1970."""
        return self.creation_time

    def get_last_update_time(self) -> int:
        """When the file was last written to, in ms since 1970."""
        return self.last_update_time

    def get_size(self) -> int:
        """How many bytes the file has so far."""
        return self.size


class RollingPolicy(ABC):
    """Decides when to finish a part file; subclass it for rules of your own.

        >>> policy = RollingPolicy.default_rolling_policy(part_size=1_000_000, rollover_interval=60_000)
        >>> sink = FileSink.for_row_format("out", Encoder.simple_string_encoder()).with_rolling_policy(policy).build()
    """

    @abstractmethod
    def should_roll_on_checkpoint(self, part: PartFileInfo) -> bool:
        """Asked at the end of each epoch."""

    @abstractmethod
    def should_roll_on_event(self, part: PartFileInfo, element: Any) -> bool:
        """Asked before ``element`` is written: finish the part and write it to a new one?"""

    @abstractmethod
    def should_roll_on_processing_time(self, part: PartFileInfo, current_time: int) -> bool:
        """Asked when the sink's bucket check interval (ms) has passed, also while nothing comes."""

    @staticmethod
    def default_rolling_policy(
        part_size: int = 1024 * 1024 * 128, rollover_interval: int = 60_000, inactivity_interval: int = 60_000
    ) -> DefaultRollingPolicy:
        """Roll a part that exceeds ``part_size`` bytes, is older than ``rollover_interval`` ms or has not been written
        to for ``inactivity_interval`` ms.

        :raises ValueError: if one of them is not positive.
        """
        return DefaultRollingPolicy(part_size, rollover_interval, inactivity_interval)

    @staticmethod
    def on_checkpoint_rolling_policy() -> OnCheckpointRollingPolicy:
        """Roll at the end of every epoch, and only then."""
        return OnCheckpointRollingPolicy()


class DefaultRollingPolicy(RollingPolicy):
    """By size, age and inactivity; see ``RollingPolicy.default_rolling_policy``.

        >>> policy = RollingPolicy.default_rolling_policy()
        >>> policy.part_size, policy.rollover_interval
        (134217728, 60000)
    """

    def __init__(self, part_size: int, rollover_interval: int, inactivity_interval: int) -> None:
        for name, value in (
            ("part_size", part_size),
            ("rollover_interval", rollover_interval),
            ("inactivity_interval", inactivity_interval),
        ):
            if value <= 0:
                raise ValueError(f"{name} must be positive, got {value}")
        self.part_size = part_size
        self.rollover_interval = rollover_interval
        self.inactivity_interval = inactivity_interval

    def should_roll_on_checkpoint(self, part: PartFileInfo) -> bool:
        return part.size > self.part_size

    def should_roll_on_event(self, part: PartFileInfo, element: Any) -> bool:
        return part.size > self.part_size

    def should_roll_on_processing_time(self, part: PartFileInfo, current_time: int) -> bool:
        return (
            current_time - part.creation_time >= self.rollover_interval
            or current_time - part.last_update_time >= self.inactivity_interval
        )


class CheckpointRollingPolicy(RollingPolicy):
    """Base of the policies that always roll at the end of an epoch: the only ones for bulk formats.

        >>> issubclass(OnCheckpointRollingPolicy, CheckpointRollingPolicy)
        True
    """

    def should_roll_on_checkpoint(self, part: PartFileInfo) -> bool:
        return True


class OnCheckpointRollingPolicy(CheckpointRollingPolicy):
    """Rolls at the end of every epoch, and only then.

        >>> isinstance(RollingPolicy.on_checkpoint_rolling_policy(), OnCheckpointRollingPolicy)
        True
    """

    def should_roll_on_event(self, part: PartFileInfo, element: Any) -> bool:
        return False

    def should_roll_on_processing_time(self, part: PartFileInfo, current_time: int) -> bool:
        return False
