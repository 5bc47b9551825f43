"""Which Sentinel is believed, and what answers of a server mean: decided without any I/O."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from interlock.backends.redis.topology import (
    ANSWER,
    RESET,
    Primary,
    Questions,
    SentinelsBehind,
    is_demoted,
    read_primary,
    search,
    sentinel_refused,
)
from interlock.backends.redis.transport.factories import UrlFactory
from interlock.backends.redis.transport.sentinels import Sentinels, sentinel_settings
from interlock.backends.redis.url import read_url
from interlock.errors import StoreError, StoreMisconfigured, StoreUnavailable

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
    ("state", "replaced"),
    [("wait_promotion", False), ("reconf_slaves", True), ("update_config", True)],
)
def test_a_sentinel_that_has_promoted_another_does_not_count_with_the_old_one(
    state: str, replaced: bool
) -> None:
    words = b"ip h port 7 flags master,failover_in_progress config-epoch 12 failover-state".split()
    assert read_primary([*words, state.encode()]).down is replaced


@pytest.mark.parametrize(
    ("runid", "flags", "up"),
    [
        (b"7f", b"slave", 1),
        (b"7f", b"slave,disconnected", 1),
        (b"7f", b"slave,promoted", 1),
        (b"7f", b"s_down,slave", 0),
        (b"7f", b"o_down,slave,disconnected", 0),
        (b"", b"slave", 0),
    ],
)
def test_a_replica_counts_that_was_heard_of_and_is_not_down(
    runid: bytes, flags: bytes, up: int
) -> None:
    words = b"ip h port 7 flags master config-epoch 1".split()
    primary = read_primary(words, [[b"ip", b"h", b"runid", runid, b"flags", flags]])
    assert (primary.replicas, primary.absent) == (up, 1 - up)


# --- which replicas are up -----------------------------------------------------------------------

ALONE, LEFT = NEW._replace(replicas=0, absent=2), NEW._replace(replicas=1, absent=1)


def test_one_sentinel_is_enough_that_sees_a_replica_or_knows_none() -> None:
    assert searched(LEFT, ALONE, ALONE) == (LEFT, [0])
    assert searched(NEW, ALONE, ALONE) == (NEW, [0])


def test_that_all_replicas_are_down_is_said_by_most_sentinels() -> None:
    assert searched(ALONE, ALONE, LEFT) == (ALONE, [0, 1])
    assert searched(ALONE) == (ALONE, [0])


def test_a_replica_counts_that_any_sentinel_sees_before_most_see_none() -> None:
    found, asked = searched(ALONE, SILENT, LEFT)
    assert (found.address, found.replicas, asked) == (NEW.address, 1, [0, 1, 2])


def test_too_few_sentinels_cannot_say_that_all_replicas_are_down() -> None:
    for others in ((SILENT, SILENT), (DOWN, SILENT), (OLD, SILENT)):
        found, asked = searched(ALONE, *others, newest=5)
        assert (found.address, found.replicas, asked) == (NEW.address, 1, [0, 1, 2])
    cut = ALONE._replace(cut=True)
    assert searched(cut, SILENT, SILENT)[0].replicas == 1
    assert searched(cut, cut, SILENT)[0].replicas == 0


def test_sentinels_that_are_asked_for_replicas_may_name_a_newer_primary() -> None:
    behind = OLD._replace(absent=1)
    assert searched(behind, NEW, OLD) == (NEW, [0, 1])
    assert searched(behind, ALONE, behind)[0] == ALONE._replace(replicas=1)


# --- what a refusal means ------------------------------------------------------------------------


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
