"""The command line. Exit codes: `run` gives the command's own, 128+n, 124 for a time limit, 125 for anything of ours,
126/127 as shells do; other subcommands 0, 1 findings, 2 usage, 64/65 bad input or declaration.

`run` reads its few options by hand: a parser library costs more to import than the whole sandbox to make.
"""

from __future__ import annotations

import sys

from ..errors import DeclarationError, RunnerError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

USAGE = """\
usage: fumehood run [OPTION]... [--] PROGRAM [ARG]...    run one command confined, transparent in stdio and exit code
       fumehood call FILE TOOL --input JSON [--json] [--authorize DIGEST|any]
                                                     what a model would get back from one tool call
       fumehood tools FILE [--json]                  published tools: name, description, JSON schema
       fumehood inspect FILE [--canonical|--json]    compile and show; never executes
       fumehood doctor [--json]                      what this host can enforce, constraint by constraint

options of run:
  --read PATH, --write PATH     grant a folder or file (repeatable); without any, the current folder is readable
  --hide PATH, --protect PATH   below the granted: out of sight, or read-only
  --network                     share the host's network (default: loopback of its own, nothing else)
  --cwd PATH, --env NAME=VALUE  where it starts; what is added to its environment (repeatable)
  --timeout 30s, --idle 10s, --cpu-time 10s, --memory 512MiB, --processes N, --file-size 1GiB, --open-files N,
  --tmp-size 1GiB               limits; one that cannot be enforced here is refused
  --uid N                       as root: run as this user (default: the owner of the write roots)
  --backend NAME                landlock (default) or direct
  --json                        capture the output and print the structured result instead
  --result-fd N                 write the structured result to this descriptor
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand; its exit code. No traceback leaves here."""
    argv = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if argv and argv[0] == "run":
            from .run import run_command

            return run_command(argv[1:])
        return _other(argv)
    except RunnerError as error:
        return _report(error)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return _broken_pipe()
    except Exception as error:  # the last line of defence: one line, never a traceback
        print(f"fumehood: internal_error: {type(error).__name__}: {error}".replace("\n", " "), file=sys.stderr)
        return 125


def entry() -> None:
    """The program's own entry: leaves without the interpreter's teardown, which costs as much as half its start."""
    import os

    code = main()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:  # the caller may have closed it
                stream.flush()
        except OSError:
            code = code or 141
    os._exit(code)


def _broken_pipe() -> int:
    """Our reader has gone: say nothing more, and let the interpreter's own flush not say it either."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 141


def _report(error: RunnerError) -> int:
    lines = error.problems if isinstance(error, DeclarationError) and error.problems else ()
    for line in lines or (f"fumehood: {error.code}: {error.message}",):
        print(line, file=sys.stderr)
    if error.remedy:
        print(f"  {error.remedy}", file=sys.stderr)
    return error.exit_code


def _other(argv: list[str]) -> int:
    from . import commands

    table: dict[str, Callable[[list[str]], int]] = {
        "call": commands.call,
        "tools": commands.tools,
        "inspect": commands.inspect,
        "doctor": commands.doctor,
    }
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(USAGE, end="")
        return 0 if argv else 2
    if argv[0] in ("-V", "--version", "version"):
        from .. import __version__

        print(f"fumehood {__version__}")
        return 0
    if argv[0] not in table:
        raise UsageError(f"`{argv[0]}` is no subcommand", remedy="see `fumehood --help`")
    return table[argv[0]](argv[1:])
