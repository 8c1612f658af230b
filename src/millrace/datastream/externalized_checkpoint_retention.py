"""``ExternalizedCheckpointRetention``, under PyFlink's path."""

from millrace.common.state.storage import ExternalizedCheckpointRetention

__all__ = ["ExternalizedCheckpointRetention"]
