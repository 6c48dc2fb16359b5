#!/usr/bin/env python3
"""A small translation task made from packages: dates, times, quantities, prices, names.

Both sides of a pair say the same thing by the rules of CLDR (Babel: patterns, plurals, names) and
num2words (numbers spelled out), so that the text is as people write it in each language:

    Tuesday, March 3, 1998 (Norway)          Dienstag, 3. März 1998 (Norwegen)
    thirty-four kilograms or 2.5 miles       vierunddreißig Kilogramm oder 2,5 Meilen

The same options, seed and versions of the packages give the same text. No line of either language
stands twice, so none is in two sets.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from cgru_cli.errors import CgruError, UsageError
from cgru_cli.system.atomic_files import all_or_nothing, atomic_write

try:
    from babel import Locale, dates, lists, numbers, units
    from num2words import num2words
except ImportError:
    sys.exit("data.py: error: needs Babel and num2words: pip install babel num2words")

LANGUAGES = "cs da de en es fi fr hu it nl no pl pt ro ru sv tr uk"
SPELLED = {"pt": "pt_BR"}  # num2words' name of the language; CLDR's pt is Brazil's
MARKED_HUNDREDS = {"es", "pt"}  # 200 to 900 agree with the gender of what is counted

WORDS = 3, 15  # of a line: the longer side has at least, both have at most so many

MEASURES = {
    "duration": "year month week day hour minute second",
    "length": "kilometer meter centimeter millimeter mile foot inch nautical-mile light-year",
    "mass": "kilogram gram milligram pound ounce",
    "volume": "liter milliliter cubic-meter gallon",
    "area": "square-kilometer square-meter hectare acre",
    "speed": "kilometer-per-hour mile-per-hour meter-per-second",
    "temperature": "celsius fahrenheit",
    "energy": "kilowatt-hour joule kilocalorie",
    "power": "watt kilowatt horsepower",
    "electric": "volt ampere ohm",
    "frequency": "hertz megahertz",
    "pressure": "hectopascal",
    "digital": "byte kilobyte megabyte gigabyte",
    "concentr": "percent",
}
# CLDR's full names: what Babel writes where a language has no word for a unit.
UNITS = {unit: f"{kind}-{unit}" for kind, words in MEASURES.items() for unit in words.split()}
NO_WORD = re.compile(rf"\b(?:{'|'.join(MEASURES)})-")
COUNTED = (
    "year month week day hour minute second kilometer meter centimeter mile kilogram gram pound "
    "liter milliliter square-meter hectare watt volt megabyte"
)
RATES = (
    "liter/minute kilobyte/second megabyte/second gram/liter kilometer/day meter/hour gallon/hour"
)
PRICED = "kilogram gram liter hour day week month kilometer pound ounce"
CURRENCIES = "AUD BRL CAD CHF CNY CZK DKK EUR GBP HUF INR JPY MXN NOK PLN RON RUB SEK TRY USD"
COUNTRIES = (
    "AR AT AU BE BG BR CA CH CL CN CU CZ DE DK EC EE EG ES FI FR GB GR HR HU ID IE IL IN IS IT JP "
    "KE KR LT LU LV MA MT MX NG NL NO NZ PE PH PL PT RO RS RU SE SI SK TH TR UA US VN ZA"
)
TONGUES = "ar bg cs da de el en es fi fr hi hu it ja ko nl no pl pt ro ru sv tr uk zh"

Phrase = Callable[[str], str]  # from a language to its words


def one_of(draw: random.Random, words: str) -> str:
    """One of the words of a list."""
    return draw.choice(words.split())


def number(draw: random.Random) -> int | float:
    """1 to 9,999, small ones more often; one in four has a decimal."""
    digits = draw.choice((1, 1, 2, 2, 3, 4))
    value = draw.randrange(10 ** (digits - 1), 10**digits)
    return value + draw.randrange(1, 10) / 10 if draw.random() < 0.25 else value


def spellable(draw: random.Random, hundreds: int) -> int:
    """A number whose words are the same before nouns of every gender in all LANGUAGES.

    Those that end on one or two are not; `hundreds` is the largest digit of hundreds.
    """
    ends = [n for n in range(3, 100) if n % 10 not in (1, 2) or n in (11, 12)]
    thousands = draw.choice(ends) if draw.random() < 0.3 else 0
    return 1000 * thousands + 100 * draw.randint(0, hundreds) + draw.choice(ends)


def moment(draw: random.Random) -> datetime:
    """A minute between 1900 and 2049; most fall on a quarter of an hour."""
    minute = draw.choice((0, 15, 30, 45, draw.randrange(60)))
    day = datetime(1900, 1, 1) + timedelta(days=draw.randrange(54_787))
    return day.replace(hour=draw.randrange(24), minute=minute)


def date(draw: random.Random) -> Phrase:
    """A day, month or quarter, in one of CLDR's forms."""
    when, form = moment(draw), draw.choice(("full", "full", "long", "medium", "yMMMM", "yQQQQ"))
    if form.startswith("y"):
        return lambda language: dates.format_skeleton(form, when, locale=language)
    return lambda language: dates.format_date(when, form, locale=language)


