"""Shared behavior of all commands.

Covers arguments, one-line errors, exit codes, progress, and output that any terminal can show. A
command's `main` runs inside `command(name)`. Exit codes: 0 success, 1 failure while running
(a full disk), 2 bad input or a missing extra, 130 Ctrl-C, 141 broken pipe (the reader of the output
is gone). Standard library only; tqdm draws the progress bars if it is installed.
"""

from __future__ import annotations

import argparse
import codecs
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NoReturn

EXIT_FAILURE: Final = 1
EXIT_USAGE: Final = 2
EXIT_INTERRUPTED: Final = 130
EXIT_BROKEN_PIPE: Final = 141

# Extras of pyproject.toml by the library that they install.
EXTRA_OF: Final = {
    "numba": "fast",
    "pyarrow": "data",
    "PIL": "render",
    "pygame": "render",
    "filelock": "train",
    "matplotlib": "train",
    "safetensors": "train",
    "scipy": "train",
    "tensorboard": "train",
    "tqdm": "train",
    "torch": "torch",
    "starlette": "web",
    "uvicorn": "web",
}

# Characters that this project prints, for terminals that cannot encode them.
_ASCII: Final = {"·": ".", "●": "X", "○": "O", "—": "-", "–": "-", "±": "+-", "×": "x", "→": "->", "…": "...", "≥": ">=", "≤": "<="}
_PROGRESS_SECONDS: Final = 1.0


class CommandError(Exception):
    """An expected failure while running, such as diverging training: one line, exit code 1."""


class MissingExtraError(ModuleNotFoundError):
    """A library of an extra is missing; the message names the command that installs it."""


def missing_extra(library: str, purpose: str = "this") -> MissingExtraError:
    """Return the error for a library that is not installed.

    purpose: what needs the library, the subject of the message.
    """
    name = library.partition(".")[0]
    return MissingExtraError(f'{purpose} needs {name}; in a clone: pip install -e ".[{EXTRA_OF[name]}]"', name=name)


class _HelpFormatter(argparse.HelpFormatter):
    """Formatter that wraps paragraphs, and leaves texts of several lines as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n" in text else super()._fill_text(text, width, indent)


class Parser(argparse.ArgumentParser):
    """Argument parser with one-line errors, and descriptions and epilogs that may contain lists.

    prog: "python -m " and the module, as a user types it.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **{"formatter_class": _HelpFormatter, **options})

    def error(self, message: str) -> NoReturn:
        """Print one line and exit with code 2."""
        self.exit(EXIT_USAGE, f"{self.prog.rpartition('.')[2]}: {message} (--help lists the options)\n")


def seed(text: str) -> int:
    """Type of a `--seed` argument: a non-negative integer, as NumPy's generators take it."""
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text!r}: expected an integer from 0")
    return value


@contextmanager
def command(name: str, *, interrupted: str = "interrupted", note: Callable[[], str] | None = None) -> Iterator[None]:
    """Run a command: an error that a user can cause ends it with one line and an exit code.

    The line goes to standard error; for the exit codes see the module. name: printed before the
    message. interrupted: the message after Ctrl-C. note: called after an error or Ctrl-C; its text
    is appended to the message, for example where the results so far are. Errors of the program
    itself (`TypeError`, `AssertionError`) keep their traceback. Raises `SystemExit` in place of the
    errors.
    """
    make_output_encodable()

    def message(text: str) -> str:
        return f"{text}; {note()}" if note else text

    try:
        yield
        sys.stdout.flush()
    except Exception as error:
        code = exit_code(error)
        if code is None:
            raise
        _exit(name, message(one_line(error)), code)
    except KeyboardInterrupt:
        _exit(name, message(interrupted), EXIT_INTERRUPTED)


