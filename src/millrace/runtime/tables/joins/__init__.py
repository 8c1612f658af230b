"""Joins of tables: regular, interval and temporal joins, and joins with external tables and table functions."""
