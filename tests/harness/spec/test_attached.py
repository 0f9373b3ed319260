"""Servers that already run, in target files."""

from pathlib import Path

import pytest

from harness.campaign.cells import servers_to_reuse
from harness.core.errors import ConfigurationError
from harness.run import deployment
from harness.spec import Target
from tests.support.target_files import read, target_text
from workloads.settings import BucketName, Login, S3LockSettings, Tls

ETCD = 'kind = "etcd"\nservers = ["a:2379", "b:2379"]'
POSTGRES = 'kind = "postgres"\nfencing = "upsert"'


def target(lock: str = ETCD, storage: str = POSTGRES, more: str = "") -> Target:
    return read(target_text(more, lock=lock, storage=storage))


def test_servers_that_already_run_have_edges_but_are_not_started() -> None:
    topology = deployment.topology(target(), ())

    assert [server.name for server in topology.servers] == ["postgres"]
    assert [(server.name, str(server.address)) for server in topology.attached] == [
        ("etcd-1", "a:2379"),
        ("etcd-2", "b:2379"),
    ]


def test_their_login_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DB_PASSWORD", "it's secret")
    monkeypatch.chdir(tmp_path)
    login = 'servers = ["[::1]:5432"]\nuser = "u"\npassword_env = "DB_PASSWORD"\nca_file = "ca.pem"'
    found = target(storage=f"{POSTGRES}\n{login}")

    (server,) = [each for each in deployment.attached_servers(found) if each.system == "postgres"]

    address = server.address
    tls = Tls(ca_file=str(tmp_path / "ca.pem"), host="::1")
    assert (address.host, address.port) == ("::1", 5432)
    assert address.login == Login(password="it's secret", user="u", database="u", tls=tls)
    assert deployment.passwords(found) == ("it's secret",)
    assert "it's secret" not in repr(server)


def test_a_password_without_a_user_is_that_of_redis_default_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_PASSWORD", "secret")
    redis = 'kind = "redis"\nservers = ["a:6379"]\npassword_env = "REDIS_PASSWORD"'

    (server,) = deployment.attached_servers(target(lock=redis))

    assert server.address.login.user == "default"


def test_a_campaign_never_lends_servers_that_already_run() -> None:
    started = target(lock='kind = "etcd"')

    assert servers_to_reuse(started, by_default=True)
    assert not servers_to_reuse(target(), by_default=True)


