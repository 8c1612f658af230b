"""What no archive can do: leave its folder, or fill the disk."""

from __future__ import annotations

import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from millrace.spark import archives
from millrace.spark.archives import ArchiveError, unpack

Entry = tuple[str, str, str]
"""(name, what it is: one of KINDS, content or target)"""

KINDS = {
    "file": (tarfile.REGTYPE, stat.S_IFREG),
    "link": (tarfile.SYMTYPE, stat.S_IFLNK),
    "folder": (tarfile.DIRTYPE, stat.S_IFDIR),
    "pipe": (tarfile.FIFOTYPE, stat.S_IFIFO),
    "device": (tarfile.CHRTYPE, stat.S_IFCHR),
    "hard link": (tarfile.LNKTYPE, None),
}


def tar_of(path: Path, entries: list[Entry]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, kind, text in entries:
            info = tarfile.TarInfo(name)
            info.type, _ = KINDS[kind]
            if kind == "file":
                info.size = len(text)
            else:
                info.linkname = text
            archive.addfile(info, io.BytesIO(text.encode()))
    return path


def zip_of(path: Path, entries: list[Entry]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, kind, text in entries:
            info = zipfile.ZipInfo(name + "/" * (kind == "folder"))
            info.create_system, info.compress_type = 3, zipfile.ZIP_DEFLATED
            mode = KINDS[kind][1]
            assert mode is not None, "zip files have none"
            info.external_attr = (mode | 0o644) << 16
            archive.writestr(info, text)
    return path


LEAVING: list[tuple[list[Entry], str]] = [
    ([("../evil", "file", "x")], "../evil"),
    ([("a/../../evil", "file", "x")], "a/../../evil"),
    ([("/tmp/evil", "file", "x")], "/tmp/evil"),
    ([("link", "link", "/etc")], "link"),
    ([("link", "link", "../outside")], "link"),
    ([("a/link", "link", "../../outside")], "a/link"),
    ([("link", "link", "..")], "link"),
    ([("link", "link", ".."), ("link/evil", "file", "x")], "link"),
    # Each of these links looks as if it stayed inside; together they don't.
    ([("d", "folder", ""), ("d/e", "link", ".."), ("x", "link", "d/e/../..")], "x"),
    ([("x", "link", "d/e/../.."), ("d", "folder", ""), ("d/e", "link", "..")], "x"),
    ([("pipe", "pipe", "")], "pipe"),
    ([("device", "device", "")], "device"),
]


@pytest.mark.parametrize("make", [tar_of, zip_of])
@pytest.mark.parametrize(("entries", "culprit"), LEAVING)
def test_what_leaves_is_refused_by_name(
    make: Callable[[Path, list[Entry]], Path], entries: list[Entry], culprit: str, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    path = make(tmp_path / "archive", [("good.txt", "file", "good"), *entries])
    with pytest.raises(ArchiveError, match=rf"archive is not unpacked: its member '{culprit}' is "):
        unpack(str(path), str(tmp_path / "target" / "unpacked"))
    assert sorted(os.listdir(tmp_path)) == ["archive", "outside", "target"]
    assert os.listdir(tmp_path / "target") == os.listdir(outside) == []  # what was unpacked already is gone


@pytest.mark.parametrize(
    ("target", "why"), [("../outside", "leaves"), ("/etc/passwd", "leaves"), ("later", "no file before it")]
)
def test_hard_links_of_tar_files_stay_inside(target: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("secret")
    path = tar_of(tmp_path / "a.tar", [("name", "hard link", target), ("later", "file", "x")])
    with pytest.raises(ArchiveError, match=f"member 'name' is .*{why}"):
        unpack(str(path), str(tmp_path / "unpacked"))


def test_a_hard_link_through_a_link_that_leaves(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("secret")
    entries = [("d/e", "link", ".."), ("out", "link", "d/e/../.."), ("name", "hard link", "out/outside")]
    with pytest.raises(ArchiveError, match="member 'name' is a link that leaves"):
        unpack(str(tar_of(tmp_path / "a.tar", [("d", "folder", ""), *entries])), str(tmp_path / "unpacked"))


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("make", [tar_of, zip_of])
def test_links_within_are_kept(make: Callable[[Path, list[Entry]], Path], tmp_path: Path) -> None:
    entries = [
        ("./lib/python/a.py", "file", "A = 1"),
        ("lib64", "link", "lib"),
        ("lib64/python/b.py", "file", "B = 2"),  # through the link, as `tar` does it
        ("deep/er/up", "link", "../../lib/python"),
        ("missing", "link", "lib/not-there"),
        ("twice", "file", "first"),
        ("twice", "link", "lib/python/a.py"),
        ("twice", "file", "second"),  # takes the place of the link, not of what that shows
    ]
    unpack(str(make(tmp_path / "archive", entries)), str(tmp_path / "unpacked"))
    unpacked = tmp_path / "unpacked"
    assert (unpacked / "deep" / "er" / "up" / "b.py").read_text() == "B = 2"
    assert (unpacked / "lib" / "python" / "a.py").read_text() == "A = 1"
    assert (unpacked / "twice").read_text() == "second"
    assert os.readlink(unpacked / "missing") == "lib/not-there"
    assert stat.S_IMODE(unpacked.stat().st_mode) == 0o700


def test_hard_links_within_are_kept(tmp_path: Path) -> None:
    entries = [("bin/python3", "file", "#!"), ("bin/python", "hard link", "bin/python3")]
    unpack(str(tar_of(tmp_path / "a.tar", entries)), str(tmp_path / "unpacked"))
    bin = tmp_path / "unpacked" / "bin"
    assert (bin / "python").samefile(bin / "python3")


def test_nobody_gets_the_rights_of_another(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        info = tarfile.TarInfo("tool")
        info.mode = 0o6755
        archive.addfile(info, io.BytesIO())
    unpack(str(tmp_path / "a.tar"), str(tmp_path / "unpacked"))
    assert stat.S_IMODE((tmp_path / "unpacked" / "tool").stat().st_mode) == 0o755


@pytest.mark.parametrize("make", [tar_of, zip_of])
def test_bombs(make: Callable[[Path, list[Entry]], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "UNSUSPICIOUS_BYTES", 1 << 20)
    path = make(tmp_path / "bomb", [(f"zeros-{n}", "file", "\0" * (1 << 20)) for n in range(12)])
    with pytest.raises(ArchiveError, match=r"bomb becomes more than [0-9,]+ bytes \(250 times its own size.*'zeros-"):
        unpack(str(path), str(tmp_path / "unpacked"))
    monkeypatch.setattr(archives, "UNSUSPICIOUS_BYTES", 1 << 30)
    unpack(str(path), str(tmp_path / "unpacked"))
    monkeypatch.setattr(archives, "MAX_BYTES", 3 << 20)
    with pytest.raises(ArchiveError, match="it stops at 'zeros-3'"):
        unpack(str(path), str(tmp_path / "again"))
    monkeypatch.setattr(archives, "MAX_MEMBERS", 3)
    with pytest.raises(ArchiveError, match="has more than 3 members"):
        unpack(str(make(tmp_path / "many", [(f"{n}", "file", "") for n in range(4)])), str(tmp_path / "many-unpacked"))
