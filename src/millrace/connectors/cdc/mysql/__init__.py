"""Change data capture of MySQL and MariaDB: what their servers say, and their binary log."""
