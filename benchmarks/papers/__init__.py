"""Each paper's tables and figures, made again: `python -m benchmarks.papers.lightdxml`."""
