"""Which folders are refused because others could write to them."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.util.folders import NotPrivateError, check_file, check_shared, make_private, make_shared


@pytest.fixture(params=[0o000, 0o002, 0o022])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_folder_is_ours_alone_whatever_the_umask(umask: int, tmp_path: Path) -> None:
    make_private(str(tmp_path / "deep"))
    make_shared(str(tmp_path / "state"), trust=False)
    assert (mode(tmp_path / "deep"), mode(tmp_path / "state")) == (0o700, 0o700)


def test_a_trusted_folder_has_the_mode_of_the_umask(umask: int, tmp_path: Path) -> None:
    make_shared(str(tmp_path / "a" / "b"), trust=True)
    assert mode(tmp_path / "a" / "b") == 0o777 & ~umask


def test_relative_paths_and_folders_that_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make_private("mine")
    make_private("mine")
    assert mode(tmp_path / "mine") == 0o700


@pytest.mark.parametrize(
    ("rights", "who"), [(0o777, "everybody"), (0o702, "everybody"), (0o1777, "everybody"), (0o770, "the group")]
)
def test_folders_that_others_can_write_to_are_refused(rights: int, who: str, tmp_path: Path) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    folder.chmod(rights)
    os.chown(folder, -1, shared_group())
    for check in (make_private, check_shared, lambda path: make_shared(path, trust=False)):
        with pytest.raises(NotPrivateError, match=f"{folder} is not private: it can be written to by {who}"):
            check(str(folder))
    make_shared(str(folder), trust=True)


def test_who_may_rename_a_folder_may_put_another_one_there(tmp_path: Path) -> None:
    middle = tmp_path / "middle"
    inner = middle / "state"
    inner.mkdir(parents=True, mode=0o700)
    middle.chmod(0o777)
    with pytest.raises(NotPrivateError, match=f"{inner} is not private: {middle} above it can be written to by every"):
        check_shared(str(inner))
    middle.chmod(0o1777)  # as /tmp: only owners rename
    check_shared(str(inner))


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "link").symlink_to("open")
    with pytest.raises(NotPrivateError, match="everybody"):
        check_shared(str(tmp_path / "link"))


def test_folders_and_files_of_others_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives files to others")
    folder, file = tmp_path / "state", tmp_path / "state" / "_metadata"
    folder.mkdir()
    file.write_text("{}")
    os.chown(file, 12345, -1)
    check_shared(str(folder))
    with pytest.raises(NotPrivateError, match="it belongs to the user 12345, not to root"):
        check_file(str(file))
    os.chown(folder, 12345, -1)
    with pytest.raises(NotPrivateError, match=f"{folder} is not private: it belongs to the user 12345"):
        check_shared(str(folder))
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    check_file(str(file))  # to its owner it is fine, and so is what root has made
    os.chown(file, 0, 0)
    check_file(str(file))


def test_files_that_others_can_write_to_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    file.chmod(0o666)
    with pytest.raises(NotPrivateError, match=r"everybody \(mode 0666\)"):
        check_file(str(file))
    file.chmod(0o644)
    check_file(str(file))


def test_a_group_of_one_is_as_good_as_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = grp.struct_group((pwd.getpwuid(os.geteuid()).pw_name, "x", 4711, []))
    monkeypatch.setattr(grp, "getgrgid", lambda gid: alone)
    folder = tmp_path / "state"
    folder.mkdir()
    folder.chmod(0o775)
    check_shared(str(folder))
    joined = grp.struct_group((alone.gr_name, "x", 4711, ["somebody"]))
    monkeypatch.setattr(grp, "getgrgid", lambda gid: joined)
    with pytest.raises(NotPrivateError, match="can be written to by the group"):
        check_shared(str(folder))


def test_only_shared_directories_can_be_trusted(tmp_path: Path) -> None:
    """No option makes local scratch of others acceptable, so errors about it name none."""
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(NotPrivateError, match=r"executors of YARN.*millrace.state.trust-directory=true$"):
        make_shared(str(tmp_path / "open"), trust=False)
    with pytest.raises(NotPrivateError, match=r"choose another directory$"):
        make_private(str(tmp_path / "open"))


def shared_group() -> int:
    """A group that is not that of root or of this user alone, as far as this user may give files to it."""
    if os.geteuid() == 0:
        return 4711
    own = [gid for gid in os.getgroups() if gid and grp.getgrgid(gid).gr_name != pwd.getpwuid(os.geteuid()).pw_name]
    if not own:
        pytest.skip("this user is in no group with others")
    return own[0]
