"""What the command prints and refuses: the outlines of its actions, their options of old, its versions."""
