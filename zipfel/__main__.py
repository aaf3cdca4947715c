"""`zipfel` and `python -m zipfel`."""

from __future__ import annotations

import signal


def main() -> None:
    """Until the command line takes care of Ctrl-C itself, some tenths of a second from now, it just ends the process:
    no traceback of imports."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from zipfel.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
