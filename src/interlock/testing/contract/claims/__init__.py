"""The claims, by what they are about."""
