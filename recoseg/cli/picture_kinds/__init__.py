"""What `recoseg picture` can draw, one small module a kind."""
