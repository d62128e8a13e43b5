"""A trained network as a file that runs without recoseg."""
