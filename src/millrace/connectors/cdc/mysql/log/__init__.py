"""The binary log of MySQL and MariaDB: bytes of the wire on one side, transactions and rows on the other."""
