"""The options of `cgru serve`."""

from __future__ import annotations

from dataclasses import dataclass, fields

from .configured import ConfiguredOptions
from .flags import options_of, same
from .line_filter import model_option
from .translate import TranslateOptions

address_option = options_of("Address")
sharing_option = options_of("Batching of requests")
limit_option = options_of("Limits")
access_option = options_of("Access")


@dataclass(frozen=True)
class ServeOptions(ConfiguredOptions):
    """`cgru serve`: the options of the search are those of `cgru translate`.

    What is None is as the model's program does it.
    """

    model: tuple[str, ...] = model_option(
        (), "model files of any program; several are one ensemble, as for cgru translate; "
        "NAME=FILE NAME=FILE,FILE ... serves several models (or ensembles) by name", "-m",
        "--model", metavar="MODEL...", many=True, aliases=("--models",), path="file",
    )  # fmt: skip
    vocabularies: tuple[str, ...] = same(TranslateOptions, "vocabularies")
    log: str | None = same(TranslateOptions, "log")
    no_preprocess: bool = same(TranslateOptions, "no_preprocess")
    no_spm_encode: bool = same(TranslateOptions, "no_spm_encode")
    bpe: str | None = same(TranslateOptions, "bpe")
    max_length: int = same(TranslateOptions, "max_length")
    weights: tuple[float | str, ...] = same(TranslateOptions, "weights")

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
    precision: str = same(TranslateOptions, "precision")

    host: str = address_option(
        "127.0.0.1", "address to listen at; 0.0.0.0 is every network of this machine", "--host",
        metavar="ADDRESS",
    )  # fmt: skip
    port: int = address_option(
        8080, "port to listen at; 0: any free port, which is printed", "--port", kind=int,
        metavar="N", least=0, most=65535,
    )  # fmt: skip
    tls_certificate: str | None = address_option(
        None, "serve over TLS (https, wss) with this certificate, a .pem file",
        "--tls-certificate", metavar="FILE", needs=("--tls-key",), path="file",
    )  # fmt: skip
    tls_key: str | None = address_option(
        None, "private key of the certificate, a .pem file without password", "--tls-key",
        metavar="FILE", needs=("--tls-certificate",), path="file",
    )  # fmt: skip

    batch_wait: float = sharing_option(
        5, "longest time that a line waits for others to share its batch",
        "--batch-wait", kind=float, metavar="MS", unit="milliseconds", least=0, most=60_000,
    )  # fmt: skip
    queue: int = sharing_option(
        10_000, "largest number of waiting lines; requests beyond it are answered by 503",
        "--queue", kind=int, metavar="N", unit="lines", least=1, most=100_000_000,
    )  # fmt: skip

    max_body: int = limit_option(
        1024, "largest body of a request, or message of a WebSocket", "--max-body", kind=int,
        metavar="KIB", unit="KiB", least=1, most=1_048_576,
    )  # fmt: skip
    max_lines: int = limit_option(
        1000, "largest number of lines of a request", "--max-lines", kind=int, metavar="N",
        unit="lines", least=1, most=1_000_000,
    )  # fmt: skip
    max_characters: int = limit_option(
        10_000, "longest line of a request", "--max-characters", kind=int, metavar="N",
        unit="characters", least=1, most=10_000_000,
    )  # fmt: skip
    max_beam_size: int = limit_option(
        24, "largest beam, and longest n-best list, that a request may ask for",
        "--max-beam-size", kind=int, metavar="K", least=1, most=1000,
    )  # fmt: skip
    max_phrases: int = limit_option(
        20, "largest number of phrases that a request may require or forbid in a translation",
        "--max-phrases", kind=int, metavar="N", least=0, most=1000,
    )  # fmt: skip
    timeout: float = limit_option(
        60, "how long a request may take, from its first byte to its answer", "--timeout",
        kind=float, metavar="S", unit="seconds", above=0, most=86_400,
    )  # fmt: skip

    token_file: str | None = access_option(
        None, "file with a password in its first line, which requests have to bring as "
        "`Authorization: Bearer PASSWORD`", "--token-file", metavar="FILE", path="file",
    )  # fmt: skip
    cors: tuple[str, ...] = access_option(
        (), "other sites whose pages may send requests, as https://example.org; * for all",
        "--cors", metavar="ORIGIN...", many=True,
    )  # fmt: skip
    no_page: bool = access_option(False, "serve no page at /", "--no-page", kind=bool)
    quiet: bool = access_option(
        False, "write no line to standard error for each request", "--quiet", kind=bool
    )
    log_texts: bool = access_option(
        False, "write the texts of requests to standard error too", "--log-texts", kind=bool,
        excludes=("--quiet",),
    )  # fmt: skip

    def translating(self, models: tuple[str, ...]) -> TranslateOptions:
        """The options of `cgru translate` with these models and the same search."""
        names = {field.name for field in fields(self)} & {
            field.name for field in fields(TranslateOptions)
        }
        values = {name: getattr(self, name) for name in names}
        return TranslateOptions(**values | {"model": models})
