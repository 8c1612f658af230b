"""The class archive: where it is, and that a failure says so and leaves nothing behind. No JVM."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from millrace.spark.sessions import session


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Java that only knows its version, and a cache directory of its own."""
    home = tmp_path / "java"
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text("#!/bin/sh\necho 'openjdk version \"17.0.1\"' >&2\n")
    executable.chmod(executable.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return executable


def test_the_archive_lies_in_the_cache_and_depends_on_java(java: Path) -> None:
    first = session.archive_path()
    assert first.startswith(str(java.parents[2] / "cache" / "millrace"))
    java.write_text(java.read_text().replace("17.0.1", "21.0.1"))
    assert session.archive_path() != first


def test_options_only_with_an_archive(java: Path) -> None:
    assert session.archive_options() == ""
    path = Path(session.archive_path())
    path.parent.mkdir(parents=True)
    path.write_bytes(b"archive")
    assert f"-XX:SharedArchiveFile={path}" in session.archive_options()


def test_a_java_that_makes_none_is_an_error_and_leaves_nothing(java: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_TRAINING", "raise SystemExit('no classes today')")
    with pytest.raises(RuntimeError, match="no classes today"):
        session.make_archive()
    assert list(Path(session.archive_path()).parent.iterdir()) == []
