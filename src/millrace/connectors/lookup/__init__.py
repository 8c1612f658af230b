"""Looking up tables that know no keys: all their rows are kept, and read anew now and then."""
