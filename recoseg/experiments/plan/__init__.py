"""Which runs a table has: its grid of rows and columns, and with a profile the settings of every cell."""