@pytest.mark.parametrize(
    ("lock", "why"),
    [
        ('kind = "etcd"\nservers = ["a"]', 'from 1 to 65535, such as "127.0.0.1:2379"'),
        ('kind = "etcd"\nservers = ["http://a:1"]', "must be host:port"),
        ('kind = "etcd"\nservers = ["a:65536"]', "must be host:port"),
        ('kind = "etcd"\nservers = []', "must name 1 to 9 servers"),
        ('kind = "etcd"\nservers = ["a:1", "a:1"]', "must not name a server twice"),
        ('kind = "etcd"\nservers = ["a:1"]\nnodes = 3', "is for servers that Fencepost starts"),
        ('kind = "etcd"\nservers = ["a:1"]\nimage = "e:1"', "is for servers that Fencepost starts"),
        ('kind = "redis"\nservers = ["a:1"]\nreplica = true', "is for servers that Fencepost starts"),
        ('kind = "redis"\nservers = ["a:1"]\nflavour = "valkey"', "is for servers that Fencepost starts"),
        ('kind = "redis"\nservers = ["a:1", "b:1"]', "must name one server"),
        ('kind = "redlock"\ntoken = "random"\nservers = ["a:1", "b:1"]', "must name at least 3 servers"),
        ('kind = "etcd"\nservers = ["a:1"]\nuser = "u"', "needs its password: give password_env"),
        ('kind = "etcd"\nservers = ["a:1"]\npassword_env = "P"', "needs the user whose password it is"),
        ('kind = "etcd"\nuser = "u"', "is for servers that already run: name them in lock.servers"),
        ('kind = "etcd"\nca_file = "ca.pem"', "is for servers that already run"),
        ('kind = "etcd"\ncert_file = "c.pem"\nkey_file = "c.key"', "is for servers that already run"),
        ('kind = "etcd"\nservers = ["a:1"]\nca_file = "ca.pem"\ncert_file = "c.pem"', "give key_file"),
        ('kind = "etcd"\nservers = ["a:1"]\nca_file = "ca.pem"\nkey_file = "c.key"', "give cert_file"),
        (
            'kind = "etcd"\nservers = ["a:1"]\ncert_file = "c.pem"\nkey_file = "c.key"',
            "which clients speak only with ca_file",
        ),
        ('kind = "etcd"\npassword_env = "P"', "or name the servers that already run in lock.servers"),
        ('kind = "s3"\nservers = ["a:1"]', "need the bucket to use: give bucket"),
        ('kind = "s3"\nservers = ["a:1", "b:1"]\nbucket = "b"', "must name one server"),
        ('kind = "s3"\nbucket = "b"', "is for servers that already run: name them in lock.servers"),
        ('kind = "s3"\nregion = "eu-west-1"', "is for servers that already run"),
        ('kind = "kahuna"\nservers = ["a:1"]', "unknown key in \\[lock\\]"),
        ('kind = "etcd"\nservers = ["a:1"]\npassword = "x"', "does not belong in a target file"),
    ],
)
def test_a_wrong_setting_is_refused_with_its_remedy(lock: str, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        target(lock=lock)


@pytest.mark.parametrize(
    ("storage", "why"),
    [
        (f'{POSTGRES}\nservers = ["a:1"]', "needs the user to log in as: give storage.user"),
        (f'{POSTGRES}\nservers = ["a:99999"]', 'from 1 to 65535, such as "127.0.0.1:5432"'),
        (f'{POSTGRES}\ndatabase = "d"', "is for servers that already run"),
        (
            'kind = "etcd"\nfencing = "lock-key"\npolicy = "inclusive"\nservers = ["a:1"]',
            "name them in lock.servers",
        ),
    ],
)
def test_a_wrong_setting_of_a_storage_is_refused(storage: str, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        target(storage=storage)


@pytest.mark.parametrize("hit", ["lock", "etcd-2", "lock:leader"])
def test_only_started_servers_can_be_killed(hit: str) -> None:
    kill = '[[faults]]\nkind = "kill"\ntarget = "{}"\nlasts = "1s"'

    assert target(more=kill.format("storage"))
    with pytest.raises(ConfigurationError, match="servers that Fencepost did not start"):
        target(more=kill.format(hit))


def test_clients_can_be_cut_off_from_servers_that_already_run() -> None:
    cut = '[[faults]]\nkind = "partition"\ntarget = "holder"\nfrom = "lock"\nevery = "5s"\nlasts = "1s"'

    assert deployment.topology(target(more=cut), target(more=cut).faults).partitions


OWN = 'kind = "own:Lock"\nendpoints = ["a:1", "b:2"]'
CUT = '[[faults]]\nkind = "partition"\ntarget = "holder"\nfrom = "lock"\nevery = "5s"\nlasts = "1s"'
DELAY = '[[faults]]\nkind = "delay"\ntarget = "holder"\nto = "lock"\nevery = "5s"\nlasts = "1s"'


@pytest.mark.parametrize("kind", ["own:Lock", "client"])
def test_endpoints_of_a_users_own_lock_get_proxies(kind: str) -> None:
    program = '[client]\ncommand = ["sh"]\nside = "lock"' if kind == "client" else ""
    found = target(lock=OWN.replace("own:Lock", kind), more=f"{program}\n{CUT}")

    topology = deployment.topology(found, found.faults)

    assert [(server.name, server.system) for server in topology.attached] == [("lock-1", ""), ("lock-2", "")]
    assert found.lock.servers == ("lock-1", "lock-2")


@pytest.mark.parametrize(
    ("lock", "fault", "why"),
    [
        (OWN, DELAY, "whose protocol Fencepost does not know"),
        (OWN, CUT.replace("partition", "slow").replace("from", 'jitter = "1s"\nto'), "does not know"),
        (f'{OWN}\nserver = "etcd"', "", "is for servers that Fencepost starts"),
        ('kind = "own:Lock"\nserver = "postgres"\nnodes = 3', "", "nodes must be 1 for postgres"),
        ('kind = "own:Lock"\nserver = "dynamodb"\nnodes = 3', "", "nodes must be 1 for dynamodb"),
    ],
)
def test_what_endpoints_cannot_have_is_refused(lock: str, fault: str, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        target(lock=lock, more=fault)


@pytest.mark.parametrize("server", ["dynamodb", "s3"])
def test_a_server_of_aws_is_started_for_a_lock_of_the_users_own(server: str) -> None:
    found = target(lock=f'kind = "own:Lock"\nserver = "{server}"')

    assert [each.name for each in deployment.topology(found, ()).servers] == [f"{server}-1", "postgres"]


def test_a_client_gets_the_bucket_of_a_user_and_the_name_of_its_server() -> None:
    found = target(lock='kind = "s3"\nservers = ["s3.example:443"]\nbucket = "mine"\nregion = "eu-west-1"')

    settings = deployment.lock_settings(found, [], Path("run"), 0, 1.0, "run")

    assert isinstance(settings, S3LockSettings)
    assert settings.bucket == BucketName(
        name="mine", region="eu-west-1", host="s3.example:443", is_ours=False
    )


SCRIPT = """[[faults]]
kind = "script"
target = "{target}"
inject = ["true"]
observe = ["{observe}"]
heal = ["true"]
lasts = "1s"
"""


@pytest.mark.parametrize("hit", ["lock", "etcd-2"])
def test_a_script_may_hit_servers_that_already_run(hit: str) -> None:
    (fault,) = target(more=SCRIPT.format(target=hit, observe="true")).faults

    assert (fault.aim(), fault.timeout) == ((hit,), 30_000_000_000)


def test_a_script_without_its_program_is_refused_before_the_run() -> None:
    found = target(lock='kind = "etcd"', more=SCRIPT.format(target="lock", observe="no-such-program"))

    with pytest.raises(ConfigurationError, match=r"faults\.0\.observe: there is no executable program"):
        deployment.check(found)


@pytest.mark.parametrize(
    ("line", "becomes", "why"),
    [
        ('heal = ["true"]', "", "heal: is missing"),
        ('observe = ["true"]', "", "observe: is missing"),
        ('lasts = "1s"', "", "lasts: is missing"),
        ('inject = ["true"]', 'inject = "true"', r'faults\.0\.inject = "true": must be a list in brackets'),
        ('inject = ["true"]', "inject = []", r"faults\.0\.inject = \[\]: must not be empty"),
    ],
)
def test_a_script_can_be_proved_and_healed_by_lists_of_words(line: str, becomes: str, why: str) -> None:
    script = SCRIPT.format(target="lock", observe="true")

    with pytest.raises(ConfigurationError, match=why):
        target(more=script.replace(line, becomes))
