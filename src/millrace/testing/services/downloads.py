"""Archives of servers from Maven Central, fetched once and unpacked."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

from millrace.testing.services.jars import alone, cache_folder
from millrace.testing.services.problems import ServiceUnavailable

CENTRAL = "https://repo1.maven.org/maven2"
ANSWER_SECONDS = 60


def unpacked(name: str, path: str) -> Path:
    """The folder that an archive holds.

    :param name: of the server, for messages.
    :param path: of the archive (``.tar.gz``) below Maven Central.
    :raises ServiceUnavailable: it cannot be fetched.
    """
    folder = cache_folder() / "archives" / path.rpartition("/")[2].removesuffix(".tar.gz")
    with alone(folder):
        if not folder.exists():
            _fetch(name, f"{CENTRAL}/{path}", folder)
    return folder


def _fetch(name: str, url: str, folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        archive, made = Path(temporary) / "archive.tar.gz", Path(temporary) / "unpacked"
        try:
            with urllib.request.urlopen(url, timeout=ANSWER_SECONDS) as answer, archive.open("wb") as file:
                shutil.copyfileobj(answer, file)
        except (urllib.error.URLError, OSError) as error:
            raise ServiceUnavailable(f"{name}: {url} cannot be fetched: {error}") from error
        with tarfile.open(archive) as packed:
            packed.extractall(made, filter="data")
        made.rename(folder)
