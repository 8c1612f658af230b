"""The old import path of ``CheckpointFiles``, for programs with a checkpoint storage of their own."""

from millrace.common.state.storage import SCHEME, CheckpointFiles, own_uri

__all__ = ["CheckpointFiles", "SCHEME", "own_uri"]
