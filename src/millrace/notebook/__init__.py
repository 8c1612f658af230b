"""Notebooks: what tables and streams look like there, live views, ``%%sql``, the progress of jobs.

Tables and streams show themselves without any preparation. ``%load_ext millrace.notebook`` adds the magic ``%%sql`` and
the bar of running jobs.
"""

from __future__ import annotations

from typing import Any


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext millrace.notebook``."""
    from millrace.notebook.extension import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """``%unload_ext millrace.notebook``."""
    from millrace.notebook.extension import unload

    unload(shell)
