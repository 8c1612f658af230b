"""``millrace demo``: two small programs on one day of a shop, whose data come with the package."""
