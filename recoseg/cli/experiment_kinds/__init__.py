"""The commands of `recoseg experiments`, one small module each."""
