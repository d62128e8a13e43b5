"""The loop, and what it needs around it."""
