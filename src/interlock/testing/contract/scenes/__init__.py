"""Scenes with which claims begin: who holds what, and who waits for it."""
