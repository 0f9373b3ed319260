"""Why servers that already run cannot be used: they refuse it, or they do not answer."""

from __future__ import annotations

from harness.core.errors import ConfigurationError, ServerNotReadyError
from workloads.client import NotApplied, Unknown

NO_ANSWER = (
    "connection closed",
    "connection refused",
    "deadline_exceeded",
    "lost connection",
    "no answer",
    "no session",
    "server closed",
    "timed out",
    "timeout",
    "too few answers",
    "unavailable",
)
"""What clients say, in lower case, if a server did not answer a request that had no effect."""

_CHECK_LOGIN = "check {side}.user and {side}.password_env (or password_file)"
_GIVE_LOGIN = "give {side}.user and {side}.password_env (or password_file)"
_GIVE_CERTIFICATE = "give {side}.cert_file and {side}.key_file"
REMEDIES = {
    "etcdserver: authentication failed": _CHECK_LOGIN,
    "etcdserver: authentication is not enabled": "remove {side}.user and its password",
    "etcdserver: permission denied": "{side}.user needs a role with readwrite on the prefix fencepost: "
    "etcdctl role grant-permission ROLE readwrite fencepost --prefix",
    "etcdserver: user name is empty": _GIVE_LOGIN,
    "to database 'fencepost": "{side}.user must be able to create and drop databases of these names: "
    "GRANT ALL ON `fencepost\\_%`.* TO …",
    "access denied for user": f"{_CHECK_LOGIN}; if it must show a certificate, {_GIVE_CERTIFICATE}",
    "is not allowed to connect to this mariadb": "let {side}.user log in from here: CREATE USER …@'%'",
    "password authentication failed": _CHECK_LOGIN,
    "no password supplied": "give {side}.password_env (or password_file)",
    "permission denied for database": "{side}.user must be able to create a schema there: "
    "GRANT CONNECT, CREATE ON DATABASE … TO …",
    'fatal: database "': "name the database in {side}.database",
    "invalid username-password pair": _CHECK_LOGIN,
    "requires a valid client certificate": _GIVE_CERTIFICATE,
    "alert certificate required": _GIVE_CERTIFICATE,
    "alert unknown ca": "{side}.cert_file must be signed by an authority that the server trusts",
    ", no encryption": "give {side}.ca_file, or let {side}.user in without TLS in pg_hba.conf",
    "no pg_hba.conf entry": "let {side}.user into this database from this machine in pg_hba.conf",
    "not permitted to log in": "{side}.user must be able to log in: ALTER ROLE … LOGIN",
    "certificate authentication failed": "{side}.cert_file must be the certificate of {side}.user",
    "has group or world access": "make {side}.key_file readable by its owner only: chmod 600",
    "noperm": "{side}.user needs all commands on the keys that begin with fencepost: "
    "ACL SETUSER USER ~fencepost* +@all",
    "no permissions": "{side}.user needs all commands on the keys that begin with fencepost: "
    "ACL SETUSER USER ~fencepost* +@all",
    "noauth": "{side}.user, in the scheme digest, needs the rights to create, delete, read and write "
    "(cdrw) on the znode /",
    "accessdeniedexception": "{side}.user needs the rights dynamodb:* on tables whose name begins with "
    "fencepost",
    "(accessdenied)": "{side}.user needs s3:* on the bucket and on its objects that begin with fencepost",
    "nosuchbucket": "create it, or name another in {side}.bucket",
    "invalidaccesskeyid": _CHECK_LOGIN,
    "signaturedoesnotmatch": _CHECK_LOGIN,
    "unrecognizedclient": _CHECK_LOGIN,
    "invalidsignature": _CHECK_LOGIN,
    "authorization violation": _CHECK_LOGIN,
    "permissions violation": "{side}.user must be allowed to publish to $JS.API.> and to $KV.>, and to "
    "subscribe to _INBOX.>",
    "serviceunavailableerror": "the servers must run with --jetstream, and most of them must be up",
}
"""What to do, by what the servers say, in lower case."""


def as_error(error: NotApplied | Unknown, said: str, side: str) -> ConfigurationError | ServerNotReadyError:
    """Return what ends the run: a refusal is a wrong configuration, anything else the infrastructure's.

    A refusal from the middle of a script leaves its outcome unknown, but has a remedy. `side` is the
    section of the target with the servers, "lock" or "storage".
    """
    answer = said.lower()
    remedy = next((f"; {what.format(side=side)}" for words, what in REMEDIES.items() if words in answer), "")
    answered = isinstance(error, NotApplied) and not any(words in answer for words in NO_ANSWER)
    return (ConfigurationError if remedy or answered else ServerNotReadyError)(said + remedy)
