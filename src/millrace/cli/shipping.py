"""Python files on their way to the workers: import paths for local ones, zip files for those of a cluster."""

from __future__ import annotations

import os
import shutil

import click

from millrace.spark.archives import FolderTooLargeError, zip_modules


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
    try:
        return zip_modules(folder, os.path.join(directory, f"{len(os.listdir(directory))}-{name}.zip"))
    except FolderTooLargeError as error:
        raise click.UsageError(
            f"{error}: keep the program in a folder of its own, or give --no-ship-folder and name what it imports "
            "with -pyfs"
        ) from error
