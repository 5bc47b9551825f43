"""The fixtures that programs are tested with."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

TEST_OF_A_USER = """
    import interlock
    import pytest

    pytest_plugins = ["interlock.testing.plugin"]

    def test_a_client_for_threads(memory_interlock):
        with memory_interlock.lock("orders") as hold:
            assert not hold.lost

    def test_each_test_has_a_store_of_its_own(memory_interlock):
        assert memory_interlock.lock("orders").acquire(blocking=False)

    def test_nothing_is_left_of_another_test(memory_interlock):
        assert memory_interlock.lock("orders").acquire(blocking=False)

    def test_protected_function_without_a_lock(pretend_held):
        pretend_held("orders:*")
        interlock.assert_held("orders:42")

    def test_nothing_is_pretended_in_another_test():
        with pytest.raises(interlock.NotHeld):
            interlock.assert_held("orders:42")
"""


@pytest.mark.slow
def test_a_user_gets_a_client_of_an_empty_store(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TEST_OF_A_USER)

    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:unraisableexception")

    result.assert_outcomes(passed=5)
