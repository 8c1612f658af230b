"""Flink's web pages, out of the distribution of the comparison environment."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

VENV = "FLINK_VENV"
"""environment variable with the folder of the environment that has apache-flink"""


def distribution() -> Path | None:
    """The jar that the pages lie in; None: the comparison environment is not installed."""
    root = os.environ.get(VENV)
    if not root:
        return None
    return next(Path(root).glob("lib/python*/site-packages/pyflink/lib/flink-dist-*.jar"), None)


def unpack(jar: Path, folder: Path) -> Path:
    """Unpacks the pages; the folder that they are in then."""
    with zipfile.ZipFile(jar) as archive:
        archive.extractall(folder, [name for name in archive.namelist() if name.startswith("web/")])
    return folder / "web"
