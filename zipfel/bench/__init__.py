"""Runs systems side by side, each in a process of its own, on the same rows with the same threads."""
