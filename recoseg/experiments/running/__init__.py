"""Doing cells: what is left of each, on this machine or on a Ray cluster, and what is shown meanwhile."""
