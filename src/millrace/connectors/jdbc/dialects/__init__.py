"""What differs from database to database: how to connect, to name, to write in bulk, to read into columns."""
