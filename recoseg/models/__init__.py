"""Networks: images in [0, 1] -> ModelOutput."""
