"""The server conforms to its OpenAPI document, which schemathesis tests where it is installed."""

import pytest
from serving import serving

schemathesis = pytest.importorskip("schemathesis")

HEADERS = {"Authorization": "Bearer correct horse"}
CONFIG = {
    "headers": HEADERS,
    "generation": {"max-examples": 5, "deterministic": True},
    "phases": {"stateful": {"enabled": False}},
    "checks": {"positive_data_acceptance": {"enabled": False}},  # see `accepted`
}


def test_requests_and_answers_are_those_described(models, monkeypatch):
    from schemathesis.config import SchemathesisConfig
    from schemathesis.engine import from_schema
    from schemathesis.generation import GenerationMode

    @schemathesis.check
    def accepted(_context, answer, case):
        """A request as described may be impossible, such as two fields that exclude each other."""
        if answer.status_code == 400 and case.meta.generation.mode is GenerationMode.POSITIVE:
            assert answer.json().get("code") not in ("invalid_field", "not_json"), answer.text

    for model in models.values():
        monkeypatch.setattr(model, "languages", ("en", "de"))
    found, operations = [], set()
    try:
        with serving(models, "correct horse", max_body=64) as app:
            schema = schemathesis.openapi.from_asgi(
                "/openapi.json",
                app,
                config=SchemathesisConfig.from_dict(CONFIG),
                headers=HEADERS,
            )
            for event in from_schema(schema).execute():
                recorder = getattr(event, "recorder", None)
                if recorder is not None:
                    operations.add(recorder.label)
                    found += [
                        f"{recorder.label}: {check.name}: {check.failure_info.failure}"
                        for checks in recorder.checks.values()
                        for check in checks
                        if check.failure_info
                    ]
                assert type(event).__name__ not in ("NonFatalError", "FatalError"), event
    finally:
        schemathesis.checks.CHECKS.unregister("accepted")
    assert found == []
    assert len(operations) >= 10
