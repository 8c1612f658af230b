"""Looking up tables that know no keys: all their rows are kept, and read again now and then."""
