"""Databases behind ``jdbc:`` URLs, through drivers of Python: PostgreSQL, MySQL, MariaDB, SQLite, DuckDB."""
