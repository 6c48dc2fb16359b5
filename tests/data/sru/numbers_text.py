"""Write train.en, train.de, test.en and test.de: the numbers from 0 to 999 in words."""

import random

ENGLISH = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety
""".split()
GERMAN = """
    null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn
    sechzehn siebzehn achtzehn neunzehn zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig
    neunzig
""".split()


def english(n: int) -> list[str]:
    if n < 20:
        return [ENGLISH[n]]
    if n < 100:
        return [ENGLISH[18 + n // 10], *(english(n % 10) if n % 10 else [])]
    return [ENGLISH[n // 100], "hundred", *(["and", *english(n % 100)] if n % 100 else [])]


def german(n: int) -> list[str]:
    if n < 20:
        return [GERMAN[n]]
    if n < 100:
        return [*([GERMAN[n % 10], "und"] if n % 10 else []), GERMAN[18 + n // 10]]
    return [GERMAN[n // 100], "hundert", *(german(n % 100) if n % 100 else [])]


numbers = list(range(1000))
random.Random(35).shuffle(numbers)
for name, part in (("test", numbers[:40]), ("train", numbers[40:])):
    for language, words in (("en", english), ("de", german)):
        with open(f"{name}.{language}", "w", encoding="utf-8") as file:
            file.writelines(" ".join(words(n)) + "\n" for n in part)
