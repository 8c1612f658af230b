"""``millrace sql``: SQL typed at a prompt, or read from a file."""
