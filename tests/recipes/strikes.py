"""Ctrl-C at every place where the interpreter looks for one.

CPython looks for signals when a function or generator goes on, when a loop goes round, and
after a call into C; nowhere else.  A tracer counts these places in the code of the package
and raises KeyboardInterrupt at a chosen one.
"""

from __future__ import annotations

import dis
import gc
import inspect
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import interlock

PACKAGE = str(Path(interlock.__file__).parent)

_GOES_ON = {"RESUME", "JUMP_BACKWARD"}
_CALLS = {"CALL", "CALL_KW", "CALL_FUNCTION_EX"}


@cache
def places(code: CodeType) -> frozenset[int]:
    """The offsets in a code at which a signal can strike."""
    found, previous = set(), None
    for instruction in dis.get_instructions(code):
        if instruction.opname in _GOES_ON:
            found.add(instruction.offset)
        called = previous is not None and previous.opname in _CALLS
        # A signal after a call belongs to the call, and is handled where the call is.
        if called and _handler(code, previous) == _handler(code, instruction):
            found.add(instruction.offset)
        previous = instruction
    return frozenset(found)


def _handler(code: CodeType, instruction: dis.Instruction | None) -> int | None:
    """Which exception handler covers an instruction: the innermost is listed first."""
    assert instruction is not None
    entries: Any = getattr(dis.Bytecode(code), "exception_entries")  # noqa: B009 - not typed
    return next(
        (each.target for each in entries if each.start <= instruction.offset < each.end), None
    )


class Striker:
    """Raises KeyboardInterrupt at the place with number `at`, if the code gets there."""

    def __init__(self, at: int) -> None:
        self.at, self.count = at, 0
        #: Where it struck, for people.
        self.where: str | None = None
        self.quiet = False
        self._returned_to: FrameType | None = None

    def run(self, work: Callable[[], Any]) -> Any:
        """Do the work under the tracer; None when it was struck.

        Garbage waits meanwhile: the finalizers of what an earlier test has left are not a part
        of the work, and would be struck in its stead.
        """
        before = sys.gettrace()
        gc.disable()
        sys.settrace(self._enter)
        try:
            return work()
        except KeyboardInterrupt:
            return None
        finally:
            sys.settrace(before)
            gc.enable()

    def _enter(self, frame: FrameType, event: str, arg: Any) -> Any:
        frame.f_trace_lines = False
        frame.f_trace_opcodes = frame.f_code.co_filename.startswith(PACKAGE)
        return self._trace

    def _trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "return":
            self._returned_to = None if _called_by_c(frame.f_code) else frame.f_back
        elif event == "opcode":
            inlined, self._returned_to = self._returned_to is frame, None
            if not inlined and not self.quiet and frame.f_lasti in places(frame.f_code):
                self._strike(frame)
        return self._trace

    def _strike(self, frame: FrameType) -> None:
        self.count += 1
        if self.count == self.at:
            file = Path(frame.f_code.co_filename).relative_to(PACKAGE)
            self.where = f"{file}:{frame.f_lineno} in {frame.f_code.co_name}"
            raise KeyboardInterrupt


def _called_by_c(code: CodeType) -> bool:
    """Whether the interpreter looks for signals when this function has returned."""
    return bool(code.co_flags & inspect.CO_GENERATOR) or code.co_name == "__init__"
