"""What table environments are made of: the objects of a session by name, and its settings and results."""
