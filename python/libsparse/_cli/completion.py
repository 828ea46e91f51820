"""Completion of commands and options in bash, zsh and fish; operands are completed as files."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence

_BASH = """_libsparse() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} words
  case $COMP_CWORD:${{COMP_WORDS[1]}} in
    1:*) words="{commands}" ;;
{cases}
  esac
  if [[ $COMP_CWORD == 1 || $word == -* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "${{word#*=}}"))
  fi
}}
complete -o filenames -F _libsparse libsparse"""


def complete(parsers: Mapping[str, argparse.ArgumentParser]) -> Callable[[argparse.Namespace, Sequence[str]], int]:
    """The command that prints the script of a shell, for the commands of these parsers."""

    def run(options: argparse.Namespace, _: Sequence[str]) -> int:
        print(script(options.shell, {name: _options(parser) for name, parser in parsers.items()}))
        return 0

    return run


def script(shell: str, commands: Mapping[str, Sequence[str]]) -> str:
    """The script that a shell reads, of commands and their options.

    Example:
        `libsparse completion bash > ~/.local/share/bash-completion/completions/libsparse`
    """
    if shell == "fish":
        first = f"complete -c libsparse -n __fish_use_subcommand -f -a '{' '.join(commands)}'"
        rest = [
            f"complete -c libsparse -n '__fish_seen_subcommand_from {name}' -l {option.removeprefix('--')}"
            for name, options in commands.items()
            for option in options
        ]
        return "\n".join([first, *rest])
    cases = [f'    *:{name}) words="{" ".join(options)}" ;;' for name, options in commands.items() if options]
    bash = _BASH.format(commands=" ".join(commands), cases="\n".join(cases))
    return f"autoload -U +X bashcompinit && bashcompinit\n{bash}" if shell == "zsh" else bash


def _options(parser: argparse.ArgumentParser) -> list[str]:
    """The long options of a command."""
    return [o for action in parser._actions for o in action.option_strings if o.startswith("--") and o != "--help"]
