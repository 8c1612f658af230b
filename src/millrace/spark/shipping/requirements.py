"""Installs the packages of a requirements.txt, once, for all jobs that have the same one."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile

from millrace.datastream.settings.dependencies import Requirements
from millrace.spark.user_cache import user_cache
from millrace.util.private_folder import make_private

SHOWN_LINES = 15
"""Lines of pip's output that an error shows."""


class RequirementsError(RuntimeError):
    """The packages can't be installed; the text ends with what pip says."""


def install(requirements: Requirements, python: str | None = None) -> str:
    """The folder with the packages, for the interpreter ``python``; made by pip if it is not there yet.

    The folder is found again by the text of the requirements and the packages beside them: what pip chose for a
    package without a version stays until the folder is deleted.
    """
    interpreter = python if python is not None and os.path.isfile(python) else sys.executable
    folder = user_cache("requirements", _key(requirements, interpreter))
    make_private(os.path.dirname(folder))  # before anything is imported from there
    if os.path.isdir(folder):
        return folder
    temporary = tempfile.mkdtemp(prefix="installing-", dir=os.path.dirname(folder))
    try:
        _pip(requirements, interpreter, temporary)
        try:
            os.rename(temporary, folder)
        except OSError:
            if not os.path.isdir(folder):  # somebody else was faster
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return folder


def _pip(requirements: Requirements, interpreter: str, target: str) -> None:
    command = [interpreter, "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--no-warn-conflicts"]
    command += ["--target", target, "--requirement", requirements.path]
    if requirements.packages is not None:
        command += ["--no-index", "--find-links", requirements.packages]
    # Paths in a requirements file are relative to where pip runs, for everybody who runs it beside the file.
    folder = os.path.dirname(requirements.path)
    done = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode:
        said = "\n".join(f"  {line}" for line in done.stdout.strip().splitlines()[-SHOWN_LINES:])
        raise RequirementsError(f"{requirements.origin}: pip can't install {requirements.path}:\n{said}")


def _key(requirements: Requirements, interpreter: str) -> str:
    with open(requirements.path, "rb") as file:
        parts = [file.read(), f"{os.path.realpath(interpreter)} {sys.version}".encode()]
    if requirements.packages is not None:
        for entry in sorted(os.scandir(requirements.packages), key=lambda entry: entry.name):
            found = entry.stat()
            parts.append(f"{entry.name} {found.st_size} {found.st_mtime_ns}".encode())
    return hashlib.sha256(b"\n".join(parts)).hexdigest()[:24]
