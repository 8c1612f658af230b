"""Notebooks: display of tables and streams, live views, ``%%sql``, and the progress of jobs.

Tables and streams are displayed without any preparation. ``%load_ext millrace.notebook`` adds the magic ``%%sql`` and
the bar of running jobs.
"""

from __future__ import annotations

from typing import Any


def load_ipython_extension(shell: Any) -> None:
    """Handles ``%load_ext millrace.notebook``."""
    from millrace.notebook.extension import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Handles ``%unload_ext millrace.notebook``."""
    from millrace.notebook.extension import unload

    unload(shell)
