"""Foreign clients on the same names: what each does must be respected by all."""