def exit_code(error: BaseException) -> int | None:
    """Return the exit code for an error that a user can cause; None for errors of the program."""
    if isinstance(error, BrokenPipeError):
        return EXIT_BROKEN_PIPE
    if isinstance(error, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    if isinstance(error, CommandError):
        return EXIT_FAILURE
    if isinstance(error, ModuleNotFoundError):
        return EXIT_USAGE if _is_of_an_extra(error) else None
    if isinstance(error, (ValueError, FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)):
        return EXIT_USAGE
    return EXIT_FAILURE if isinstance(error, (OSError, MemoryError)) else None


def _is_of_an_extra(error: ModuleNotFoundError) -> bool:
    return (error.name or "").partition(".")[0] in EXTRA_OF


def one_line(error: BaseException) -> str:
    """Return the message of an error in one line, or the name of its type if it is empty.

    The message for a missing library names its extra.
    """
    if isinstance(error, ModuleNotFoundError) and not isinstance(error, MissingExtraError) and _is_of_an_extra(error):
        return str(missing_extra(str(error.name)))
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


def _exit(name: str, message: str, code: int) -> NoReturn:
    if code == EXIT_BROKEN_PIPE:
        # The reader is gone: buffered output must not fail again when the interpreter flushes it.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    else:
        with suppress(OSError, ValueError):
            print(f"{name}: {message}", file=sys.stderr, flush=True)  # noqa: T201
    raise SystemExit(code)


def explain_import_errors() -> None:
    """Report an import error of a command in one line, as `command` does.

    A package calls this in its `__init__`. It has no effect unless Python is about to run a module
    of the package (`python -m`).
    """
    if sys.argv[:1] != ["-m"]:  # what Python puts there while it locates the module
        return
    sys.excepthook = _explain


def _explain(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    code = exit_code(error)
    if code is None or not isinstance(error, (ImportError, KeyboardInterrupt)):
        sys.__excepthook__(kind, error, traceback)
        return
    _exit(_running_module(), "interrupted" if code == EXIT_INTERRUPTED else one_line(error), code)


def _running_module() -> str:
    """Return the module that `python -m` runs, without its package; for a package, its name."""
    if sys.argv[0] == "-m":  # the package is being imported, its `__main__` is not yet located
        words = sys.orig_argv
        return words[words.index("-m") + 1].rpartition(".")[2] if "-m" in words[:-1] else "python"
    path = Path(sys.argv[0])
    return path.parent.name if path.stem == "__main__" else path.stem


def _to_ascii(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_ASCII.get(character, "?") for character in error.object[error.start : error.end]), error.end


codecs.register_error("othello_env.ascii", _to_ascii)


def make_output_encodable() -> None:
    """Replace characters that standard output and error cannot encode, instead of failing.

    For example, "·" becomes "." in ASCII.
    """
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None and getattr(stream, "errors", None) in ("strict", "surrogateescape", "backslashreplace"):
            with suppress(ValueError, OSError):
                reconfigure(errors="othello_env.ascii")


def format_command(*words: str) -> str:
    """Join words to a command line, quoted for the user's shell (POSIX or Windows)."""
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)


def python_command(module: str, *arguments: str) -> str:
    """Return the command line that runs a module of this project with this interpreter."""
    executable, here = Path(sys.executable), Path.cwd()
    python = str(executable.relative_to(here)) if executable.is_relative_to(here) else str(executable)
    return format_command(python, "-m", module, *arguments)


def _is_shown() -> bool:
    """Return True if somebody can watch standard error: in a terminal or a notebook."""
    return sys.stderr.isatty() or type(sys.stderr).__module__.startswith("ipykernel.")


class Progress:
    """Progress of long work on standard error, with the time left; a context manager.

    Silent where standard error is neither a terminal nor the output of a notebook cell.

    total: None if it is not known. initial: work done before. unit: plural noun. description: text
    before the counts.
    """

    def __init__(self, total: float | None, *, unit: str, initial: float = 0, description: str = "", leave: bool = False) -> None:
        self.done, self._note = initial, ""
        self._total, self._unit, self._description, self._leave = total, unit, description, leave
        self._bar: Any = None
        self._shown = self._created = time.monotonic()
        self.restart_clock()

    def restart_clock(self) -> None:
        """Estimate speed and time left from the work that follows, as after compilation."""
        self._first, self._started = self.done, time.monotonic()
        if self._bar is not None:
            self._bar.leave = False
            self._bar.close()
        try:
            from tqdm import tqdm
        except ImportError:
            return
        self._bar = tqdm(
            total=self._total,
            initial=self.done,
            unit=f" {self._unit}",
            desc=self._description or None,
            postfix=self._note or None,
            smoothing=0.05,
            dynamic_ncols=True,
            disable=not _is_shown(),
            leave=self._leave,
        )

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def update(self, amount: float = 1) -> None:
        """Add completed work."""
        self.done += amount
        if self._bar is not None:
            self._bar.update(amount)
        elif time.monotonic() - self._shown > _PROGRESS_SECONDS and _is_shown():
            self._shown = time.monotonic()
            print(f"\r{self._line()}", end="", file=sys.stderr, flush=True)  # noqa: T201

    def advance(self, done: float, total: float | None = None) -> None:
        """Set the completed work to `done`. total: of all work, if it is known only now."""
        if total is not None and total != self._total:
            self._total = total
            if self._bar is not None:
                self._bar.total = total
        self.update(done - self.done)

    def note(self, text: str) -> None:
        """Show a text after the counts, from the next update on."""
        self._note = text
        if self._bar is not None:
            self._bar.set_postfix_str(text, refresh=False)

    def write(self, line: str) -> None:
        """Print a line to standard output without disturbing the progress line."""
        if self._bar is not None:
            self._bar.clear()
            print(line, flush=True)  # noqa: T201
            self._bar.refresh()
        else:
            print(line, flush=True)  # noqa: T201

    def close(self) -> None:
        """Draw the final state and stop."""
        if self._bar is not None:
            self._bar.refresh()
            self._bar.close()
        elif self._shown > self._created:
            print(file=sys.stderr)  # noqa: T201

    def _line(self) -> str:
        rate = (self.done - self._first) / max(1e-9, time.monotonic() - self._started)
        left = "" if self._total is None or not rate else f", {(self._total - self.done) / rate:.0f} s left"
        of = "" if self._total is None else f" of {self._total:,.0f}"
        return " ".join(f"{self._description} {self.done:,.0f}{of} {self._unit}{left} {self._note}".split())
