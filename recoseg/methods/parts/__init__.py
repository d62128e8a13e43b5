"""What several methods share: the EMA teacher, discriminators, ramps, and the contrast on top of any."""
