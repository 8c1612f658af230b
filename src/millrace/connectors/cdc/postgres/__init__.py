"""Capturing PostgreSQL: snapshots that are exact, and a slot with the plugin pgoutput."""
