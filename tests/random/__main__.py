"""One random query again: ``python -m tests.random SEED NUMBER`` shows it and what both modes give."""

from __future__ import annotations

import sys

from tests.random.comparing import compare
from tests.random.queries import ZONES

from millrace.spark.sessions.session import local_session
from millrace.spark.tables.execute import batch_context

if __name__ == "__main__":
    session = local_session(2)
    compared = compare(" ".join(sys.argv[1:3]), {zone: batch_context(session, zone) for zone in ZONES})
    print(compared, "they differ" if compared.differs else "they are the same", sep="\n")
