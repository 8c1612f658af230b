"""Checkpoint files of a user's own, where programs have always imported them from."""

from millrace.common.state.storage import SCHEME, CheckpointFiles, own_uri

__all__ = ["CheckpointFiles", "SCHEME", "own_uri"]
