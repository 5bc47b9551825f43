"""The contract, proved.  Whoever comes here first has the claims say what they saw."""

import pytest

# Before anything of it is imported, or its assertions would be silent.
pytest.register_assert_rewrite("interlock.testing.contract")
