"""Python files on their way to the workers."""

from __future__ import annotations

import os

import click

from millrace.spark.archives import FolderTooLargeError, zip_modules


def python_file(entry: str) -> str:
    """The absolute path of a file or folder of ``-pyfs``. Raises click's error if there is none."""
    path = os.path.abspath(entry.removeprefix("file://"))
    if not os.path.exists(path):
        raise click.UsageError(f"no such Python file or folder (-pyfs): {entry}")
    return path


def zip_folder(folder: str, directory: str) -> str:
    """All modules that can be imported from ``folder``, as a zip file in ``directory``."""
    name = os.path.basename(folder) or "root"
    try:
        return zip_modules(folder, os.path.join(directory, f"{len(os.listdir(directory))}-{name}.zip"))
    except FolderTooLargeError as error:
        raise click.UsageError(
            f"{error}: keep the program in a folder of its own, or give --no-ship-folder and name what it imports "
            "with -pyfs"
        ) from error
