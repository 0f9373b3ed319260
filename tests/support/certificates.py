"""Certificates for servers on this machine, made by openssl."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.support.missing import miss

EC = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


@dataclass(frozen=True, slots=True)
class Certificates:
    """The files of an authority, and of a server that it has certified."""

    authority: Path
    certificate: Path
    key: Path


def certified(folder: Path, names: str = "DNS:localhost,IP:127.0.0.1", days: int = 2) -> Certificates:
    """Make an authority, and a certificate for these names that is valid for so many days."""
    if shutil.which("openssl") is None:
        miss("openssl is not installed")
    made = Certificates(folder / "ca.pem", folder / "server.pem", folder / "server.key")
    ca_key, request, extensions = folder / "ca.key", folder / "server.csr", folder / "extensions"
    extensions.write_text(f"subjectAltName={names}\n")
    authority = ["-x509", *EC, "-keyout", ca_key, "-out", made.authority, "-subj", "/CN=authority"]
    openssl("req", *authority, "-days", "2")
    openssl("req", *EC, "-keyout", made.key, "-out", request, "-subj", "/CN=server")
    signed_by = ["-CA", made.authority, "-CAkey", ca_key, "-CAcreateserial", "-extfile", extensions]
    openssl("x509", "-req", "-in", request, "-out", made.certificate, "-days", str(days), *signed_by)
    return made


def openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)
