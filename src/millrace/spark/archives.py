"""Folders of Python modules as zip files."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator

MAX_FILES = 2_000
MAX_BYTES = 20 * 1024 * 1024


class FolderTooLargeError(ValueError):
    """The folder holds more modules than belong to one program."""

    def __init__(self, folder: str) -> None:
        super().__init__(
            f"{folder} holds too many Python files to send to the workers (over {MAX_FILES} files or "
            f"{MAX_BYTES >> 20} MB)"
        )


def zip_modules(folder: str, target: str) -> str:
    """All modules of a program that can be imported from ``folder``, as the zip file ``target``.

    Raises ``FolderTooLargeError`` rather than shipping somebody's home directory.
    """
    size = 0
    for count, file in enumerate(_modules(folder), start=1):
        size += os.path.getsize(file)
        if count > MAX_FILES or size > MAX_BYTES:
            raise FolderTooLargeError(folder)
    return zip_package(folder, target)


def zip_package(folder: str, target: str, prefix: str = "") -> str:
    """All modules of a folder, however many, as the zip file ``target``; ``prefix`` is a folder in it."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in _modules(folder):
            archive.write(file, os.path.join(prefix, os.path.relpath(file, folder)))
    return target


def _modules(folder: str) -> Iterator[str]:
    """The .py files below a folder that ``import`` can reach, without virtual environments."""
    for current, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if _is_package(current, name))
        for name in sorted(names):
            if name.endswith(".py"):
                yield os.path.join(current, name)


def _is_package(parent: str, name: str) -> bool:
    if not name.isidentifier() or name == "__pycache__":
        return False
    return not os.path.exists(os.path.join(parent, name, "pyvenv.cfg"))
