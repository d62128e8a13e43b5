"""Which labels may be seen."""
