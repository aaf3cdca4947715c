"""The options that say how a file of documents is read, declared once for all commands that read one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from zipfel.cli.options import Format, LabelColumn, Labels, LabelSeparator, TextColumn

Fields: TypeAlias = dict[str, str | None]
"""Keywords of `zipfel.data.read`; None where the user said nothing."""
Command = TypeVar("Command", bound=Callable[..., None])
_OPTIONS: dict[str, tuple[Any, str | None]] = {
    "labels": (Labels, None),
    "label_column": (LabelColumn, None),
    "text_column": (TextColumn, None),
    "label_separator": (LabelSeparator, None),
    "format": (Format, "auto"),
}


def with_file_options(command: Command) -> Command:
    """The command with these options in place of its last parameter `fields`, which collects them."""
    own = inspect.signature(command, eval_str=True)
    options = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=kind)
        for name, (kind, default) in _OPTIONS.items()
    ]

    @functools.wraps(command)
    def reading(**given: Any) -> None:
        fields = {name: given.pop(name) for name in _OPTIONS}
        command(**given, fields=fields)

    parameters = [parameter for parameter in own.parameters.values() if parameter.name != "fields"] + options
    shown: Any = reading
    shown.__signature__ = own.replace(parameters=parameters)
    shown.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    found: Command = shown
    return found


def labels_elsewhere(fields: Fields) -> Fields:
    """For a second file of the same form, whose labels are not those of the first one's second file."""
    return {**fields, "labels": None}
