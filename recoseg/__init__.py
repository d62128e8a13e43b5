"""recoseg: semantic segmentation from very few labels."""
