"""Scores of a network."""
