"""The threads of this process, with their stacks."""

from __future__ import annotations

import sys
import threading
import traceback

from millrace.cluster.documents.threads import ThreadDocument


def threads_here() -> list[ThreadDocument]:
    """All threads that Python knows."""
    names = {thread.ident: thread for thread in threading.enumerate()}
    found = []
    for ident, frame in sys._current_frames().items():
        thread = names.get(ident)
        name = thread.name if thread is not None else f"thread {ident}"
        kind = " daemon" if thread is not None and thread.daemon else ""
        text = "".join(traceback.format_stack(frame))
        found.append(ThreadDocument(name, f'"{name}"{kind} id={ident}\n{text}'))
    return sorted(found, key=lambda each: each.name)
