"""The options of `cgru serve`."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from .configured import ConfiguredOptions
from .declaration import Group, same
from .flags import statements
from .line_filter import MODEL_AND_TEXT, FilterOptions
from .translate import TranslateOptions

ADDRESS = Group("Address")
BATCHING = Group("Batching of requests")
LIMITS = Group("Limits")
ACCESS = Group("Access")


def _one_host_name(name: str) -> str:
    if name != "*" and host_of(name) != name.strip("[]").lower():
        raise ValueError("a host name or an address without a port is expected")
    return name


def _one_site(origin: str) -> str:
    parts = urlsplit(origin)
    if origin != "*" and (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or origin != f"{parts.scheme}://{parts.netloc.lower()}"
    ):
        raise ValueError("a site such as https://example.org, or * is expected")
    return origin


@dataclass(frozen=True)
class ServeOptions(ConfiguredOptions):
    """`cgru serve`, including the search options of `cgru translate`.

    None: default of the model's program.
    """

    model: tuple[str, ...] = MODEL_AND_TEXT("""
        -m --model MODEL... (--models): model files of any program; several files are one ensemble,
        as in cgru translate, unless their languages or target vocabularies differ: then each is a
        separate model; NAME=FILE NAME=FILE,FILE ... names the models (or ensembles)""")
    vocabularies: tuple[str, ...] = same(TranslateOptions, "vocabularies")
    log: str | None = same(TranslateOptions, "log")
    no_preprocess: bool = same(TranslateOptions, "no_preprocess")
    no_spm_encode: bool = same(TranslateOptions, "no_spm_encode")
    bpe: str | None = same(TranslateOptions, "bpe")
    max_length: int = same(TranslateOptions, "max_length")
    weights: tuple[float | str, ...] = same(FilterOptions, "weights", needs=())

    normalize: float | None = same(TranslateOptions, "normalize")
    word_penalty: float | None = same(TranslateOptions, "word_penalty")
    word_scores: bool = same(TranslateOptions, "word_scores")
    n_best: bool = same(TranslateOptions, "n_best")
    n_best_size: int | None = same(TranslateOptions, "n_best_size")
    beam_size: int | None = same(TranslateOptions, "beam_size")
    max_length_factor: float | None = same(TranslateOptions, "max_length_factor")
    translation_maxlen: int | None = same(TranslateOptions, "translation_maxlen")
    allow_unk: bool = same(TranslateOptions, "allow_unk")
    suppress_unk: bool = same(TranslateOptions, "suppress_unk")
    markup: str | None = same(
        TranslateOptions, "markup", excludes=("--no-spm-decode", "--no-spm-encode")
    )
    copy: tuple[str, ...] = same(TranslateOptions, "copy", excludes=())
    shortlist: tuple[str, ...] = same(TranslateOptions, "shortlist")
    alignment: str | None = same(TranslateOptions, "alignment")
    unk_replace: bool = same(TranslateOptions, "unk_replace")
    lexicon: str | None = same(TranslateOptions, "lexicon")
    join_bpe: bool = same(TranslateOptions, "join_bpe")
    no_spm_decode: bool = same(TranslateOptions, "no_spm_decode")

    mini_batch: int | None = same(TranslateOptions, "mini_batch")
    workspace: int = same(TranslateOptions, "workspace")
    device: str | None = same(TranslateOptions, "device")
    cpu_threads: int | None = same(TranslateOptions, "cpu_threads")
    runtime: str | None = same(TranslateOptions, "runtime")
    precision: str = same(TranslateOptions, "precision")

    host: str = ADDRESS.values(default="127.0.0.1")("""
        --host ADDRESS: address to listen on; 0.0.0.0 listens on every network of this machine""")
    port: int = ADDRESS.whole(0, 65535, default=8080)("""
        --port N: port to listen on; 0: any free port, named in the output""")
    host_name: tuple[str, ...] = ADDRESS.values(_one_host_name)("""
        --host-name NAME...: names by which requests may address the server (their Host header,
        without a port); * for any; if not given, localhost, 127.0.0.1 and [::1] for a server that
        only this machine can reach, otherwise any""")
    tls_certificate: str | None = ADDRESS.values(needs="--tls-key")("""
        --tls-certificate FILE: serve over TLS (https, wss) with this certificate, a .pem file""")
    tls_key: str | None = ADDRESS.values(needs="--tls-certificate")("""
        --tls-key FILE: private key of the certificate, a .pem file without a password""")

    batch_wait: float = BATCHING.number(0, 60_000, default=5)("""
        --batch-wait MS: maximum time that a line waits for others to share its batch
        (milliseconds)""")
    queue: int = BATCHING.whole(1, 100_000_000, default=10_000)("""
        --queue N: maximum number of waiting lines; further requests get the status 503 (lines)""")

    max_body: int = LIMITS.whole(1, 1_048_576, default=1024)("""
        --max-body KIB: maximum size of a request's body or a WebSocket message (KiB)""")
    max_document: int = LIMITS.whole(1, 1_048_576, default=10_240)("""
        --max-document KIB: maximum size of a document to translate (KiB)""")
    max_lines: int = LIMITS.whole(1, 1_000_000, default=1000)("""
        --max-lines N: maximum number of lines in a request (lines)""")
    max_characters: int = LIMITS.whole(1, 10_000_000, default=10_000)("""
        --max-characters N: maximum length of a line in a request (characters)""")
    max_beam_size: int = LIMITS.whole(1, 1000, default=24)("""
        --max-beam-size K: maximum beam size and length of n-best lists in a request""")
    max_phrases: int = LIMITS.whole(0, 1000, default=20)("""
        --max-phrases N: maximum number of phrases that a request may require or forbid in a
        translation""")
    rate_limit: str | None = LIMITS.values(
        gone="the server no longer limits rates; let a proxy in front limit requests, such as "
        "nginx with limit_req (docs/server.md, In production)"
    )("--rate-limit N: maximum number of lines of a client in a minute, in earlier versions")
    timeout: float = LIMITS.number(most=86_400, above=0, default=60)("""
        --timeout S: maximum duration of a request, from its first byte to its response
        (seconds)""")

    token_file: str | None = ACCESS("""
        --token-file FILE: file of passwords, one per line; requests must send one of them as
        `Authorization: Bearer PASSWORD`""")
    cors: tuple[str, ...] = ACCESS.values(_one_site)("""
        --cors ORIGIN...: other sites whose pages may send requests, such as https://example.org; *
        for any""")
    no_page: bool = ACCESS("--no-page: do not serve the page at /")
    quiet: bool = ACCESS("-q --quiet: do not log requests to standard error")
    log_texts: bool = ACCESS.values(excludes="--quiet")("""
        --log-texts: also log the texts of requests to standard error""")

    @property
    def host_names(self) -> tuple[str, ...]:
        """The names by which requests may address the server; * for any."""
        is_local = self.host == "localhost" or _is_loopback(self.host)
        own = ("localhost", "127.0.0.1", "[::1]", self.host) if is_local else ("*",)
        return self.host_name or tuple(dict.fromkeys(own))

    @property
    def most_lines(self) -> int:
        """The maximum number of lines in a request; the queue must have room for all."""
        return min(self.max_lines, self.queue)

    def translating(self) -> dict[str, Any]:
        """The options of `cgru translate` that are not at their defaults, for a `Translator`."""
        shared = statements(ServeOptions).keys() & statements(TranslateOptions).keys()
        shared -= {"model", "vocabularies", "log", "config", "quiet", "runtime"}
        return {name: getattr(self, name) for name, _ in self.changed() if name in shared}


def host_of(header: str) -> str | None:
    """The host of a Host header, without its port; None if the header is invalid."""
    try:
        host = urlsplit(f"//{header}").hostname
    except ValueError:
        return None
    return host.removesuffix(".") if host else None


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
