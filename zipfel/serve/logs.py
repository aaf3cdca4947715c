"""One JSON object a line on standard error. No text of a document and no query is ever logged."""

from __future__ import annotations

import sys
import time
from typing import TextIO

import orjson


class Log:
    """Writes lines to `stream` (standard error unless told otherwise)."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream
        self.requests = True

    def __call__(self, message: str, *, level: str = "info", **facts: object) -> None:
        now = time.time()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1000):03d}Z"
        line = orjson.dumps({"time": stamp, "level": level, "message": message, **facts}, default=str)
        stream = self.stream or sys.stderr
        try:
            stream.write(line.decode() + "\n")
            stream.flush()
        except (OSError, ValueError):
            return  # whoever read the log is gone; the service goes on


log = Log()
