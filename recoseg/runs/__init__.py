"""The noun Run: its folder, how one starts, how one is opened and judged."""
