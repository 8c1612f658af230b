"""How long work rests that costs nearly as much for little as for much: so that it takes a twentieth of the time."""

from __future__ import annotations

REST_FACTOR = 20
"""So many times as long as it has taken,"""
LONGEST_REST_SECONDS = 0.1
"""but not longer than this."""
FEW_RECORDS = 256
"""Fewer records than these at a time are little."""
