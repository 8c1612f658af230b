"""Python files on their way to the workers: import paths for local ones, zip files for those of a cluster."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Iterator

import click

MAX_FILES = 2_000
MAX_BYTES = 20 * 1024 * 1024


def import_path(entry: str) -> str:
    """What to add to ``sys.path`` so that a file or folder of ``-pyfs`` can be imported."""
    path = os.path.abspath(entry.removeprefix("file://"))
    if not os.path.exists(path):
        raise click.UsageError(f"no such Python file or folder (-pyfs): {entry}")
    return os.path.dirname(path) if path.endswith(".py") else path


def shippable(entry: str, directory: str) -> str:
    """A file or folder of ``-pyfs`` in a form that Spark's executors import from; made in ``directory``."""
    path = os.path.abspath(entry.removeprefix("file://"))
    if os.path.isdir(path):
        return zip_folder(path, directory)
    if path.endswith(".whl"):
        # Spark puts only .zip, .egg and .jar on the import path; a wheel of pure Python is a zip file.
        return shutil.copy(path, os.path.join(directory, f"{os.path.basename(path)}.zip"))
    return path


def zip_folder(folder: str, directory: str) -> str:
    """All modules that can be imported from ``folder``, as a zip file in ``directory``."""
    name = os.path.basename(folder) or "root"
    target = os.path.join(directory, f"{len(os.listdir(directory))}-{name}.zip")
    size = 0
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for count, file in enumerate(_modules(folder), start=1):
            size += os.path.getsize(file)
            if count > MAX_FILES or size > MAX_BYTES:
                raise click.UsageError(
                    f"{folder} holds too many Python files to send to the workers (over {MAX_FILES} files or "
                    f"{MAX_BYTES >> 20} MB): keep the program in a folder of its own, or give --no-ship-folder and "
                    "name what it imports with -pyfs"
                )
            archive.write(file, os.path.relpath(file, folder))
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
