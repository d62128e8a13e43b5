"""A trained network on images that it has never seen."""
