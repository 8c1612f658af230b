"""The folder of uploaded programs: names are checked, and no id leads to a file outside of it."""

from __future__ import annotations

import os
import re
import stat
import uuid
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from millrace.cluster.documents.cluster import ProgramDocument
from millrace.cluster.places import durable
from millrace.util.private_folder import make_private

SUFFIXES = (".py", ".pyz", ".zip", ".tar.gz", ".tgz")
"""what can be uploaded"""

_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}_[\w][\w.+() \-]{0,199}\Z")
_NAME = re.compile(r"[\w][\w.+() \-]{0,199}\Z")


class ProgramFolder:
    """Programs as files of a folder that only this user can read."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        make_private(str(self._path))

    def programs(self) -> Sequence[ProgramDocument]:
        """All that is there."""
        with os.scandir(self._path) as entries:
            files = [each for each in entries if _ID.match(each.name) and each.is_file(follow_symlinks=False)]
            return [self._describe(Path(each.path), each.stat(follow_symlinks=False)) for each in files]

    def upload(self, name: str, content: BinaryIO) -> ProgramDocument:
        """Keep a program under a new id. It is there as a whole or not at all.

        :raises ValueError: it can't be a program; the text says why.
        """
        name = re.split(r"[/\\]", name)[-1].strip()
        if not name.endswith(SUFFIXES):
            raise ValueError(f"Only Python programs and archives are allowed: {', '.join(SUFFIXES)}.")
        if not _NAME.match(name):
            raise ValueError("A program's name has letters, digits and ._-+() and begins with a letter or a digit.")
        if name.endswith((".zip", ".pyz")) and not zipfile.is_zipfile(content):
            raise ValueError(f"{name} is not a zip archive.")
        content.seek(0)
        path = self._path / f"{uuid.uuid4()}_{name}"
        durable.copy_file(content, str(path))
        return self._describe(path, path.lstat())

    def delete(self, id: str) -> bool:
        """Whether it was there."""
        path = self.path(id)
        if path is None:
            return False
        path.unlink(missing_ok=True)
        return True

    def path(self, id: str) -> Path | None:
        """The file of a program; None: there is none of this id."""
        if not _ID.match(id):
            return None
        path = self._path / id
        try:
            return path if stat.S_ISREG(path.lstat().st_mode) else None
        except OSError:
            return None

    def _describe(self, path: Path, found: os.stat_result) -> ProgramDocument:
        name = path.name.partition("_")[2]
        return ProgramDocument(path.name, name, int(found.st_mtime * 1000), _entry(path, name))


def _entry(path: Path, name: str) -> str | None:
    """What is run: the file itself, or what an archive has for that."""
    if name.endswith(".py"):
        return name
    if name.endswith((".zip", ".pyz")):
        try:
            with zipfile.ZipFile(path) as archive:
                return "__main__" if "__main__.py" in archive.namelist() else None
        except (OSError, zipfile.BadZipFile):
            return None
    return None
