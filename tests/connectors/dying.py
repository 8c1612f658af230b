"""What is done to files while they are put together, step by step, so that a test can end it anywhere."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from typing import Any

import pytest

from millrace.connectors.file_system import file_committer, part_files
from millrace.connectors.file_system.file_committer import FileCommitter
from millrace.connectors.file_system.part_files import LocalPartStore, PartStore

_STEPS: tuple[tuple[Any, str], ...] = (
    (file_committer, "is_file"),
    (file_committer, "open_file_system"),
    (file_committer, "discard_file"),
    (part_files, "discard_file"),
    (shutil, "copyfileobj"),
    (FileCommitter, "show"),
    (FileCommitter, "discard_replaced"),
    (PartStore, "move"),
    (LocalPartStore, "move"),
)


def ending_at(step: int, end: Callable[[], None], patched: pytest.MonkeyPatch) -> None:
    """Call ``end`` at a step: there are two for each thing that is done, before it and after it."""
    passed = 0

    def passes() -> None:
        nonlocal passed
        passed += 1
        if passed - 1 == step:
            end()

    def watched(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **others: Any) -> Any:
            passes()
            result = function(*arguments, **others)
            passes()
            return result

        return call

    for owner, name in _STEPS:
        if name in vars(owner):
            patched.setattr(owner, name, watched(getattr(owner, name)))


def killed_at(step: int, work: Callable[[], None]) -> bool:
    """A process does it, and is killed at a step; whether there are so many."""
    child = os.fork()
    if not child:
        ending_at(step, lambda: os.kill(os.getpid(), signal.SIGKILL), pytest.MonkeyPatch())
        try:
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)
