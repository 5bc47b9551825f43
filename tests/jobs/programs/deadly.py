"""What the job and its judge both know."""

from __future__ import annotations

#: Of so many ticks one kills its runner, the first time that it is run.
DEADLY = 10
