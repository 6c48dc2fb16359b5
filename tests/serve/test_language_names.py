"""The names of languages."""

import re

from babel import Locale

from cgru_cli.serve.language_names import NAMES, language_name


def test_names_are_those_of_cldr():
    names = Locale("en").languages
    assert {code: names[code] for code in names if re.fullmatch("[a-z]{2}", code)} == NAMES


def test_regions_and_unknown_codes():
    assert language_name("de") == "German"
    assert language_name("pt-BR") == language_name("pt_BR") == "Portuguese (BR)"
    assert language_name("tlh") == "tlh" and language_name("") == ""
