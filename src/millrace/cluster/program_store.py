"""Uploaded programs of a cluster: files in a folder, submitted as the cluster's other programs are.

Names are checked, and no id leads to a file outside of the folder.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import time
import uuid
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from millrace.cluster import durable_files, job_folder, submissions
from millrace.cluster.control import Launch, LaunchError, NoEntryError
from millrace.cluster.documents import JobDocument, ProgramDocument
from millrace.cluster.submissions import SubmittedProgram, check_id, new_id, submit
from millrace.util.folders import make_private

SUFFIXES = (".py", ".pyz", ".zip", ".tar.gz", ".tgz")
"""suffixes of files that can be uploaded"""

_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}_[\w][\w.+() \-]{0,199}\Z")
_NAME = re.compile(r"[\w][\w.+() \-]{0,199}\Z")


class ProgramFolder:
    """Programs as files of a folder that only this user can read."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        make_private(str(self._path))

    def programs(self) -> Sequence[ProgramDocument]:
        """All uploaded programs."""
        with os.scandir(self._path) as entries:
            files = [each for each in entries if _ID.match(each.name) and each.is_file(follow_symlinks=False)]
            return [self._describe(Path(each.path), each.stat(follow_symlinks=False)) for each in files]

    def upload(self, name: str, content: BinaryIO) -> ProgramDocument:
        """Store a program atomically under a new id.

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
        durable_files.copy_file(content, str(path))
        return self._describe(path, path.lstat())

    def delete(self, id: str) -> bool:
        """Delete a program; returns whether it existed."""
        path = self.path(id)
        if path is None:
            return False
        path.unlink(missing_ok=True)
        return True

    def path(self, id: str) -> Path | None:
        """The file of a program; None if no program has this id."""
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
    """The entry point of a program: the file itself, or the file or module that the archive declares."""
    if name.endswith(".py"):
        return name
    if name.endswith((".zip", ".pyz")):
        try:
            with zipfile.ZipFile(path) as archive:
                return "__main__" if "__main__.py" in archive.namelist() else None
        except (OSError, zipfile.BadZipFile):
            return None
    return None


UPLOAD_DIRECTORY = "web.upload.dir"
UPLOADS = "flink-web-upload"
"""the folder in ``web.upload.dir``, as Flink calls it"""
PYTHON_DRIVER = "org.apache.flink.client.python.PythonDriver"
"""Flink's name for the entry class of all Python programs"""
START_SECONDS = 120.0
"""How long a program may take until its first job starts."""
LOOK_SECONDS = 0.05


class ClusterPrograms(ProgramFolder):
    """Programs in the folder of a cluster.

    :param plan_of: gives the job that a program would start; it gets the program's path, too.
    :param directory: where programs go, instead of the folder of the cluster.
    """

    def __init__(
        self, cluster: str, plan_of: Callable[[Launch, str], JobDocument], directory: str | None = None
    ) -> None:
        own = os.path.join(cluster, job_folder.PROGRAMS)
        super().__init__(own if directory is None else os.path.join(directory, UPLOADS))
        self._cluster = cluster
        self._plan_of = plan_of

    def plan(self, launch: Launch) -> JobDocument:
        return self._plan_of(launch, self._found(launch))

    def run(self, launch: Launch) -> str:
        path = self._found(launch)
        check_savepoint(launch.savepoint)
        try:
            id = check_id(launch.job_id) if launch.job_id else new_id()
        except ValueError as error:
            raise LaunchError(str(error)) from None
        if job_folder.place_of(self._cluster, id) is None:
            kept = job_folder.keep_program(self._cluster, id, path)
            submit(self._cluster, submission_of(launch, id, kept, os.path.dirname(path)))
        return self._begun(id)

    def _begun(self, id: str) -> str:
        """Wait until the program has a job, or has ended."""
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            program = job_folder.place_of(self._cluster, id)
            outcome = None if program is None else submissions.read_outcome(program)
            if program is not None and job_folder.read_documents(program):
                return id
            if outcome is not None and outcome.exit_code:
                log = os.path.join(self._cluster, job_folder.LOGS, f"{id}.log")
                text = outcome.text or job_folder.tail(log)
                raise LaunchError(text or f"it has ended with exit code {outcome.exit_code}")
            if outcome is not None:
                raise LaunchError("the program has ended without executing a job")
            time.sleep(LOOK_SECONDS)
        raise LaunchError(f"the program has not begun a job for {START_SECONDS:g} s; its id is {id}")

    def _found(self, launch: Launch) -> str:
        path = self.path(launch.program)
        if path is None:
            raise LaunchError(f"there is no program {launch.program!r}")
        if path.suffix == ".py" and launch.entry is not None and launch.entry not in (path_entry(path), PYTHON_DRIVER):
            raise NoEntryError(
                f"The program's entry point class '{launch.entry}' was not found: {path_entry(path)} is run as a whole."
            )
        return str(path)


def path_entry(path: Path) -> str:
    """The entry point of an uploaded Python file: the file itself, under its own name."""
    return path.name.partition("_")[2]


def check_savepoint(path: str | None) -> None:
    """Refuse a savepoint path of this machine that does not exist, before anything is started."""
    local = (path or "").removeprefix("file:")
    if local.startswith("/") and not os.path.exists("/" + local.lstrip("/")):
        raise LaunchError(f"Cannot find checkpoint or savepoint file/directory '{path}' on file system 'file'.")


def submission_of(launch: Launch, id: str, path: str, directory: str) -> SubmittedProgram:
    """The submission for a launch, with its directory: of a Python file, or of a module of an archive."""
    from millrace.datastream.settings import CLAIM_MODE, IGNORE_UNCLAIMED, PATH

    options: dict[str, object] = {"properties": sorted(launch.configuration.items())}
    if launch.parallelism is not None:
        options["parallelism"] = launch.parallelism
    if path.endswith(".py"):
        options["python"] = path
    else:
        options["files"] = [path]
        options["module"] = launch.entry or "__main__"
    restore = {
        PATH: launch.savepoint,
        IGNORE_UNCLAIMED: "true" if launch.allow_non_restored else None,
        CLAIM_MODE: launch.claim_mode.lower() if launch.claim_mode else None,
    }
    return SubmittedProgram(
        id,
        directory,
        os.path.basename(path).partition("_")[2],
        {**options, "words": list(launch.arguments), "pyflink": True},
        tuple((key, value) for key, value in restore.items() if value is not None),
        dict(os.environ),
        tuple(each for each in sys.path if each),
        sys.prefix,
        submitted=time.time_ns() // 1_000_000,
    )
