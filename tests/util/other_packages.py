"""Installed packages with entry points for Millrace, beside those that are really here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from millrace.util import plugins


def write_metadata(folder: Path, distribution: str, groups: Mapping[str, Mapping[str, str]]) -> None:
    """What an installer writes of a package of version 0.1.0: ``groups`` are group -> name -> ``module:Class``."""
    metadata = folder / f"{distribution.replace('-', '_')}-0.1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.3\nName: {distribution}\nVersion: 0.1.0\n", "utf-8")
    lines = [line for group, points in groups.items() for line in (f"[{group}]", *map(" = ".join, points.items()))]
    (metadata / "entry_points.txt").write_text("\n".join(lines), "utf-8")


@contextmanager
def other_package(folder: Path, group: str, name: str, value: str) -> Iterator[None]:
    """While the block runs, a package of another author is installed, which has this entry point."""
    write_metadata(folder, "of-another-author", {group: {name: value}})
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        plugins._installed.cache_clear()
        yield
    plugins._installed.cache_clear()
