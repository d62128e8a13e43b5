"""The page that explains a run: pictures, curves, tables, in one HTML file."""
