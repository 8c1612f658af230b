"""SQL as text: its tokens, places in it, names and errors that know their place."""
