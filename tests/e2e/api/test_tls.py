"""HTTPS, tested by a client that trusts a single certificate."""

import socket
import ssl
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from graphkin.api.serve import Server
from graphkin.api.settings import Settings
from graphkin.client import Graphkin
from graphkin.protocol.errors import InvalidInput


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return a certificate for 127.0.0.1, its key, both in one file, the key with a password, and another key."""
    folder = tmp_path_factory.mktemp("tls")
    key, other_key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "graphkin")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    ).public_bytes(serialization.Encoding.PEM)

    def pem(key: ec.EllipticCurvePrivateKey, hidden: serialization.KeySerializationEncryption) -> bytes:
        return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, hidden)

    plain = serialization.NoEncryption()
    contents = {
        "cert": certificate,
        "key": pem(key, plain),
        "both": certificate + pem(key, plain),
        "locked": pem(key, serialization.BestAvailableEncryption(b"secret")),
        "other": pem(other_key, plain),
    }
    for each, content in contents.items():
        (folder / each).write_bytes(content)
    return {each: folder / each for each in contents}


@pytest.mark.parametrize("settings_files", [{"tls_cert": "cert", "tls_key": "key"}, {"tls_cert": "both"}])
def test_server_speaks_https(
    store_folder: Path, tmp_path: Path, files: dict[str, Path], settings_files: dict[str, str]
) -> None:
    file_settings = {setting: files[name] for setting, name in settings_files.items()}
    with Server(Settings(store=store_folder, cache_dir=tmp_path, port=0, **file_settings)).running() as url:
        assert url.startswith("https://127.0.0.1:")
        trusting_context = ssl.create_default_context(cafile=files["cert"])
        assert httpx.get(f"{url}/v1/collections/nci", verify=trusting_context, timeout=60).status_code == 200
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            httpx.get(f"{url}/livez", timeout=60)
        with pytest.raises(httpx.HTTPError):
            httpx.get(f"http{url.removeprefix('https')}/livez", timeout=60)


def test_client_says_how_to_trust_a_rejected_certificate(
    store_folder: Path, tmp_path: Path, files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(store=store_folder, cache_dir=tmp_path, port=0, tls_cert=files["both"])
    with Server(settings).running() as url:
        with Graphkin(url) as client, pytest.raises(InvalidInput, match="certificate") as error:
            client.collections()
        assert "SSL_CERT_FILE" in str(error.value.hint)
        monkeypatch.setenv("SSL_CERT_FILE", str(files["cert"]))
        with Graphkin(url) as client:
            assert "nci" in [each.name for each in client.collections()]


def test_stalled_handshake_is_ended(store_folder: Path, tmp_path: Path, files: dict[str, Path]) -> None:
    settings = Settings(store=store_folder, cache_dir=tmp_path, port=0, tls_cert=files["both"], head_seconds=0.5)
    with Server(settings).running() as url, socket.create_connection(("127.0.0.1", urlsplit(url).port)) as connection:
        connection.settimeout(55)  # The limit of asyncio itself is 60 s.
        with suppress(ConnectionResetError):
            assert connection.recv(1) == b""


@pytest.mark.parametrize(
    "settings_files",
    [
        {"tls_key": "key"},
        {"tls_cert": "cert"},
        {"tls_cert": "cert", "tls_key": "other"},
        {"tls_cert": "cert", "tls_key": "locked"},
        {"tls_cert": "key", "tls_key": "key"},
    ],
)
def test_invalid_certificate_or_key_is_refused(
    store_folder: Path, tmp_path: Path, files: dict[str, Path], settings_files: dict[str, str]
) -> None:
    file_settings = {setting: files[name] for setting, name in settings_files.items()}
    with pytest.raises(InvalidInput, match="certificate") as error:
        Server(Settings(store=store_folder, cache_dir=tmp_path, port=0, **file_settings))
    assert "GRAPHKIN_TLS_CERT" in str(error.value.expected)
