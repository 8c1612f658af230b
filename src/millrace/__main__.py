"""``python -m millrace``: the ``millrace`` command, run by a certain Python."""

from __future__ import annotations

from millrace.cli.main import main

if __name__ == "__main__":
    main(prog_name="millrace")
