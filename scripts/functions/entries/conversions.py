"""Types: casts, their names, the session."""

from __future__ import annotations

from .entry import Entry

TOPICS = {
    "Types and session": (
        Entry("cast", "CAST('12' AS INT) + 1", "the value as another type; an error if it is none"),
        Entry("TRY_CAST", "TRY_CAST('twelve' AS INT)", "the same; NULL if it is none"),
        Entry("TYPEOF", "TYPEOF(1.5)", "the type as text"),
        Entry("currentDatabase", "CURRENT_DATABASE()", "the database that names without one are looked for in"),
        Entry("as", "a AS other", "a name in the result"),
    ),
}
