"""The language of a text, by py3langid."""

import functools
import threading
from collections.abc import Collection
from typing import Any

from ..errors import NotInstalled
from ..system.versions import installed

_MOST = 2000  # characters to read of a text; all take some milliseconds
_loading = threading.Lock()


def detects() -> bool:
    """Whether py3langid is installed."""
    try:
        installed("py3langid", "detect")
    except NotInstalled:
        return False
    return True


def detected(text: str, languages: Collection[str]) -> dict[str, float]:
    """The probability of each language that the text may have, most probable first.

    languages: codes such as de or pt-BR. The first call takes two seconds. Raises NotInstalled
    without py3langid.
    """
    if len(languages) < 2:
        return dict.fromkeys(languages, 1.0)
    with _loading:
        identifier = _identifier()
    known = dict(identifier.rank(text[:_MOST]))
    shares = {code: known.get(code.partition("-")[0].lower(), 0.0) for code in languages}
    total = sum(shares.values())  # 0 for a text in another script
    found = {code: share / total if total else 1 / len(shares) for code, share in shares.items()}
    return dict(sorted(found.items(), key=lambda item: -item[1]))


@functools.cache
def _identifier() -> Any:
    langid = installed("py3langid", "detect").langid
    return langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)
