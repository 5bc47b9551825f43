"""Tests."""

import pytest

# Before anything of the contract is imported, or its assertions would be silent.
pytest.register_assert_rewrite("interlock.testing.contract")
