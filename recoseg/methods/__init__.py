"""Methods of training; each is one file."""
