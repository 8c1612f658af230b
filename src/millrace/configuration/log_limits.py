"""How much of logs is kept, and where: ``env.log.max`` and the like."""

from __future__ import annotations

from collections.abc import Mapping

from millrace.common.config_values import to_bytes_count, to_int
from millrace.util.log_rotation import LogLimits

DIRECTORY = "env.log.dir"
OLDER_FILES = "env.log.max"
FILE_BYTES = "millrace.log.max-file-size"


def log_limits(configuration: Mapping[str, str]) -> LogLimits:
    """What ``env.log.max`` and ``millrace.log.max-file-size`` say.

    :raises ValueError: one of them is nonsense.
    """
    older, size = configuration.get(OLDER_FILES), configuration.get(FILE_BYTES)
    found = LogLimits(
        LogLimits.file_bytes if size is None else to_bytes_count(size),
        LogLimits.older_files if older is None else to_int(older),
    )
    if found.file_bytes < 1 or found.older_files < 0:
        raise ValueError(f"{FILE_BYTES} must be a byte at least, {OLDER_FILES} not less than 0")
    return found
