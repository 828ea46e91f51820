"""The arguments of every command."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Sequence
from typing import NoReturn

from libsparse._compiler.version import VERSION

from . import commands, executable
from .completion import complete


class Parser(argparse.ArgumentParser):
    """A parser that suggests the command or option that was meant."""

    def error(self, message: str) -> NoReturn:
        """Print the mistake and how to go on, without the usage of every command; end with status 2."""
        self.exit(2, f"{self.prog}: {message}\n{self.prog} --help shows how it is used\n")


def parse(arguments: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """The options of a command, and what is handed on to the program behind it."""
    parser, names = _parser()
    first = next((word for word in arguments if not word.startswith("-")), None)
    if first is not None and first not in names:
        close = difflib.get_close_matches(first, names, 1, 0.5)
        hint = f"; did you mean {close[0]}?" if close else f"; the commands are {', '.join(names)}"
        parser.error(f"there is no command {first!r}{hint}")
    options, rest = parser.parse_known_args(arguments)
    if rest and not options.hands_on:
        known = [option for action in names[first or ""]._actions for option in action.option_strings]
        close = difflib.get_close_matches(rest[0].partition("=")[0], known, 1, 0.5)
        names[first or ""].error(
            f"unrecognized arguments: {' '.join(rest)}" + (f"; did you mean {close[0]}?" if close else "")
        )
    return options, rest


def _parser() -> tuple[Parser, dict[str, Parser]]:
    """The parser, and those of its commands."""
    parser = Parser(prog="libsparse", description="A sparse tensor compiler for PyTorch.")
    parser.add_argument("--version", action="version", version=f"libsparse {VERSION}")
    groups = parser.add_subparsers(required=True, metavar="command", parser_class=Parser)
    found: dict[str, Parser] = {}

    def add(name: str, summary: str, run: commands.Command, *, hands_on: bool = False) -> Parser:
        found[name] = groups.add_parser(name, help=summary, description=summary, add_help=not hands_on)
        found[name].set_defaults(command=run, hands_on=hands_on)
        return found[name]

    _computations(add("run", "compute an einsum or an assignment, and print the result", commands.run), run=True)
    explain = add("explain", "show how it is compiled, stage by stage", commands.explain)
    _computations(explain)
    explain.add_argument("--stage", help="only this stage")
    _computations(add("compile", "compile it into the cache of kernels", commands.compile))
    tune = add("tune", "measure its schedules and keep the fastest; list what is kept", commands.tune)
    _computations(tune, optional=True)
    tune.add_argument("--budget", type=int, help="measurements, kept ones included (default: 60; learned: 11)")
    tune.add_argument("--method", default="bayesian", help="bayesian, or learned: the ten that a model finds the best")
    tune.add_argument("--seconds", type=float, help="after which to stop")
    tune.add_argument("--list", action="store_true", help="list what is kept")
    tune.add_argument("--remove", metavar="NAME", help="remove what is kept under names that begin so")
    frontier = add("frontier", "print the loop nests that no other stays asymptotically below", commands.frontier)
    _computations(frontier, schedule=False)
    frontier.add_argument("--taco", action="store_true", help="of the nests that TACO can run")
    frontier.add_argument("--json", action="store_true", help="as JSON, with the schedules of the nests")
    every = add("candidates", "print, as JSON, every schedule that the compiler can carry out", commands.candidates)
    _computations(every, schedule=False)
    every.add_argument("--plain", action="store_true", help="one for each order of the loops")
    for name, summary in executable.COMMANDS.items():
        add(name, summary, executable.Passed(name), hands_on=True)
    cache = add("cache", "show the folder of compiled kernels and its size", commands.cache)
    cache.add_argument("--clear", action="store_true", help="delete them, and what has been tuned")
    add("doctor", "say what is found and what is missing", commands.doctor)
    _demo(add("demo", "train a graph network beside torch.sparse and write a report", commands.demo))
    add("bench", "measure against other libraries (from a clone)", commands.bench, hands_on=True)
    completion = add("completion", "print a script that completes commands and options in a shell", complete(found))
    completion.add_argument("shell", choices=("bash", "zsh", "fish"))
    return parser, found


def _computations(parser: Parser, *, optional: bool = False, run: bool = False, schedule: bool = True) -> None:
    """The arguments that describe a computation and its operands."""
    parser.add_argument(
        "spec",
        nargs="?" if optional else None,
        help="an einsum such as 'ij,jk->ik', or an assignment such as 'y(i) = A(i,j) * x(j)'",
    )
    parser.add_argument(
        "operands",
        nargs="*" if optional else "+",
        metavar="operand",
        help="the file of a sparse tensor, or format:shape for a random one, such as csr:4096x4096 or dense:4096x64; "
        "of an assignment with its name, as A=matrix.mtx",
    )
    parser.add_argument("--density", type=float, default=0.01, help="of random sparse operands (default: %(default)s)")
    parser.add_argument("--dtype", default="float32", help="a torch dtype (default: %(default)s)")
    if schedule and not optional:
        parser.add_argument("--schedule", help="commands in place of what the compiler would choose")
    if not optional:
        parser.add_argument("--format", help="of the result")
    if run:
        parser.add_argument("-o", "--output", metavar="FILE", help="write the result there, where it is sparse")
        parser.add_argument("--repeat", type=int, metavar="N", help="time N more calls, and print the least and median")


def _demo(parser: Parser) -> None:
    parser.add_argument("--data", help="folder with <name>_adj.mtx.gz, <name>_feat.mtx.gz and <name>_labels.tsv.gz")
    parser.add_argument("--dataset", help="which of them, or 'generated' (default: cora and citeseer where they are)")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--report", default="gcn-report.html", help="HTML file to write (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="one graph, one seed, 30 epochs")
