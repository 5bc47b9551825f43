"""Who may do what: credentials reach the servers, and so do the rights on what we make."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from kazoo.security import ACL, ANYONE_ID_UNSAFE, Id, Permissions, make_digest_acl

from interlock import StoreMisconfigured, StoreUnavailable
from interlock.events import Woken
from tests.support.zookeepers import ZooKeeperServer

from ...support.worlds import World, check_works
from .bare import bare
from .scenes import Waiter, eventually

pytestmark = pytest.mark.server

MINE = make_digest_acl("user", "pw", all=True)
ADMIN = make_digest_acl("admin", "pw", all=True)
OTHERS_READ = ACL(Permissions.READ, ANYONE_ID_UNSAFE)
EVERYBODY = ACL(Permissions.ALL, ANYONE_ID_UNSAFE)


@contextmanager
def known(hosts: str, *credentials: str) -> Iterator[Any]:
    """Plain kazoo that says who it is."""
    with bare(hosts) as client:
        for credential in credentials:
            client.add_auth("digest", credential)
        yield client


@pytest.fixture
def admin(zookeeper: ZooKeeperServer) -> Iterator[Any]:
    with known(zookeeper.hosts, "admin:pw", "user:pw") as client:
        yield client


@pytest.fixture
def url(zookeeper: ZooKeeperServer, zk_path: str) -> str:
    """The URL of an empty path, with the user and the password."""
    return f"zk://user:pw@{zookeeper.hosts}{zk_path}"


def tree(client: Any, path: str) -> Iterator[str]:
    """A node and all that is below it."""
    yield path
    for child in client.get_children(path):
        yield from tree(client, f"{path}/{child}")


def rights(admin: Any, path: str) -> set[Any]:
    """The different ACLs of all nodes below a path."""
    return {tuple(admin.get_acls(each)[0]) for each in tree(admin, path)}


# --- rights on what we make --------------------------------------------------------------------


def seen_rights(world: World, admin: Any, url: str, path: str, **options: Any) -> set[Any]:
    """The ACLs of everything that a client makes while it holds a lock."""
    hold = world.do(world.connect(url, **options).lock("k").acquire)
    clients = f"{path}/interlock:clients"
    eventually(lambda: admin.exists(clients) and admin.get_children(clients), "nobody is there")
    seen = rights(admin, path)
    world.do(hold.release)
    return seen


def test_with_a_password_every_node_is_its_creators(
    world: World, admin: Any, url: str, zk_path: str
) -> None:
    assert seen_rights(world, admin, url, zk_path) == {(MINE,)}


def test_without_a_password_every_node_is_everybodys(
    world: World, admin: Any, zk_url: str, zk_path: str
) -> None:
    assert seen_rights(world, admin, zk_url, zk_path) == {(EVERYBODY,)}


def test_rights_can_be_open_though_there_is_a_password(
    world: World, admin: Any, url: str, zk_path: str
) -> None:
    assert seen_rights(world, admin, url, zk_path, acl="open") == {(EVERYBODY,)}


def test_rights_are_those_of_a_list(world: World, admin: Any, url: str, zk_path: str) -> None:
    acl = [MINE, OTHERS_READ]
    assert seen_rights(world, admin, url, zk_path, acl=acl) == {tuple(acl)}


def test_rights_that_no_server_knows_are_one_clear_error(
    world: World, zk_url: str, zk_path: str, admin: Any
) -> None:
    client = world.connect(zk_url, acl=[ACL(Permissions.ALL, Id("nosuch", "x"))])
    with pytest.raises(StoreMisconfigured, match="refused the rights that acl= gives"):
        world.do(client.lock("k").acquire)
    assert not admin.exists(zk_path)


# --- who has them ------------------------------------------------------------------------------


def test_those_with_the_password_share_a_lock(world: World, url: str) -> None:
    check_works(world, lambda: world.connect(url))


def test_user_and_password_may_be_told_in_code(world: World, url: str, zk_url: str) -> None:
    hold = world.do(world.connect(url).lock("k").acquire)
    second = world.connect(zk_url, username="user", password=lambda: "pw")
    assert world.do(lambda: second.lock("k").acquire(blocking=False)) is None
    third = world.connect(zk_url, auth=[("digest", "user:pw")])
    assert world.do(lambda: third.lock("k").acquire(blocking=False)) is None
    world.do(hold.release)


def test_password_function_that_fails_is_told(world: World, zk_url: str) -> None:
    def ask() -> str:
        raise RuntimeError("the safe is closed")

    client = world.connect(zk_url, username="user", password=ask)
    with pytest.raises(StoreUnavailable, match=r"password function .* raised RuntimeError"):
        world.do(client.lock("k", timeout=0.2).acquire)


@pytest.mark.parametrize("who", ["", "user:wrong@"])
def test_who_has_no_right_is_told_where_and_what_to_do(
    world: World, admin: Any, url: str, zk_path: str, who: str
) -> None:
    world.do(world.do(world.connect(url).lock("k").acquire).release)
    client = world.connect(url.replace("user:pw@", who))
    sentence = f"the ACL of {zk_path}/k denies this client the right CREATE: connect as a user"
    with pytest.raises(StoreMisconfigured, match=sentence):
        world.do(client.lock("k").acquire)
    assert admin.get_children(f"{zk_path}/k") == []


def test_chroot_of_an_operator_is_used_where_nothing_else_may_be_made(
    world: World, admin: Any, zookeeper: ZooKeeperServer, zk_path: str
) -> None:
    """A server denies to make a directory before it says that it is there."""
    admin.create(zk_path, acl=[ADMIN, OTHERS_READ])
    admin.create(f"{zk_path}/ours", acl=[MINE])
    url = f"zk://user:pw@{zookeeper.hosts}{zk_path}/ours"
    check_works(world, lambda: world.connect(url))
    assert admin.exists(f"{zk_path}/ours/k")


def test_chroot_that_may_not_be_made_is_told(
    world: World, admin: Any, zookeeper: ZooKeeperServer, zk_path: str
) -> None:
    admin.create(zk_path, acl=[ADMIN, OTHERS_READ])
    client = world.connect(f"zk://user:pw@{zookeeper.hosts}{zk_path}/ours")
    with pytest.raises(StoreMisconfigured, match=f"ACL of {zk_path} denies .* CREATE"):
        world.do(client.lock("k").acquire)
    assert admin.get_children(zk_path) == []


def test_who_may_not_read_the_one_before_is_woken_all_the_same(
    world: World, admin: Any, url: str, zookeeper: ZooKeeperServer, zk_path: str
) -> None:
    """Servers say nothing of a node that one may not read, but of its directory they do."""
    admin.create(zk_path, acl=[EVERYBODY])
    admin.create(f"{zk_path}/k", acl=[EVERYBODY])
    hold = world.do(world.connect(url).lock("k").acquire)
    waiter = Waiter(world, zookeeper.url(zk_path))
    assert not waiter.granted
    world.do(hold.release)
    waiter.recorder.hear(Woken)
    waiter.leave()


# --- who is not believed -----------------------------------------------------------------------


def test_credentials_that_no_server_knows_are_refused_at_once_and_each_time(
    world: World, zk_url: str
) -> None:
    client = world.connect(zk_url, auth=[("nosuch", "x")])
    for _ in range(3):
        with pytest.raises(StoreMisconfigured, match="refused our credentials"):
            world.do(client.lock("k").acquire)


@pytest.fixture(scope="module")
def strict() -> Iterator[ZooKeeperServer]:
    """A server that wants to know everybody."""
    words = {"enforce.auth.enabled": "true", "enforce.auth.schemes": "digest"}
    system = {f"zookeeper.{word}": value for word, value in words.items()}
    with ZooKeeperServer(system=system) as server:
        yield server


def test_server_that_wants_to_know_everybody_is_told(
    world: World, strict: ZooKeeperServer
) -> None:
    check_works(world, lambda: world.connect(f"zk://user:pw@{strict.hosts}/a"))


def test_who_does_not_say_who_he_is_hears_that_he_must(
    world: World, strict: ZooKeeperServer
) -> None:
    client = world.connect(f"zk://{strict.hosts}/b")
    for _ in range(2):
        with pytest.raises(StoreMisconfigured, match="refused our credentials"):
            world.do(client.lock("k").acquire)
