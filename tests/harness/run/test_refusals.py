"""Why servers that already run refuse a run, and what to do."""

from __future__ import annotations

import pytest

from harness.core.errors import ConfigurationError, ServerNotReadyError
from harness.run.refusals import as_error
from workloads.client import NotApplied, Unknown


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        (
            'FATAL: password authentication failed for user "tester"',
            "check storage.user and storage.password_env",
        ),
        ('FATAL: database "weak" does not exist', "name the database in storage.database"),
        (
            'FATAL: no pg_hba.conf entry for host "h", user "u", database "d", no encryption',
            "give storage.ca_file",
        ),
        ('FATAL: no pg_hba.conf entry for host "h", user "u", database "d", SSL encryption', "pg_hba.conf"),
        ('FATAL: role "tester" is not permitted to log in', "ALTER ROLE … LOGIN"),
        ("permission denied for database app", "GRANT CONNECT, CREATE ON DATABASE"),
        (
            "INVALID_ARGUMENT: etcdserver: authentication failed, invalid user ID or password",
            "check storage.user and storage.password_env",
        ),
        ("PERMISSION_DENIED: etcdserver: permission denied", "readwrite on the prefix fencepost"),
        ("INVALID_ARGUMENT: etcdserver: user name is empty", "give storage.user and storage.password_env"),
        ("FATAL: connection requires a valid client certificate", "give storage.cert_file"),
        ("SSL error: tlsv13 alert certificate required", "give storage.cert_file"),
        ("SSL error: tlsv1 alert unknown ca", "storage.cert_file must be signed by an authority"),
        ('private key file "k" has group or world access', "chmod 600"),
        ("NOPERM User tester has no permissions to run the 'eval' command", "ACL SETUSER"),
        ("this user has no permissions to run the 'eval' command", "ACL SETUSER"),
        ("NoAuthError", "the rights to create, delete, read and write (cdrw) on the znode /"),
        ("An error occurred (AccessDeniedException) when calling DeleteTable", "dynamodb:*"),
        ("An error occurred (UnrecognizedClientException) when calling it", "check storage.user"),
    ],
)
def test_a_refusal_is_shown_with_its_remedy(said: str, remedy: str) -> None:
    error = as_error(NotApplied(said), f"storage.servers: a:1: {said}", "storage")

    assert isinstance(error, ConfigurationError)
    assert str(error).startswith(f"storage.servers: a:1: {said}; ")
    assert remedy in str(error)


def test_a_refusal_from_the_middle_of_a_script_is_a_wrong_configuration() -> None:
    said = "ACL failure in script: User tester has no permissions to run the 'xadd' command"

    error = as_error(Unknown(said), f"storage.servers: a:1: {said}", "storage")

    assert isinstance(error, ConfigurationError)
    assert "ACL SETUSER" in str(error)


def test_a_server_that_does_not_answer_is_an_infrastructure_failure() -> None:
    error = as_error(NotApplied("no answer in time"), "lock.servers: a:1: no answer in time", "lock")

    assert isinstance(error, ServerNotReadyError)
    assert str(error) == "lock.servers: a:1: no answer in time"
