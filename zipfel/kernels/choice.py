"""Where the kernels run: on the CPU. On other devices their plain twins in torch do the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor

_off = 0


def runs_kernels(tensor: Tensor) -> bool:
    """Whether a kernel can take this tensor."""
    return tensor.device.type == "cpu" and not kernels_are_off()


def kernels_are_off() -> bool:
    return _off > 0


@contextmanager
def without_kernels() -> Iterator[None]:
    """All goes on the CPU as it would on another device: by the plain twins, on tensors that are copies. For tests on
    machines that have no such device."""
    global _off
    _off += 1
    try:
        yield
    finally:
        _off -= 1
