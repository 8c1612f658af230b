"""What Spark's launcher is given: a file that only this user reads. Every user of a machine sees command lines."""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import tempfile
from collections.abc import Iterator, Mapping

from millrace.spark.sessions.settings import one_machine, one_process
from millrace.spark.standalone.daemons import SECRET, as_file, closed_pages

_ARGUMENTS, _SHELL = "PYSPARK_SUBMIT_ARGS", "pyspark-shell"
_FILE, _DEFAULTS = "--properties-file", "--load-spark-defaults"


def secret_settings(master: str, settings: Mapping[str, str]) -> dict[str, str]:
    """The secret of a session that has several processes on this machine, and what closes the pages of its master.

    Where all is one process, Spark makes a secret itself."""
    if one_process(master) or not one_machine(master):
        return {}
    found = {}
    if _says(settings, "spark.authenticate") and SECRET not in settings:
        found[SECRET] = secrets.token_urlsafe(32)
    if not _says(settings, "spark.ui.enabled") and "spark.ui.filters" not in settings:
        # Its master and workers have pages even so.
        found |= closed_pages()
    return found


def _says(settings: Mapping[str, str], key: str) -> bool:
    return settings.get(key, "").lower() == "true"


@contextlib.contextmanager
def told_in_a_file(settings: Mapping[str, str]) -> Iterator[None]:
    """A launcher that starts inside finds the settings, on top of what the environment tells it already."""
    before = os.environ.get(_ARGUMENTS)
    words = shlex.split(before) if before else [_SHELL]
    with tempfile.NamedTemporaryFile("w", prefix="millrace-spark-", suffix=".conf", encoding="utf-8") as file:
        file.write(_without_file(words) + as_file(settings))
        file.flush()
        given = [_FILE, file.name, *([] if _DEFAULTS in words else [_DEFAULTS]), *words]
        os.environ[_ARGUMENTS] = shlex.join(given)
        try:
            yield
        finally:
            if before is None:
                del os.environ[_ARGUMENTS]
            else:
                os.environ[_ARGUMENTS] = before


def _without_file(words: list[str]) -> str:
    """What the file says that is named already, which is taken out: Spark reads one only."""
    if _FILE not in words[:-1]:
        return ""
    place = words.index(_FILE)
    with open(words[place + 1], encoding="utf-8") as file:
        text = file.read()
    del words[place : place + 2]
    return f"{text}\n"
