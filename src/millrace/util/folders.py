"""Private folders, which only their user can write to, and temporary folders of a process.

Files in a private folder may be unpickled, which runs code. A folder is safe if it belongs to this user or to root, and
neither others nor a group of several people can write to it. The same must hold for the folders above it, since a user
who may rename a folder may put another one in its place; a sticky bit, as that of /tmp, prevents this.

A process that is killed leaves its temporary files behind, and so does its JVM. These lie in folders that name the
process, so the next process recognizes and removes them.
"""

from __future__ import annotations

import atexit
import contextlib
import grp
import os
import pwd
import re
import shutil
import stat
import tempfile

from millrace.util.system import is_alive, started_at

# Private folders

TRUST_DIRECTORY = "millrace.state.trust-directory"
"""The option by which users declare that all users who can write to a directory are trusted."""
_TRUST = (
    f"; if all who can write there may be trusted (executors of YARN and of standalone clusters run as other users), "
    f"set {TRUST_DIRECTORY}=true"
)


class NotPrivateError(PermissionError):
    """Other users can write to a folder, so nothing in it is unpickled; the text names the folder and the reason."""


def make_private(path: str) -> None:
    """Make a folder with mode 0700, and those above it that are missing.

    :raises NotPrivateError: it is there already, and not safe.
    """
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        pass
    _check_folder(path, "")


def make_shared(path: str, trust: bool) -> None:
    """A folder that driver and workers write to: private, unless the user trusts all who can reach it. Then it has the
    mode that the umask gives, for workers that run as another user.

    :raises NotPrivateError: it is there already, and not safe.
    """
    if trust:
        os.makedirs(path, exist_ok=True)
        return
    try:
        make_private(path)
    except NotPrivateError as error:
        raise NotPrivateError(f"{error}{_TRUST}") from None


def check_shared(path: str) -> None:
    """Check that an existing folder is safe.

    :raises NotPrivateError: it is not.
    """
    _check_folder(path, _TRUST)


def check_file(path: str) -> None:
    """Check that no other user has written a file, or can write it. Its folder is not checked.

    :raises NotPrivateError: another user has written it, or can.
    """
    _check(path, os.stat(path), _TRUST)


def _check_folder(path: str, hint: str) -> None:
    place = os.path.realpath(path)
    _check(path, os.stat(place), hint)
    while (above := os.path.dirname(place)) != place:
        place = above
        found = os.stat(place)
        if not found.st_mode & stat.S_ISVTX and (who := _writers(found)):
            raise NotPrivateError(_text(path, f"{place} above it can be written to by {who}") + hint)


def _check(path: str, found: os.stat_result, hint: str) -> None:
    if found.st_uid not in (os.geteuid(), 0):
        why = f"it belongs to {_user(found.st_uid)}, not to {_user(os.geteuid())}"
        raise NotPrivateError(_text(path, why) + hint)
    if who := _writers(found):
        why = f"it can be written to by {who} (mode {stat.S_IMODE(found.st_mode):04o})"
        raise NotPrivateError(_text(path, why) + hint)


def _writers(found: os.stat_result) -> str | None:
    """The users or group, besides the owner, that may write; None: there are none."""
    if found.st_mode & stat.S_IWOTH:
        return "everybody"
    if found.st_mode & stat.S_IWGRP and not _is_of_one(found.st_gid):
        return f"the group {_group(found.st_gid)}"
    return None


def _is_of_one(gid: int) -> bool:
    """Whether a group is root's, or the one that many systems make for each user, without any other member."""
    try:
        user, group = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(gid)
    except KeyError:
        return gid == 0
    return (gid == 0 or group.gr_name == user) and set(group.gr_mem) <= {user, "root"}


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"the user {uid}"


def _group(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def _text(path: str, why: str) -> str:
    return (
        f"{path} is not private: {why}. What lies there is unpickled, which runs code: take the rights away (chmod "
        f"go-w), or choose another directory"
    )


# Temporary folders

LONGEST = 50
"""Longest path of a scratch folder (characters): it contains sockets, whose paths are limited to about a hundred."""
_OURS = re.compile(r"millrace-(?:spark|state|ship)-(\d+)-(\d+)(?:-\w+)?")


def scratch_folder() -> str:
    """The folder for a Spark of this process, private; it is removed when the process ends."""
    root, name = tempfile.gettempdir(), _prefix("spark")
    if not holds_sockets(os.path.join(root, name)):
        root = "/tmp"
    remove_left(root)
    path = os.path.join(root, name)
    make_private(path)
    atexit.register(_remove, path, os.getpid())
    return path


def holds_sockets(path: str) -> bool:
    """Whether a folder's path leaves room for the names of Spark's sockets."""
    return len(path) <= LONGEST


def new_folder(kind: str, parent: str | None = None) -> str:
    """A new folder of this process, which removes it at its end; if it is killed, the next process does.

    :param kind: ``spark``, ``state`` or ``ship``.
    """
    return tempfile.mkdtemp(prefix=f"{_prefix(kind)}-", dir=parent)


def _prefix(kind: str) -> str:
    process = os.getpid()
    return f"millrace-{kind}-{process}-{started_at(process) or 0}"


def _remove(path: str, process: int) -> None:
    if process == os.getpid():  # not a fork of it
        shutil.rmtree(path, ignore_errors=True)


def remove_left(root: str) -> None:
    """Remove the folders of this user's dead processes."""
    with os.scandir(root) as entries:
        found = [(entry, name) for entry in entries if (name := _OURS.fullmatch(entry.name))]
    for entry, name in found:
        with contextlib.suppress(OSError):
            mine = entry.stat(follow_symlinks=False).st_uid == os.getuid()
            if mine and not is_alive(int(name[1]), int(name[2]) or None):
                shutil.rmtree(entry.path, ignore_errors=True)
