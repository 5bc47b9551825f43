"""What the help, the page and the man page say beside the commands themselves."""

from __future__ import annotations

from . import codes

#: Variables in the environment: those that are read, and those that a command finds.
ENVIRONMENT = (
    ("INTERLOCK_URL", "the store, where --url does not say it; a command finds --url in it"),
    ("INTERLOCK_NAME", "`run`: the name that is held, for the command"),
    ("INTERLOCK_TOKEN", "`run`: the fencing token of the grant, for the command"),
    ("INTERLOCK_OWNER", "`run`: the acquisition, unique and never used again, for the command"),
    ("INTERLOCK_HELD", "`run`: the owners of all runs around the command, for those inside"),
)

#: For each shell, what to put where.
COMPLETION = (
    ("bash", "~/.bashrc", 'eval "$(_INTERLOCK_COMPLETE=bash_source interlock)"'),
    ("zsh", "~/.zshrc", 'eval "$(_INTERLOCK_COMPLETE=zsh_source interlock)"'),
    (
        "fish",
        "~/.config/fish/completions/interlock.fish",
        "_INTERLOCK_COMPLETE=fish_source interlock | source",
    ),
)

EXIT_CODES = codes.MEANINGS
