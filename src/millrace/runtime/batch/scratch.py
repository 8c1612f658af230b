"""Where a task puts for a while what does not fit into memory."""

from __future__ import annotations

import os
import tempfile
from typing import BinaryIO, cast

ENVIRONMENT = "SPARK_LOCAL_DIRS"
"""Spark tells its Python workers where its own shuffle files are: a disk that was chosen for such things."""


def scratch_file() -> BinaryIO:
    """A new file without a name, on the disk for temporary data: it is gone when it is closed, or the process is."""
    places = [place for place in os.environ.get(ENVIRONMENT, "").split(",") if os.access(place, os.W_OK)]
    return cast(BinaryIO, tempfile.TemporaryFile(dir=places[0] if places else None))
