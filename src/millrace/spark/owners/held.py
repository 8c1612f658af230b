"""A call that holds the interpreter stops all threads of its process, those that tell where it is, too.

So a thread says again and again that it still runs. When it has not for a while, a timer outside the interpreter writes
where all threads are to the process's log: the function that does not let go is on top of its task's operator.
"""

from __future__ import annotations

import faulthandler
import sys
import threading
import time
from typing import Any

__all__ = ["watch_interpreter"]

HELD_SECONDS = 30.0
_BEAT_SECONDS = 5.0


def watch_interpreter(seconds: float = HELD_SECONDS, beat: float = _BEAT_SECONDS, log: Any = None) -> None:
    """Write stacks once the interpreter was held for so long, and again each time that it was held for as long again.

    :param log: a file with a descriptor; None: standard error.
    """
    target = sys.stderr if log is None else log
    try:
        target.fileno()
    except (OSError, ValueError, AttributeError):
        return  # nowhere to write to without the interpreter

    def run() -> None:
        while True:
            faulthandler.dump_traceback_later(seconds, repeat=True, file=target)
            time.sleep(beat)

    threading.Thread(target=run, name="millrace-held", daemon=True).start()
