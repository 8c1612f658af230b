"""Jobs as a program sees them: their names, clients, states and results."""
