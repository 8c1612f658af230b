"""Making and changing tables of a database."""
