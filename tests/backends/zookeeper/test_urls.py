"""Our own reader of ZooKeeper URLs: what it accepts and refuses, and that it keeps secrets."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from kazoo.security import ACL, ANYONE_ID_UNSAFE, CREATOR_ALL_ACL, OPEN_ACL_UNSAFE

import interlock
from interlock import Unsupported, UsageError, aio
from interlock.backends.zookeeper.transport.client_thread import client_options
from interlock.backends.zookeeper.url import ZkSettings, read_url, with_options
from tests.support.zookeepers import ZooKeeperServer

from ...support.worlds import World, check_works

CANARY = "c4n4ry"

CREATOR, OPEN = tuple(CREATOR_ALL_ACL), tuple(OPEN_ACL_UNSAFE)
USER = {"username": "user", "password": "pw", "acl": CREATOR}

ACCEPTED: dict[str, dict[str, Any]] = {
    "zk://h": {"hosts": "h:2181"},
    "ZK://h": {"hosts": "h:2181"},
    "zk://h:7": {"hosts": "h:7"},
    "zk://h/": {"hosts": "h:2181"},
    "zk://h/a": {"hosts": "h:2181", "root": "/a"},
    "zk://h/a/b//": {"hosts": "h:2181", "root": "/a/b"},
    "zk://h/a%20b%2Fc": {"hosts": "h:2181", "root": "/a b/c"},
    "zk://h/gr%C3%BCn": {"hosts": "h:2181", "root": "/grün"},
    "zk://h1,h2:2182,h-3.example": {"hosts": "h1:2181,h2:2182,h-3.example:2181"},
    "zk://[::1]": {"hosts": "[::1]:2181"},
    "zk://10.0.0.1:7,[::1]:2183/a": {"hosts": "10.0.0.1:7,[::1]:2183", "root": "/a"},
    "zk://user:pw@h": {"hosts": "h:2181", **USER},
    "zk://user:pw@h1,h2": {"hosts": "h1:2181,h2:2181", **USER},
    "zk://user:p%40%2F%3F%23w@h": {"hosts": "h:2181", **USER, "password": "p@/?#w"},
    "zk://user:a:b@h": {"hosts": "h:2181", **USER, "password": "a:b"},
    "zk://user:a@b@h": {"hosts": "h:2181", **USER, "password": "a@b"},
    "zk://user@h": {"hosts": "h:2181", "username": "user"},
    "zks://h": {"hosts": "h:2181", "tls": True},
    "zks://h?ca_certs=/ca.pem&certfile=/me.pem&keyfile=/me.key": {
        "hosts": "h:2181",
        "tls": True,
        "ca_certs": "/ca.pem",
        "certfile": "/me.pem",
        "keyfile": "/me.key",
    },
    "zk://h?session_timeout=20s&connect_timeout=500ms": {
        "hosts": "h:2181",
        "session_timeout": 20.0,
        "connect_timeout": 0.5,
    },
    "zk://h/a?session_timeout=4": {"hosts": "h:2181", "root": "/a", "session_timeout": 4.0},
}


@pytest.mark.parametrize("url", ACCEPTED)
def test_url_is_read(url: str) -> None:
    assert read_url(url) == ZkSettings(**ACCEPTED[url])


REFUSED = {
    "no hosts": "zk://",
    "no hosts but a chroot": f"zk://u:{CANARY}@/a",
    "no slashes": f"zk:{CANARY}",
    "empty host": f"zk://u:{CANARY}@h1,,h2",
    "host that ends in a comma": f"zk://u:{CANARY}@h1,",
    "port without a host": f"zk://u:{CANARY}@:2181",
    "unknown parameter": f"zk://u:{CANARY}@h?timeout=1",
    "password as a parameter": f"zk://h?password={CANARY}",
    "verification off": f"zks://u:{CANARY}@h?verify_certs=false",
    "insecure by URL": f"zks://u:{CANARY}@h?insecure_tls=true",
    "host name check off": f"zks://u:{CANARY}@h?check_hostname=false",
    "rights by URL": f"zk://u:{CANARY}@h?acl=open",
    "NaN session": f"zk://u:{CANARY}@h?session_timeout=nan",
    "infinite session": f"zk://u:{CANARY}@h?session_timeout=inf",
    "no session at all": f"zk://u:{CANARY}@h?session_timeout=0",
    "negative timeout": f"zk://u:{CANARY}@h?connect_timeout=-1",
    "timeout in words": f"zk://u:{CANARY}@h?connect_timeout=soon",
    "no file": f"zks://u:{CANARY}@h?ca_certs=",
    "line break in a file": f"zks://u:{CANARY}@h?ca_certs=/a%0ab",
    "line break": f"zk://u:{CANARY}@ho\nst",
    "space": f"zk://u:{CANARY}@ho st",
    "escape in the host": f"zk://u:{CANARY}@ho%0ast",
    "at sign in the host": f"zk://u:{CANARY}@ho%40st",
    "host that is none": f"zk://u:{CANARY}@ho\u2100st",
    "port in words": f"zk://u:{CANARY}@h:port",
    "port zero": f"zk://u:{CANARY}@h:0",
    "port too large": f"zk://u:{CANARY}@h:65536",
    "negative port": f"zk://u:{CANARY}@h:-1",
    "empty port": f"zk://u:{CANARY}@h:",
    "broken IPv6": f"zk://u:{CANARY}@[::1",
    "IPv6 that is none": f"zk://u:{CANARY}@[fish]",
    "IPv6 without brackets": f"zk://u:{CANARY}@::1",
    "empty part in the chroot": f"zk://u:{CANARY}@h//a",
    "empty part inside the chroot": f"zk://u:{CANARY}@h/a//b",
    "dots in the chroot": f"zk://u:{CANARY}@h/a/../b",
    "dot in the chroot": f"zk://u:{CANARY}@h/a/./b",
    "NUL in the chroot": f"zk://u:{CANARY}@h/a%00b",
    "bytes that are no text in the chroot": f"zk://u:{CANARY}@h/a%FF",
    "percent sign in the chroot": f"zk://u:{CANARY}@h/a%25b",
    "the chroot is ZooKeeper's own": f"zk://u:{CANARY}@h/zookeeper/a",
    "parameter without a value": f"zk://h?{CANARY}",
    "fragment": f"zk://u:12#{CANARY}@h",
    "bare slash in the password": f"zk://user:12/{CANARY}@h",
    "bare question mark in the password": f"zk://user:12?{CANARY}=1@h",
}


@pytest.mark.parametrize("wrong", REFUSED)
def test_url_is_refused_without_repeating_the_password(wrong: str) -> None:
    with pytest.raises(UsageError) as refusal:
        read_url(REFUSED[wrong])
    assert CANARY not in str(refusal.value)
    assert refusal.value.__cause__ is None
    assert refusal.value.__context__ is None or refusal.value.__suppress_context__


@pytest.mark.parametrize("wrong", REFUSED)
def test_connecting_by_a_wrong_url_fails_the_same_way(wrong: str) -> None:
    for connect in (interlock.connect, aio.connect):
        with pytest.raises(UsageError) as refusal:
            connect(REFUSED[wrong])
        assert CANARY not in str(refusal.value)


def test_settings_never_show_a_secret() -> None:
    told = {"auth": [("x", CANARY)], "sasl": {"mechanism": "DIGEST-MD5", "password": CANARY}}
    settings = ZkSettings("h:7", username="user", password=CANARY, **told)  # type: ignore[arg-type]
    assert CANARY not in repr(settings) + str(settings) + settings.label


def test_kazoo_is_told_a_password_that_does_not_show_itself() -> None:
    """Kazoo writes every request into its log, credentials and all."""
    ((scheme, credential),) = client_options(read_url(f"zk://user:{CANARY}@h"))["auth_data"]
    assert (scheme, credential) == ("digest", f"user:{CANARY}")
    assert CANARY not in repr(credential)


def test_label_names_the_servers() -> None:
    url = f"zks://u:{CANARY}@[::1]:7,h/a/b/?session_timeout=3"
    assert read_url(url).label == "zks://[::1]:7,h:2181/a/b"
    assert read_url("zk://h").label == "zk://h:2181/"


# --- what is said in code ----------------------------------------------------------------------


def given(url: str = "zk://h", **options: Any) -> ZkSettings:
    return with_options(read_url(url), options)


def test_code_counts_more_than_the_url() -> None:
    settings = given("zk://u:no@h?session_timeout=3", password="pw", session_timeout=7)
    assert (settings.username, settings.password, settings.session_timeout) == ("u", "pw", 7.0)


def test_who_says_who_he_is_keeps_his_nodes_to_himself() -> None:
    assert given().acl == OPEN
    assert given("zk://u:pw@h").acl == CREATOR
    assert given(username="u", password=lambda: "pw").acl == CREATOR
    assert given(auth=[("digest", "u:pw")]).acl == CREATOR


def test_rights_are_what_they_were_said_to_be() -> None:
    readers = ACL(1, ANYONE_ID_UNSAFE)
    assert given("zk://u:pw@h", acl="open").acl == OPEN
    assert given("zks://h?certfile=/me.pem", acl="creator").acl == CREATOR
    assert given("zk://u:pw@h", acl=[*CREATOR, readers]).acl == (*CREATOR, readers)


def test_password_function_is_asked_at_each_session() -> None:
    words = iter(("first", "second"))
    settings = given(username="u", password=lambda: next(words))
    asked = [client_options(settings)["auth_data"] for _ in range(2)]
    assert asked == [[("digest", "u:first")], [("digest", "u:second")]]


WRONG: dict[str, tuple[type[Exception], str, dict[str, Any]]] = {
    "user without a password": (UsageError, f"zk://{CANARY}@h", {}),
    "password without a user": (UsageError, f"zk://:{CANARY}@h", {}),
    "colon in the user": (UsageError, "zk://h", {"username": "a:b", "password": CANARY}),
    "password that is no text": (TypeError, "zk://u@h", {"password": 7}),
    "user that is no text": (TypeError, "zk://h", {"username": 7, "password": CANARY}),
    "credentials that are no pairs": (TypeError, "zk://h", {"auth": [CANARY]}),
    "credentials in bytes": (TypeError, "zk://h", {"auth": [("x", CANARY.encode())]}),
    "SASL as a scheme": (UsageError, "zk://h", {"auth": [("sasl", CANARY)]}),
    "SASL without a mechanism": (UsageError, "zk://h", {"sasl": {"password": CANARY}}),
    "unknown rights": (UsageError, "zk://h", {"acl": "mine"}),
    "no rights at all": (UsageError, "zk://h", {"acl": []}),
    "rights that are none": (UsageError, "zk://h", {"acl": ["world:anyone"]}),
    "rights for an unknown creator": (UsageError, "zk://h", {"acl": "creator"}),
    "certificates without TLS": (UsageError, "zk://h?ca_certs=/ca.pem", {}),
    "insecure without TLS": (UsageError, "zk://h", {"insecure_tls": True}),
    "key without a certificate": (UsageError, "zks://h?keyfile=/me.key", {}),
    "session in words": (TypeError, "zk://h", {"session_timeout": "10s"}),
    "no session": (UsageError, "zk://h", {"session_timeout": 0}),
    "unknown option": (TypeError, "zk://h", {"pasword": CANARY}),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_options_are_refused_without_repeating_them(wrong: str) -> None:
    kind, url, options = WRONG[wrong]
    with pytest.raises(kind) as refusal:
        interlock.connect(url, **options)
    assert CANARY not in str(refusal.value)


def test_sasl_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "puresasl", None)
    with pytest.raises(Unsupported, match="pip install pure-sasl"):
        interlock.connect("zk://h", sasl={"mechanism": "GSSAPI"})


# --- what the servers make of it ---------------------------------------------------------------


@pytest.mark.server
def test_chroot_with_anything_in_it_is_made(
    world: World, zookeeper: ZooKeeperServer, peek: Any
) -> None:
    url = f"zk://{zookeeper.hosts}{peek.chroot}/a%20b/gr%C3%BCn/"
    check_works(world, lambda: world.connect(url))
    assert peek.exists("/a b/grün/k")


@pytest.mark.server
def test_server_that_does_not_run_is_passed_over(
    world: World, zookeeper: ZooKeeperServer, zk_path: str
) -> None:
    url = f"zk://127.0.0.1:1,{zookeeper.hosts},127.0.0.1:2{zk_path}"
    check_works(world, lambda: world.connect(url))
