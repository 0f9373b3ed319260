"""Which certificates of servers are accepted: those that OpenSSL and libpq accept, on every Python."""

from __future__ import annotations

import socket
import ssl
import threading
from pathlib import Path

import pytest

from harness.network.tls_stream import context_of
from tests.support.certificates import Certificates, certified, openssl
from workloads.settings import Tls


def shake_hands(server: Certificates, ca_file: Path) -> None:
    """Connect to a server that shows that certificate; ssl.SSLError if it is not accepted."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server.certificate, server.key)
    ours, theirs = socket.socketpair()

    def serve() -> None:
        with theirs:
            try:
                context.wrap_socket(theirs, server_side=True).close()
            except OSError:
                return

    serving = threading.Thread(target=serve)
    serving.start()
    try:
        context_of(Tls(ca_file=str(ca_file))).wrap_socket(ours, server_hostname="localhost").close()
    finally:
        ours.close()
        serving.join()


def test_an_authority_without_the_key_usage_extension_is_accepted(tmp_path: Path) -> None:
    made, plain = certified(tmp_path), tmp_path / "plain.pem"
    only_an_authority = ["-addext", "basicConstraints=critical,CA:TRUE", "-config", "/dev/null"]
    key = tmp_path / "ca.key"
    openssl("req", "-x509", "-key", key, "-subj", "/CN=authority", *only_an_authority, "-out", plain)

    shake_hands(made, plain)


def test_an_intermediate_authority_needs_its_root(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    root, server = certified(tmp_path / "root"), certified(tmp_path)
    request, extensions, intermediate = (tmp_path / name for name in ("i.csr", "i.ext", "i.pem"))
    extensions.write_text("basicConstraints=critical,CA:TRUE\n")
    openssl("req", "-new", "-key", tmp_path / "ca.key", "-subj", "/CN=authority", "-out", request)
    signed_by = ["-CA", root.authority, "-CAkey", tmp_path / "root/ca.key", "-CAcreateserial"]
    openssl("x509", "-req", "-in", request, "-out", intermediate, "-extfile", extensions, *signed_by)
    both = tmp_path / "both.pem"
    both.write_text(intermediate.read_text() + root.authority.read_text())

    shake_hands(server, both)
    with pytest.raises(ssl.SSLCertVerificationError, match="unable to get issuer certificate"):
        shake_hands(server, intermediate)
