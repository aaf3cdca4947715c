"""`zipfel` and `python -m zipfel`."""

from __future__ import annotations

import os
import signal
from types import FrameType


def _end(number: int, _frame: FrameType | None) -> None:
    name, code = ("Ctrl-C", 130) if number == signal.SIGINT else ("SIGTERM", 143)
    os.write(2, f"zipfel: stopped by {name}; nothing was begun\n".encode())
    os._exit(code)


def main() -> None:
    """Until the command line takes care of signals itself, some tenths of a second from now, they end the process in
    one sentence instead of a traceback of imports."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):
            signal.signal(number, _end)
    from zipfel.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