def date_and_time(draw: random.Random) -> Phrase:
    """A day, then a time or the time from and to."""
    start, form = moment(draw), draw.choice(("full", "long"))
    end = start + timedelta(minutes=draw.choice((30, 45, 60, 90, 120, 150, 180)))
    interval = end.date() == start.date() and draw.random() < 0.5

    def phrase(language: str) -> str:
        if interval:
            skeleton = "hm" if "a" in dates.get_time_format("short", language).pattern else "Hm"
            time = dates.format_interval(start, end, skeleton, locale=language)
        else:
            time = dates.format_time(start, "short", locale=language)
        pattern = str(dates.get_datetime_format(form, locale=language)).replace("'", "")
        return pattern.format(time, dates.format_date(start, form, locale=language))

    return phrase


def days(draw: random.Random) -> Phrase:
    """From one day to another."""
    start, skeleton = moment(draw), draw.choice(("yMMMd", "yMMMEd"))
    end = start + timedelta(days=draw.randrange(2, 60))
    return lambda language: dates.format_interval(start, end, skeleton, locale=language)


def relative(draw: random.Random) -> Phrase:
    """How long ago, or in what time."""
    unit, seconds = draw.choice(dates.TIMEDELTA_UNITS)
    span = timedelta(seconds=seconds * draw.randrange(1, 60) * draw.choice((-1, 1)))
    return lambda language: dates.format_timedelta(
        span, granularity=unit, threshold=float("inf"), add_direction=True, locale=language
    )


def quantity(draw: random.Random) -> Phrase:
    """A number in digits with its unit."""
    value, unit = number(draw), draw.choice(list(UNITS.values()))
    return lambda language: units.format_unit(value, unit, locale=language)


def spelled(draw: random.Random, hundreds: int) -> Phrase:
    """A number in words with its unit."""
    value, unit = spellable(draw, hundreds), UNITS[one_of(draw, COUNTED)]

    def phrase(language: str) -> str:
        words = num2words(value, lang=SPELLED.get(language, language))
        digits = numbers.format_decimal(value, locale=language)
        return units.format_unit(value, unit, locale=language).replace(digits, words)

    return phrase


def rate(draw: random.Random) -> Phrase:
    """So much of one unit for one of another."""
    value, names = number(draw), one_of(draw, RATES)
    unit, per = (UNITS[name] for name in names.split("/"))
    return lambda language: units.format_compound_unit(
        value, unit, denominator_unit=per, locale=language
    )


def price(draw: random.Random) -> Phrase:
    """An amount of money, or the price of a unit."""
    value, currency = number(draw), one_of(draw, CURRENCIES)
    per = UNITS[one_of(draw, PRICED)] if draw.random() < 0.5 else None

    def phrase(language: str) -> str:
        amount = numbers.format_currency(value, currency, locale=language, format_type="name")
        if per is None:
            return amount
        return units.format_compound_unit(amount, denominator_unit=per, locale=language)

    return phrase


def country(draw: random.Random) -> Phrase:
    """The name of a country."""
    code = one_of(draw, COUNTRIES)
    return lambda language: Locale.parse(language).territories[code]


def tongue(draw: random.Random) -> Phrase:
    """The name of a language."""
    code = one_of(draw, TONGUES)
    return lambda language: Locale.parse(language).languages[code]


def listed(phrases: Sequence[Phrase], style: str) -> Phrase:
    """Two or more phrases, joined by "and" (style standard) or, if there are two, by "or"."""

    def phrase(language: str) -> str:
        text = lists.format_list([said(language) for said in phrases], style, locale=language)
        if language == "es":  # y and o before their own sound, which Babel's patterns lack
            text = re.sub(r" y (?=[Hh]?[IÍií])", " e ", text)
            text = re.sub(r" o (?=[Hh]?[OÓoó]|8|11(?!\d))", " u ", text)
        return text

    return phrase


