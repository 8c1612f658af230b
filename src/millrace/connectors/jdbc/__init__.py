"""Databases behind ``jdbc:`` URLs, through the drivers that Python has for them: PostgreSQL, MySQL, MariaDB, SQLite."""
