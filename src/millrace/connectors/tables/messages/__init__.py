"""Tables of message systems: one message is one row, or what its format makes of it."""
