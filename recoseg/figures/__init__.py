"""The paper's pictures: numbers and images in, a PNG, SVG or PDF file out."""
