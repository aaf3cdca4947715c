"""Whether a job fits into memory, asked before it starts: the machine's, its container's, and `ulimit`'s."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

from zipfel.errors import ResourceError

_V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_V2 = ("memory.max", "memory.current", "inactive_file")
"""Files of a cgroup, and the key in memory.stat of what the system can take back at once."""


def available_memory(root: Path = Path("/")) -> int | None:
    """Bytes that this process may still take; None if unknown. root: where proc and sys are."""
    found = [*_of_machine(root), *_of_cgroups(root), *_of_limits(root)]
    return max(0, min(found)) if found else None


def check_memory(needed: int, what: str, remedy: str) -> None:
    """Raises where `needed` bytes are more than there are; an error now beats a kill by the system later."""
    free = available_memory()
    if free is not None and needed > free:
        raise ResourceError(f"{what} needs about {needed / 1e9:.1f} GB and {free / 1e9:.1f} GB are free: {remedy}")


def give_back() -> None:
    """Returns freed memory to the system, if the allocator supports it. glibc alone returns only some of it."""
    with suppress(OSError, AttributeError, TypeError):  # TypeError: on Windows
        ctypes.CDLL(None).malloc_trim(0)


def _of_machine(root: Path) -> Iterator[int]:
    with suppress(OSError, ValueError):
        for line in (root / "proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                yield int(line.split()[1]) * 1024


def _of_cgroups(root: Path) -> Iterator[int]:
    """What is left in the process's cgroup, of version 1 or 2, and in those around it."""
    with suppress(OSError, ValueError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, controllers, name = line.split(":", 2)
            if controllers == "":
                yield from _left_in(root / "sys/fs/cgroup", name, _V2)
            elif "memory" in controllers.split(","):
                yield from _left_in(root / "sys/fs/cgroup/memory", name, _V1)


def _left_in(mount: Path, name: str, files: tuple[str, str, str]) -> Iterator[int]:
    inner = PurePosixPath(name.lstrip("/"))
    for part in (inner, *inner.parents):  # in a container, the name may be that outside of it: its root is there anyway
        folder = mount / part
        with suppress(OSError, ValueError):
            limit = (folder / files[0]).read_text().strip()
            if limit == "max" or int(limit) >= 1 << 60:  # version 1 says "none" with a number near 2^63
                continue
            used = int((folder / files[1]).read_text())
            yield int(limit) - used + _reclaimable(folder, files[2])


def _reclaimable(folder: Path, key: str) -> int:
    with suppress(OSError, ValueError):
        for line in (folder / "memory.stat").read_text().splitlines():
            name, _, number = line.partition(" ")
            if name == key:
                return int(number)
    return 0


def _of_limits(root: Path) -> Iterator[int]:
    """`ulimit -v` and `ulimit -d`."""
    try:
        import resource
    except ImportError:  # Windows
        return
    with suppress(OSError, ValueError, IndexError):
        pages = [int(word) for word in (root / "proc/self/statm").read_text().split()]
        for limit, used in ((resource.RLIMIT_AS, pages[0]), (resource.RLIMIT_DATA, pages[5])):
            allowed = resource.getrlimit(limit)[0]
            if allowed != resource.RLIM_INFINITY:
                yield allowed - used * resource.getpagesize()
