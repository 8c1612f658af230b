"""Folders that only their user can write to: what lies in them may be unpickled, which runs code.

Safe is a folder that belongs to this user or to root and that neither others nor a group of several people can write
to. Above it the same must hold, since who may rename a folder may put another one in its place; a sticky bit, as that
of /tmp, prevents this.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat

__all__ = ["TRUST_DIRECTORY", "NotPrivateError", "check_file", "check_shared", "make_private", "make_shared"]

TRUST_DIRECTORY = "millrace.state.trust-directory"
"""The option by which users say that all who can write to a directory may be trusted."""
_TRUST = (
    f"; if all who can write there may be trusted (executors of YARN and of standalone clusters run as other users), "
    f"set {TRUST_DIRECTORY}=true"
)


class NotPrivateError(PermissionError):
    """Others could write here, so nothing from here is unpickled; the text names the folder and says why."""


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
    """See that a folder that is there is safe.

    :raises NotPrivateError: it is not.
    """
    _check_folder(path, _TRUST)


def check_file(path: str) -> None:
    """See that no other user has written a file, or can. Its folder is another question.

    :raises NotPrivateError: somebody has, or can.
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
    """Who may write, beside the owner."""
    if found.st_mode & stat.S_IWOTH:
        return "everybody"
    if found.st_mode & stat.S_IWGRP and not _is_of_one(found.st_gid):
        return f"the group {_group(found.st_gid)}"
    return None


def _is_of_one(gid: int) -> bool:
    """Whether a group is the one that many systems make for each user, with no other user in it, or that of root."""
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
