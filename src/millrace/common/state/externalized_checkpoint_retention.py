"""What happens to the last checkpoints when a job is cancelled."""

from __future__ import annotations

from enum import Enum

__all__ = ["ExternalizedCheckpointRetention"]


class ExternalizedCheckpointRetention(Enum):
    """Whether checkpoints outlive the job that wrote them.

        >>> config = env.get_checkpoint_config()
        >>> _ = config.set_externalized_checkpoint_retention(ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION)
    """

    DELETE_ON_CANCELLATION = 0
    """Kept when the job fails, deleted when it is cancelled."""

    RETAIN_ON_CANCELLATION = 1
    """Kept in both cases; the user deletes them."""

    NO_EXTERNALIZED_CHECKPOINTS = 2
    """Checkpoints serve only the recovery of the running job."""
