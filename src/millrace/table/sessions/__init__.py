"""Table environments: what a session holds by name, and how its statements are run."""
