"""Tables that change, as changelogs by key and with old rows, which several topics share."""

from __future__ import annotations

from tests.table.programs.program import Source
from tests.table.programs.timed import at

STOCK = Source(
    "stock",
    "id INT, shop STRING, item STRING, amount INT, price DOUBLE",
    (
        ("+I", 1, "north", "pen", 10, 1.5),
        ("+I", 2, "north", "ink", 5, 7.25),
        ("+I", 3, "south", "pen", 20, 1.25),
        ("-U", 1, "north", "pen", 10, 1.5),
        ("+U", 1, "north", "pen", 8, 1.5),
        ("+I", 4, "south", "pad", None, 3.0),
        ("+I", 5, "east", "pen", 1, 2.0),
        ("-D", 2, "north", "ink", 5, 7.25),
        ("+I", 6, None, "ink", 4, 7.0),
        ("-U", 4, "south", "pad", None, 3.0),
        ("+U", 4, "north", "pad", 6, 3.0),
        ("-D", 5, "east", "pen", 1, 2.0),
        ("+I", 7, "west", None, 2, 0.5),
        ("-U", 3, "south", "pen", 20, 1.25),
        ("+U", 3, "south", "pen", 20, 1.75),
        ("+I", 8, "south", "ink", 4, 7.5),
        ("-U", 7, "west", None, 2, 0.5),
        ("+U", 7, "west", "tip", None, 0.5),
        ("+I", 9, "north", "pen", 8, 1.5),
        ("+I", 9, "north", "pen", 8, 1.5),
        ("-D", 9, "north", "pen", 8, 1.5),
    ),
    mode="I,UB,UA,D",
)
"""with old rows and without a key; one row is there twice for a while"""

ACCOUNTS = Source(
    "accounts",
    "id INT, owner STRING, city STRING, balance INT, PRIMARY KEY (id) NOT ENFORCED",
    (
        ("+I", 1, "Ann", "Bonn", 100),
        ("+I", 2, "Bob", "Kiel", 50),
        ("+U", 1, "Ann", "Bonn", 70),
        ("+I", 3, "Cid", None, 10),
        ("+U", 2, "Bob", "Bonn", 50),
        ("+I", 4, "Ann", "Kiel", 5),
        ("-D", 3, None, None, None),
        ("+U", 5, "Dan", "Ulm", 30),
        ("+U", 1, "Ann", "Bonn", 70),
        ("-D", 4, None, None, None),
        ("+I", 4, "Ann", "Kiel", 25),
        ("+U", 5, "Dan", "Ulm", None),
        ("+I", 6, "Bob", "Kiel", 60),
        ("-D", 7, None, None, None),
    ),
    mode="I,UA,D",
)
"""by key: deletions carry the key alone, one row comes back, one update changes nothing, one deletion has no row"""

MOVES = Source(
    "moves",
    "account INT, amount INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts",
    (
        (1, 5, at("10:00")),
        (2, -3, at("10:01")),
        (1, None, at("10:02")),
        (9, 1, at("10:03")),
        (4, 8, at("10:04")),
        (None, 2, at("10:04")),
        (4, 8, at("10:05")),
        (3, 7, at("10:06")),
        (5, -1, at("10:07")),
        (2, 4, at("10:08")),
    ),
)
"""insertions, some of accounts that are deleted or were never there"""
