"""What operators build on: their contract, user functions, keyed state, batch mode key by key."""
