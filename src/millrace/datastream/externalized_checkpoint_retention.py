"""What happens to the last checkpoints of a cancelled job, under PyFlink's path."""

from millrace.common.state.storage import ExternalizedCheckpointRetention

__all__ = ["ExternalizedCheckpointRetention"]
