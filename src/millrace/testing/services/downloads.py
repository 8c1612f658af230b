"""Downloads the jars and archives of servers from Maven Central once, into a cache. Jars come by the Ivy inside
PySpark."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from xml.sax.saxutils import quoteattr

from millrace.testing.services.server import ServiceUnavailable

FETCH_SECONDS = 600
_MODULE = """<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="millrace" module="{name}"/><dependencies>{wanted}</dependencies>
</ivy-module>"""
_WANTED = '<dependency org={org} name={name} rev={rev} conf="default->default"/>'
_WANTED_ALONE = """<dependency org={org} name={name} rev={rev} conf="default->default" transitive="false">
  <artifact name={name} type="jar" ext="jar" m:classifier={classifier}/></dependency>"""


def cache_folder() -> Path:
    """The folder of the cache: MILLRACE_SERVICES, or ~/.cache/millrace."""
    named = os.environ.get("MILLRACE_SERVICES")
    return Path(named) if named else Path.home() / ".cache" / "millrace"


def java() -> str:
    """The program ``java``.

    :raises ServiceUnavailable: there is none.
    """
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin") if home else None
    found = found or shutil.which("java")
    if found is None:
        raise ServiceUnavailable("there is no Java: install a JDK 17 (Debian/Ubuntu: `apt-get install default-jre`)")
    return found


def jars(name: str, *coordinates: str) -> Path:
    """A folder with these artifacts (``group:name:version``) and all that they need.

    One with a classifier (``group:name:version:tests``) comes alone.

    :param name: of the server, for the folder and for messages.
    :raises ServiceUnavailable: they cannot be fetched.
    """
    mark = hashlib.sha256(" ".join(coordinates).encode()).hexdigest()[:12]
    folder = cache_folder() / "jars" / f"{name}-{mark}"
    with alone(folder):
        if not folder.exists():
            _fetch_jars(name, coordinates, folder)
    return folder


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """A lock across processes: several test processes begin together."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f".{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch_jars(name: str, coordinates: tuple[str, ...], folder: Path) -> None:
    spec = find_spec("pyspark")
    ivy = sorted(Path(spec.origin).parent.glob("jars/ivy-*.jar")) if spec is not None and spec.origin else []
    if not ivy:
        raise ServiceUnavailable(f"{name}: PySpark, whose Ivy fetches its jars, is not installed")
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        made, module = Path(temporary) / "jars", Path(temporary) / "ivy.xml"
        module.write_text(_MODULE.format(name=name, wanted="".join(map(_wanted, coordinates))))
        pattern = f"{made}/[artifact]-[revision](-[classifier]).[ext]"
        command = [java(), "-jar", str(ivy[-1]), "-cache", str(cache_folder() / "ivy"), "-ivy", str(module)]
        command += ["-retrieve", pattern, "-types", "jar", "bundle"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise ServiceUnavailable(f"{name}: its jars did not come from Maven Central in {FETCH_SECONDS} s") from None
        if done.returncode != 0 or "UNRESOLVED" in done.stdout or not made.is_dir():
            said = (done.stdout + done.stderr)[-1_000:]
            raise ServiceUnavailable(f"{name}: its jars cannot be fetched from Maven Central:\n{said}")
        made.rename(folder)


def _wanted(coordinate: str) -> str:
    org, name, rev, *classifier = map(quoteattr, coordinate.split(":"))
    if not classifier:
        return _WANTED.format(org=org, name=name, rev=rev)
    return _WANTED_ALONE.format(org=org, name=name, rev=rev, classifier=classifier[0])


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
            _fetch_archive(name, f"{CENTRAL}/{path}", folder)
    return folder


def _fetch_archive(name: str, url: str, folder: Path) -> None:
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
