"""The few hot loops, each with a plain version that it must equal."""
