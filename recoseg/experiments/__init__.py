"""The paper's tables as grids of runs: what they are, running them, and the tables that come out."""
