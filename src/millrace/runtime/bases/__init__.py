"""The base of operators: their contract, the life of user functions, keyed state, and batch mode key by key."""
