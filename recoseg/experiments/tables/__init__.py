"""What came out: results beside the paper's figures, as tables of several formats and as charts."""
