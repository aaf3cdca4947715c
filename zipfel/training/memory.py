"""Whether a job fits into memory, asked before it starts."""

from __future__ import annotations

from pathlib import Path

from zipfel.errors import ResourceError


def available_memory() -> int | None:
    """Bytes that this process may still take: free memory of the machine or of its container; None if unknown."""
    found = []
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        found += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        if limit != "max":
            found.append(int(limit) - int(Path("/sys/fs/cgroup/memory.current").read_text()))
    except (OSError, ValueError):
        pass
    return min(found) if found else None


def check_memory(needed: int, what: str, remedy: str) -> None:
    """Raises where `needed` bytes are more than there are; an error now beats a kill by the system later."""
    free = available_memory()
    if free is not None and needed > free:
        raise ResourceError(f"{what} needs about {needed / 1e9:.1f} GB and {free / 1e9:.1f} GB are free: {remedy}")
