"""Certificates for tests."""

from __future__ import annotations

import subprocess
from pathlib import Path


class Authority:
    """A certificate authority of our own, in a temporary folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name
        self.ca = folder / f"{name}.pem"
        self._openssl(
            *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
            *("-keyout", f"{name}.key", "-out", f"{name}.pem", "-days", "2"),
            *("-subj", f"/CN={name}", "-addext", "basicConstraints=critical,CA:TRUE"),
        )

    def issue(self, name: str, alternatives: str) -> tuple[Path, Path]:
        """A certificate for these host names and addresses, and its key."""
        (self._folder / f"{name}.ext").write_text(f"subjectAltName={alternatives}\n")
        self._openssl(
            *("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
            *("-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}"),
        )
        self._openssl(
            *("x509", "-req", "-in", f"{name}.csr", "-CA", self.ca.name, "-days", "2"),
            *("-CAkey", f"{self._name}.key", "-CAcreateserial", "-extfile", f"{name}.ext"),
            *("-out", f"{name}.pem"),
        )
        return self._folder / f"{name}.pem", self._folder / f"{name}.key"

    def _openssl(self, *words: str) -> None:
        command = ["openssl", *words]
        subprocess.run(command, cwd=self._folder, check=True, capture_output=True, timeout=20)
