"""What a savepoint consists of, and whether a program fits it."""
