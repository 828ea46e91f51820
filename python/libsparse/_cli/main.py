"""From the words of a command line to its exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from libsparse._lang.errors import LibsparseError

from . import executable
from .arguments import parse

_BOTH = ("explain", "run", "compile", "tune", "frontier", "candidates")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Commands on expressions may be written for the compiler's executable, too, whose options have one dash:
    `libsparse run "y(i) = A(i,j) * x(j)" -f=A:csr -check`.

    Args:
        arguments: The words behind the name of the program; by default those of this process.

    Returns:
        0; 1 where it failed, 2 for a wrong command line, 130 after Ctrl-C, 141 where nobody reads on.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if words and words[0] in _BOTH and executable.is_meant(words[1:]):
            return executable.call(words)
        options, rest = parse(["--help"] if words == ["help"] else words)
        return int(options.command(options, rest))
    except BrokenPipeError:  # the reader has seen enough, as head has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python's own flush at the end fails no more
        return 141
    except (LibsparseError, OSError) as error:
        print(f"libsparse: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
