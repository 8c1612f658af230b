"""``millrace lint``: runs the rules of ``millrace.lint`` on a program that is built and not run."""
