"""A fork leaves to its parent what is of the parent."""

from __future__ import annotations

import gc
import os
from pathlib import Path

from tests.forks import Forked


class Client:
    """Writes down in which process it is destroyed, as one does whose threads are only there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.itself = self  # only the garbage collector finds that nobody has it

    def __del__(self) -> None:
        (self._folder / str(os.getpid())).touch()


def test_garbage_of_the_parent_is_not_collected_in_a_fork(tmp_path: Path) -> None:
    gc.disable()
    try:
        Client(tmp_path)
        fork = Forked(gc.collect)
        assert fork.wait(60) == 0
        assert list(tmp_path.iterdir()) == []
        gc.collect()
        assert list(tmp_path.iterdir()) == [tmp_path / str(os.getpid())]
    finally:
        gc.enable()
