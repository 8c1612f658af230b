"""Settings of the client itself: how results are shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from millrace.common.config_values import to_boolean
from millrace.table.sessions.table_result import MAX_WIDTH
from millrace.table.settings.table_config import COLUMN_WIDTH, DML_SYNC
from millrace.table.sql.text.errors import SqlError
from millrace.table.values.problems import did_you_mean

RESULT_MODE = "sql-client.execution.result-mode"
OUTPUT = "millrace.sql.output"
MAX_ROWS = "sql-client.execution.max-table-result.rows"
VERBOSE = "sql-client.verbose"
TIME_COST = "sql-client.display.print-time-cost"
OLDER_COLUMN_WIDTH = "sql-client.display.max-column-width"

TABLE, CHANGELOG, TABLEAU = MODES = ("table", "changelog", "tableau")
SCREEN, CSV, JSON, ARROW = OUTPUTS = ("screen", "csv", "json", "arrow")
"""what results are written for: people, or other programs"""

DEFAULTS = {
    RESULT_MODE: TABLEAU,
    MAX_ROWS: "1000000",
    VERBOSE: "false",
    TIME_COST: "true",
    COLUMN_WIDTH: str(MAX_WIDTH),
    DML_SYNC: "false",
}
"""What holds unless it is set."""


@dataclass(frozen=True)
class ClientSettings:
    """What the client has to know of the session's settings."""

    mode: str = TABLEAU
    max_rows: int = 1_000_000
    """that the modes table and changelog keep"""
    verbose: bool = False
    print_time: bool = True
    max_width: int = MAX_WIDTH
    """characters of a column whose type does not say how wide it is"""
    wait_for_inserts: bool = False
    output: str = SCREEN

    @staticmethod
    def of(settings: Mapping[str, str]) -> ClientSettings:
        """:raises SqlError: a value that its key cannot have."""
        mode = settings.get(RESULT_MODE, TABLEAU).lower()
        if mode not in MODES:
            meant = did_you_mean(mode, MODES)
            raise SqlError(f"'{RESULT_MODE}' is one of {', '.join(MODES)}, not '{mode}'{meant}")
        output = settings.get(OUTPUT, SCREEN).lower()
        if output not in OUTPUTS:
            meant = did_you_mean(output, OUTPUTS)
            raise SqlError(f"'{OUTPUT}' is one of {', '.join(OUTPUTS)}, not '{output}'{meant}")
        width = COLUMN_WIDTH if COLUMN_WIDTH in settings else OLDER_COLUMN_WIDTH
        return ClientSettings(
            mode,
            _number(settings, MAX_ROWS, 1_000_000),
            _flag(settings, VERBOSE, False),
            _flag(settings, TIME_COST, True),
            _number(settings, width, MAX_WIDTH),
            _flag(settings, DML_SYNC, False),
            output,
        )


def _number(settings: Mapping[str, str], key: str, default: int) -> int:
    text = settings.get(key, str(default))
    if not text.strip().isdigit() or int(text) < 1:
        raise SqlError(f"'{key}' is a number from 1 on, not '{text}'")
    return int(text)


def _flag(settings: Mapping[str, str], key: str, default: bool) -> bool:
    try:
        return to_boolean(settings.get(key, str(default)))
    except ValueError:
        raise SqlError(f"'{key}' is 'true' or 'false', not '{settings[key]}'") from None
