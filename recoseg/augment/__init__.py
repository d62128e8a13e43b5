"""Geometry for images with their labels, colour for images alone."""
