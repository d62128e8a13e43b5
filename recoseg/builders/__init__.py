"""Config -> objects: the only part that knows both."""
