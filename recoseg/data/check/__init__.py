"""What `recoseg check` does: reading every file of a dataset and listing what is wrong."""
