"""Which Sentinel is believed, and what answers of a server mean: decided without any I/O."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from interlock.backends.redis.scripts import script
from interlock.backends.redis.topology import (
    ANSWER,
    CONFIRMATION,
    RESET,
    Primary,
    Questions,
    SentinelsBehind,
    Unconfirmed,
    is_demoted,
    needs_confirmation,
    read_primary,
    replicas_to_wait_for,
    search,
    sentinel_refused,
    unconfirmed,
    wait_command,
)
from interlock.backends.redis.transport.factories import UrlFactory
from interlock.backends.redis.transport.sentinels import Sentinels, sentinel_settings
from interlock.backends.redis.url import read_url
from interlock.errors import OutcomeUnknown, StoreError, StoreMisconfigured, StoreUnavailable
from interlock.steps import Call

LABEL = "redis+sentinel://a,b,c/m/0"
SETTINGS = read_url(LABEL)

OLD, NEW = Primary("old", 1, 4, False), Primary("new", 2, 5, False)
DOWN, CUT = OLD._replace(down=True), OLD._replace(cut=True)
SILENT = StoreUnavailable("cannot reach Sentinel b: timed out")
WRONG = StoreMisconfigured("Sentinel c refused the user name or password")


def searched(
    *answers: Primary | StoreError, newest: int = -1, reset: bool = False
) -> tuple[Any, list[int]]:
    """What comes of a search whose Sentinels answer so, and which of them were asked."""
    steps, asked = search(range(len(answers)), newest, lambda: 100.0, 102.0, LABEL, reset), []
    answer: Any = None
    try:
        while True:
            which, _ = steps.send(answer)
            asked.append(which)
            answer = answers[which]
    except StopIteration as found:
        return found.value, asked


def test_the_first_sentinel_that_can_be_believed_is_enough() -> None:
    assert searched(NEW, OLD, OLD) == (NEW, [0])


@pytest.mark.parametrize("first", [DOWN, CUT, SILENT, WRONG])
def test_a_sentinel_that_knows_no_primary_is_passed_over(first: Primary | StoreError) -> None:
    assert searched(first, NEW, NEW) == (NEW, [0, 1])


def test_a_sentinel_that_is_behind_is_not_believed() -> None:
    assert searched(OLD, NEW, newest=5) == (NEW, [0, 1])
    with pytest.raises(StoreUnavailable, match="behind a failover"):
        searched(OLD, SILENT, newest=5)


def test_sentinels_that_all_forgot_are_believed() -> None:
    assert searched(OLD, OLD._replace(epoch=0), newest=5) == (OLD, [0, 1])


def test_a_majority_that_agrees_is_believed_after_a_reset() -> None:
    assert searched(SILENT, OLD, OLD, newest=5, reset=True) == (OLD, [0, 1, 2])
    forgot = OLD._replace(epoch=0)
    assert searched(forgot, WRONG, OLD, newest=5, reset=True) == (OLD, [0, 1, 2])
    assert searched(OLD, NEW, OLD, newest=5, reset=True) == (NEW, [0, 1])
    for others in ((SILENT, OLD._replace(host="third")), (SILENT, DOWN), (OLD, SILENT, SILENT)):
        with pytest.raises(SentinelsBehind, match="behind a failover"):
            searched(OLD, *others, newest=5, reset=True)
    with pytest.raises(SentinelsBehind, match="behind a failover"):
        searched(SILENT, OLD, OLD, newest=5)


# --- what is written down ------------------------------------------------------------------------


def watched(*primaries: Primary) -> Sentinels:
    """Three Sentinels, of which these are known, one after another."""
    watchers: Any = [UrlFactory(each) for each in sentinel_settings(SETTINGS)]
    sentinels = Sentinels("m", LABEL, watchers, lambda: None)
    for each in primaries:
        begun = asked_first(sentinels)
        answered(begun, each)
    return sentinels


def asked_first(sentinels: Sentinels) -> Questions:
    """Begin to ask, as one thread of several."""
    sentinels.suspect()
    steps = sentinels._find(100.0)
    next(steps)
    return steps


def answered(steps: Questions, *answers: Primary | StoreError) -> None:
    with pytest.raises(StopIteration):
        for each in answers:
            steps.send(each)


def test_an_answer_that_was_overtaken_by_a_newer_one_is_dropped() -> None:
    sentinels = watched(OLD)
    slow, quick = asked_first(sentinels), asked_first(sentinels)
    answered(quick, NEW)
    answered(slow, OLD)
    assert sentinels.primary == NEW
    assert sentinels.moves == 1


def test_a_newer_answer_counts_though_another_thread_has_asked_meanwhile() -> None:
    sentinels = watched(OLD)
    slow, quick = asked_first(sentinels), asked_first(sentinels)
    answered(quick, OLD)
    answered(slow, NEW)
    assert sentinels.primary == NEW


def test_a_majority_that_stays_behind_is_believed_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sentinels, clock = watched(NEW), [1000.0]
    monkeypatch.setattr("interlock.backends.redis.transport.sentinels.now", lambda: clock[0])
    for at in (1000.0, 1000.0 + RESET / 2):
        clock[0] = at
        with pytest.raises(SentinelsBehind):
            answered(asked_first(sentinels), SILENT, OLD, OLD)
        assert sentinels.primary == NEW
    clock[0] = 1000.0 + RESET
    answered(asked_first(sentinels), SILENT, OLD, OLD)
    assert sentinels.primary == OLD


def test_a_majority_that_was_behind_before_is_not_believed_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sentinels, clock = watched(NEW), [1000.0]
    monkeypatch.setattr("interlock.backends.redis.transport.sentinels.now", lambda: clock[0])
    for at, answers in ((1000.0, (SILENT, OLD, OLD)), (1000.0 + RESET, (NEW,))):
        clock[0], steps = at, asked_first(sentinels)
        with suppress(SentinelsBehind, StopIteration):
            for each in answers:
                steps.send(each)
    clock[0] += 1.0
    with pytest.raises(SentinelsBehind):
        answered(asked_first(sentinels), SILENT, OLD, OLD)


def test_sentinels_that_all_forgot_name_the_primary() -> None:
    sentinels = watched(NEW)
    answered(asked_first(sentinels), OLD, OLD, OLD)
    assert sentinels.primary == OLD


def test_a_primary_that_is_down_is_named() -> None:
    with pytest.raises(StoreUnavailable, match="see its primary old:1 down"):
        searched(DOWN, SILENT, DOWN)


def test_sentinels_that_have_all_lost_a_connection_to_the_primary_are_believed() -> None:
    assert searched(CUT, SILENT, CUT) == (CUT, [0, 1, 2])
    assert searched(CUT, DOWN, NEW._replace(cut=True)) == (NEW._replace(cut=True), [0, 1, 2])
    with pytest.raises(StoreUnavailable, match="behind a failover"):
        searched(CUT, SILENT, newest=5)


def test_what_is_set_up_wrongly_counts_more_than_silence() -> None:
    with pytest.raises(StoreMisconfigured, match="refused the user name"):
        searched(SILENT, WRONG, SILENT)
    with pytest.raises(StoreUnavailable, match=r"no Sentinel of .* answers: cannot reach"):
        searched(SILENT, SILENT)


def test_each_sentinel_has_its_share_of_the_time() -> None:
    steps = search((2, 0, 1), -1, lambda: 100.0, 101.5, LABEL)
    assert next(steps) == (2, 100.5)
    assert steps.send(SILENT) == (0, 100.75)
    assert next(search((0,), -1, lambda: 100.0, 200.0, LABEL)) == (0, 100.0 + ANSWER)


def test_the_answer_of_a_sentinel_is_read() -> None:
    words = b"name m ip ::1 port 7 flags master,s_down num-slaves 2 config-epoch 12".split()
    assert read_primary(words) == Primary("::1", 7, 12, True)
    assert read_primary(words).address == "[::1]:7"
    words[7] = b"master,disconnected"
    assert read_primary(words) == Primary("::1", 7, 12, False, cut=True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("No such master with that name", "knows no service 'm'"),
        ("unknown command 'SENTINEL', with args beginning with: ", "is no Sentinel"),
        ("NOAUTH Authentication required.", "pass sentinel_password="),
        ("this user has no permissions to run the 'sentinel|master' command", "in its ACL"),
    ],
)
def test_a_refusal_of_a_sentinel_is_one_sentence(text: str, words: str) -> None:
    refusal = sentinel_refused(text, "Sentinel a:1", "m", LABEL)
    assert isinstance(refusal, StoreMisconfigured)
    assert words in str(refusal)
    assert "Sentinel a:1" in str(refusal)


@pytest.mark.parametrize(
    ("text", "demoted"),
    [
        ("READONLY You can't write against a read only replica.", True),
        ("ERR Error running script: @user_script: 1: -READONLY You can't write", True),
        ("UNBLOCKED force unblock from blocking operation, instance state changed", True),
        ("ERR WAIT cannot be used with replica instances. Please also note", True),
        ("MASTERDOWN Link with MASTER is down", True),
        ("LOADING Redis is loading the dataset in memory", False),
        ("BUSY Redis is busy running a script.", False),
    ],
)
def test_a_server_that_is_no_primary_is_known_by_its_words(text: str, demoted: bool) -> None:
    assert is_demoted(text) is demoted


def test_a_role_says_how_many_replicas_are_waited_for() -> None:
    two: list[Any] = [b"master", 7, [[b"h", b"1", b"7"], [b"h", b"2", b"7"]]]
    assert replicas_to_wait_for(two, None, LABEL) == 1
    assert replicas_to_wait_for([b"master", 7, []], None, LABEL) == 0
    assert replicas_to_wait_for(two, 0, LABEL) == 0
    assert replicas_to_wait_for(["master", 7, []], 2, LABEL) == 2
    with pytest.raises(StoreUnavailable, match="replica by now"):
        replicas_to_wait_for([b"slave", b"h", 1, b"connected", 7], None, LABEL)


def asked(name: str) -> Call:
    return Call(script(name), ("k", "j"), (), 0.0)


def test_only_what_was_written_is_confirmed() -> None:
    assert needs_confirmation(asked("lock_attempt"), [1, b"17"])
    assert not needs_confirmation(asked("lock_attempt"), [0, b"holder", 100])
    assert needs_confirmation(asked("lock_renew"), [1, 0, 1])
    assert not needs_confirmation(asked("lock_renew"), [1, 0, 0])
    assert not needs_confirmation(asked("lock_release"), [1])
    assert not needs_confirmation(asked("lock_renew"), StoreUnavailable("full"))


def test_waiting_ends_before_the_caller_does_and_never_lasts_for_ever() -> None:
    assert wait_command(2, 60.0) == ("WAIT", "2", str(int(CONFIRMATION * 1000)))
    assert wait_command(1, 0.5) == ("WAIT", "1", "350")
    assert wait_command(1, -5.0) == ("WAIT", "1", "1")


def test_too_few_acknowledgements_are_an_error_that_counts_them() -> None:
    assert unconfirmed(asked("lock_attempt"), 2, 2, LABEL) is None
    grant = unconfirmed(asked("mutex_attempt"), 1, 2, LABEL)
    assert isinstance(grant, Unconfirmed)
    assert grant.partial
    assert "1 of 2 replicas" in str(grant)
    assert "lock 'k'" in str(grant)
    assert LABEL in str(grant)
    assert "a renewal" in str(unconfirmed(asked("lock_renew"), 0, 1, LABEL))


@pytest.mark.parametrize("kind", [OutcomeUnknown, StoreMisconfigured])
def test_a_failure_to_ask_is_passed_on_as_one_of_what_was_executed(
    kind: type[StoreError],
) -> None:
    why = unconfirmed(asked("lock_attempt"), kind("what it was"), 1, LABEL)
    assert isinstance(why, kind)
    assert why.partial
