"""Starts the foreign programs, talks to them in lines, and keeps the score."""
