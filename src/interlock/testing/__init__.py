"""For tests of programs that use Interlock, and for authors of backends."""

from .pretending import pretend_held as pretend_held

__all__ = ["pretend_held"]
