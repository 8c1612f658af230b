"""The JVM options that use an archive of classes."""

from __future__ import annotations

QUIET = "-Xlog:disable -Xlog:all=error:stderr"
"""Java reports every class that it leaves out, on standard output."""


def class_options(path: str) -> str:
    """Options for a JVM that maps the classes of an archive."""
    return f"-XX:SharedArchiveFile={path} {QUIET}"
