"""Joins of tables: regular, in time, temporal, with external tables and with table functions."""