def bracketed(first: Phrase, second: Phrase) -> Phrase:
    """One phrase, the other in brackets."""
    return lambda language: f"{first(language)} ({second(language)})"


def line(draw: random.Random, hundreds: int) -> Phrase:
    """What one line says."""
    kind = draw.random()
    if kind < 0.35:  # of a day, often with a place
        said = draw.choice((date, date_and_time, date_and_time, days))(draw)
        return bracketed(said, country(draw)) if draw.random() < 0.4 else said
    if kind < 0.45:
        name = draw.choice((country, tongue))
        return listed([name(draw) for _ in range(draw.randint(2, 4))], "standard")
    if kind < 0.55:
        style = draw.choice(("standard", "or"))
        return listed([relative(draw), relative(draw)], style)

    def amount() -> Phrase:
        make = draw.choice((quantity, quantity, rate, price, price, None, None))
        return make(draw) if make else spelled(draw, hundreds)

    if kind < 0.7:
        said = relative(draw) if draw.random() < 0.2 else amount()
        return bracketed(said, (country, date)[draw.random() < 0.3](draw))
    if kind < 0.82:
        return listed([amount(), amount()], "or")
    return listed([amount() for _ in range(draw.choice((2, 2, 3)))], "standard")


def pairs(source: str, target: str, seed: int) -> Iterator[tuple[str, str]]:
    """Pairs of different lines without end; no source line and no target line comes twice.

    Raises UsageError for a language that is not among LANGUAGES, CgruError when no new pairs
    are found.
    """
    for language in (source, target):
        if language not in LANGUAGES.split():
            raise UsageError(f"{language}: no such language; choose of {LANGUAGES}")
    if source == target:
        raise UsageError(f"{source}: is source and target; name two languages")
    draw = random.Random(seed)
    hundreds = 1 if MARKED_HUNDREDS & {source, target} else 9
    shortest, longest = WORDS
    seen: tuple[set[str], set[str]] = (set(), set())
    found = idle = 0
    while idle < 1000:
        said = line(draw, hundreds)
        # CLDR's special spaces become plain ones.
        sides = [" ".join(said(language).split()) for language in (source, target)]
        idle += 1
        fits = shortest <= max(len(side.split()) for side in sides) <= longest
        if not fits or sides[0] == sides[1] or any(map(NO_WORD.search, sides)):
            continue
        if any(side in before for side, before in zip(sides, seen, strict=True)):
            continue
        for side, before in zip(sides, seen, strict=True):
            before.add(side)
        found, idle = found + 1, 0
        yield sides[0], sides[1]
    raise CgruError(f"no more than {found} different pairs were found; ask for fewer")


def write(folder: Path, sizes: dict[str, int], source: str, target: str, seed: int) -> None:
    """Write SET.SOURCE and SET.TARGET of every set, all of them or none."""
    drawn = pairs(source, target, seed)
    sets = {name: [next(drawn) for _ in range(size)] for name, size in sizes.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CgruError(f"{folder}: cannot be made: {error.strerror}") from error
    with all_or_nothing(folder):
        for name, content in sets.items():
            for language, side in zip((source, target), zip(*content, strict=True), strict=True):
                with atomic_write(folder / f"{name}.{language}") as file:
                    file.write("".join(f"{text}\n" for text in side).encode("utf-8"))


def positive(text: str) -> int:
    """A whole number above zero."""
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n")[0],
        epilog=f"Languages: {LANGUAGES}.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("folder", type=Path, help="where train.en, train.de, dev.en, ... are put")
    parser.add_argument("-s", "--source", default="en", metavar="LANGUAGE", help="source language")
    parser.add_argument("-t", "--target", default="de", metavar="LANGUAGE", help="target language")
    sizes = {"train": 20_000, "dev": 500, "test": 500}
    for name, size in sizes.items():
        parser.add_argument(
            f"--{name}", type=positive, default=size, metavar="N", help=f"pairs in {name}"
        )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of what is drawn")
    options = parser.parse_args(arguments)
    try:
        write(
            options.folder,
            # Dev and test first: they stay the same for any size of train.
            {name: getattr(options, name) for name in ("dev", "test", "train")},
            options.source,
            options.target,
            options.seed,
        )
    except CgruError as error:
        print(f"data.py: error: {error}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
