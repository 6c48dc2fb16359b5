"""Placeholders, mnemonics, messages of MessageFormat and codes of XLIFF in catalogues and XLIFF.

The texts in the tables are those of public programs, or follow the specifications that are named.
"""

import re
from collections import Counter

import numpy as np
import pytest
from fake_translations import placed
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from pyicumessageformat import Parser

from cgru_cli.documents.inline import MarkedText
from cgru_cli.documents.markup import Markup
from cgru_cli.documents.messages import Message, marks_of, messages
from cgru_cli.documents.reader import document_of

HEADER = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n'


def capitals(segment):
    parts = re.split(r"(<code>.*?</code>|<[^<>]*>|&#?\w+;)", segment)
    return "".join(part if i % 2 else part.upper() for i, part in enumerate(parts))


def translated(text, change=capitals, flags=(), markers=()):
    """The segments of a message, and the message with changed segments."""
    message = Message(text, marks_of(flags), markers, xml=False)
    return message.segments, message.restored(map(change, message.segments))


def test_only_the_texts_of_messages_are_segments():
    table = [
        # Angular's guide to internationalisation
        ("{VAR_PLURAL, plural, =0 {just now} =1 {one minute ago} other {{{minutes}} minutes ago}}",
         ["just now", "one minute ago", "<code>{{minutes}}</code> minutes ago"],
         "{VAR_PLURAL, plural, =0 {JUST NOW} =1 {ONE MINUTE AGO} other {{{minutes}} MINUTES AGO}}"),
        ("{VAR_SELECT, select, a {it's he} other {{VAR_PLURAL, plural, =1 {one} other {more}}}}",
         ["it's he", "one", "more"],
         "{VAR_SELECT, select, a {IT'S HE} other {{VAR_PLURAL, plural, =1 {ONE} other {MORE}}}}"),
        # the documentation of formatjs
        ("You have {n, plural, =0 {no items} one {# item} other {# items}} in your cart.",
         ["You have <x0/> in your cart.", "no items", "<code>#</code> item",
          "<code>#</code> items"],
         "YOU HAVE {n, plural, =0 {NO ITEMS} one {# ITEM} other {# ITEMS}} IN YOUR CART."),
        ("It's my cat's {year, selectordinal, one {#st} two {#nd} other {#th}} birthday!",
         ["It's my cat's <x0/> birthday!", "<code>#</code>st", "<code>#</code>nd",
          "<code>#</code>th"],
         "IT'S MY CAT'S {year, selectordinal, one {#ST} two {#ND} other {#TH}} BIRTHDAY!"),
        ("{gender, select, male {He} female {She} other {They}} liked <b>{name}</b>'s post",
         ["<x0/> liked <x1><code>{name}</code></x1>'s post", "He", "She", "They"],
         "{gender, select, male {HE} female {SHE} other {THEY}} LIKED <b>{name}</b>'S POST"),
        ("Escape '{'like'}' so, {d, date, ::yyyyMMdd} {x, number, ::.00}",
         ["Escape <code>'{'</code>like<code>'}'</code> so, <x0/> <x1/>"],
         "ESCAPE '{'LIKE'}' SO, {d, date, ::yyyyMMdd} {x, number, ::.00}"),
        # the guide of ICU
        ("{n, plural, offset:1\n =0 {{host} gives no party.}\n other {{host} and # '#' more}}",
         ["<code>{host}</code> gives no party.",
          "<code>{host}</code> and <code>#</code> <code>'#'</code> more"],
         "{n, plural, offset:1\n =0 {{host} GIVES NO PARTY.}\n other {{host} AND # '#' MORE}}"),
        ("I don''t know {n,plural,other{# it''s}}", ["I don't know <x0/>", "<code>#</code> it's"],
         "I DON''T KNOW {n,plural,other{# IT''S}}"),
        # ngx-translate's double braces around a message
        ("Found {count, plural, =1 {# item} other {# items}} in {{scope}}",
         ["Found <x0/> in <code>{{scope}}</code>", "<code>#</code> item", "<code>#</code> items"],
         "FOUND {count, plural, =1 {# ITEM} other {# ITEMS}} IN {{scope}}"),
        ("{n, plural, one {} other {s}}", ["s"], "{n, plural, one {} other {S}}"),
    ]  # fmt: skip
    for text, segments, expected in table:
        assert translated(text) == (segments, expected), text
        assert translated(text, str)[1] == text


def test_apostrophes_before_the_syntax_are_doubled():
    table = [
        ("the water of {n, plural, other {a house}}", {"the water of": "l'", "a house": "d'"},
         "l''{n, plural, other {d''}}"),
        ("I don''t {n, number}", {"I don't": "n'ai"}, "n''ai{n, number}"),
        ("{VAR_PLURAL, plural, other {a house}}", {"a house": "d'"},
         "{VAR_PLURAL, plural, other {d'}}"),
        ("a {n} b", {"a": "l'"}, "l'{n} b"),  # not a message of MessageFormat
        ("see {n, plural, other {# dogs}}", {"see": "{ voir }", "dogs": "} # chiens"},
         " voir {n, plural, other {# chiens}}"),
    ]  # fmt: skip
    for text, words, expected in table:

        def change(segment, words=words):
            for one, other in words.items():
                segment = segment.replace(one + " <", other + "<").replace(one, other)
            return segment

        assert translated(text, change)[1] == expected, text


def test_an_invalid_message_is_left_untranslated(capsys):
    texts = ["{n, plural, one {x} other {y}", "a {n, plural, one {b} {c}} d", "{a, select, }"]
    texts.append("{0,choice,0#no files|1<many {0} files} left")  # Java's, with an argument inside
    for text in texts:
        assert translated(text) == ([], text)
        assert f"{text!r} is left untranslated: " in capsys.readouterr().err
    assert translated("{ a, b }, it's")[1] == "{ A, B }, IT'S"


def test_placeholders_by_the_flags_of_gettext():
    table = [
        # gettext's manual: formats of each language
        ("c-format", "%1$s and %-5.2f of %lu %<PRIu64> or %*d 100%%",
         ["%1$s", "%-5.2f", "%lu", "%<PRIu64>", "%*d", "%%"]),
        ("python-format", "%(name)s has %(count)d", ["%(name)s", "%(count)d"]),
        ("python-brace-format", "{0} {name!r:>{width}} {} 5%d",
         ["{0}", "{name!r:>{width}}", "{}"]),
        ("no-c-format", "100%discount for {name}", ["{name}"]),
        ("objc-format", "%@ likes %2$@", ["%@", "%2$@"]),
        ("ruby-format", "%{count} and %<x>s", ["%{count}", "%<x>s"]),
        ("sh-format", "$name and ${HOME}", ["$name", "${HOME}"]),
        ("csharp-format", "{0:N2} and {1,10:C}", ["{0:N2}", "{1,10:C}"]),
        # KDE's and Qt's files
        ("kde-format", "%1s and %2files", ["%1", "%2"]),
        ("qt-plural-format", "%n file(s), %L1", ["%n", "%L1"]),
        # no flag: Django's templates, Angular, React, Qt's XLIFF
        ("", "%1 of %2, %n {{ user.name }} {% block %} ${x} %{x} %n$d { name }",
         ["%1", "%2", "%n", "{{ user.name }}", "{% block %}", "${x}", "%{x}", "%n$d", "{ name }"]),
        ("", "100% discount, 5 % and 7%.", []),
    ]  # fmt: skip
    for flag, text, expected in table:
        (segment,), written = translated(text, flags=[flag])
        found = re.findall("<code>(.*?)</code>", segment.replace("&lt;", "<").replace("&gt;", ">"))
        assert found == expected, text
        pattern = "|".join(map(re.escape, sorted(expected, key=len, reverse=True))) or r"\0"
        assert re.findall(pattern, written) == re.findall(pattern, text)
        assert re.sub(pattern, "", written) == re.sub(pattern, "", text).upper()


def test_flags_and_entries_of_a_catalogue():
    entries = (
        '#, no-c-format\nmsgid "5%d off"\nmsgstr ""\n\nmsgid "a %d"\nmsgid_plural "{n, plural, '
    )
    entries += 'other {b}}"\nmsgstr[0] ""\nmsgstr[1] ""\n'
    document = document_of("a.po", f"{HEADER}\n{entries}".encode())
    assert document.segments == ["5%d off", "a <code>%d</code>", "b"]
    written = document.written(["x", "y", "z"]).decode()
    assert re.findall(r'msgstr.*"(.+)"', written)[1:] == ["x", "y", "{n, plural, other {z}}"]


MNEMONICS = [
    # printrun/pronterface.py, KDE's kdelibs, Qt's own translations
    (
        "&Open file...",
        "Open file...",
        {"Datei öffnen...": "&Datei öffnen...", "So offen": "So &offen"},
    ),
    ("E&xit", "Exit", {"Verlassen": "&Verlassen", "Exitus": "E&xitus"}),
    ("Cu&t", "Cut", {"Kutten": "Ku&tten", "Tot": "&Tot"}),
    ("Select &All", "Select All", {"Tous auswahl": "Tous &auswahl", "Tout": "&Tout"}),
    ("Show/&Hide %1", "Show/Hide <code>%1</code>", {"x": "&x"}),
    ("&Import/Export", "Import/Export", {"IE": "&IE"}),
    ("&1 page", "1 page", {"Seite 1": "Seite &1", "Seite": "&Seite"}),
    # gtk+/gtk/gtkstock.c, gconf.glade of Linux, GIMP
    ("_Open", "Open", {"Öffnen": "_Öffnen", "Gern offen": "Gern _offen"}),
    ("Save _As…", "Save As…", {"Speichern": "_Speichern", "Sichern als": "Sichern _als"}),
    ("E_xit", "Exit", {"Sortir": "_Sortir", "file_name": "_file__name"}),
    # Qt's and GTK's files of Japanese and Chinese
    ("打开(&O)...", "打开...", {"Open...": "&Open...", "開く...": "開く(&O)..."}),
    ("退出 (_Q)", "退出", {"Quit": "_Quit", "やめる:": "やめる(_Q):"}),
    ("ファイル(&F)", "ファイル", {"文件": "文件(&F)"}),
    # escaped ampersands of Qt
    ("Save && Close", "Save &amp; Close", {"A &amp; B": "A && B", "AB": "AB"}),
    ("&Save && Close", "Save &amp; Close", {"S &amp; B": "&S && B", "Zu": "&Zu"}),
    ("&Find", "Find", {"AT&amp;T find": "AT&&T &find"}),
]
UNTOUCHED = [
    "AT&T", "Q & A", "R & D", "Q&A", "&Auml;pfel", "a &nbsp; b", "&amp;", "&#38; b", "1&1",
    "snake_case", "file_name is missing", "LC_ALL", "__init__", "the macro _GNU_SOURCE",
    "Could not open my_file", "http://example.org/?a=1&b=2", "see /a/_static/x.css",
    "Barnes&Noble", "&One &Two", "_One _Two", "<a href='?a=1&b=2'>here</a>",
    "%(a_b)s here", "_exit() failed", "Fish &", "_",
]  # fmt: skip


def test_mnemonics_are_removed_and_written_once():
    for text, segment, rows in MNEMONICS:
        for translation, expected in rows.items():
            assert translated(text, lambda _, to=translation: to) == ([segment], expected), text
        assert translated(text, str)[1] == text
    for text in UNTOUCHED:
        found, written = translated(text, lambda one: one + " x")
        if found:
            assert written == text + " x", text


def test_less_certain_mnemonics_need_a_certain_one_in_the_document():
    texts = ["Move _left", "drag&drop", "Open file_name", "snake_case"]
    assert [one.segments[0] for one in messages([(text, marks_of()) for text in texts])] == [
        "Move _left", "drag&amp;drop", "Open file_name", "snake_case"
    ]  # fmt: skip
    texts += ["_Open", "E&xit"]
    assert [one.segments[0] for one in messages([(text, marks_of()) for text in texts])] == [
        "Move left", "dragdrop", "Open file_name", "snake_case", "Open", "Exit"
    ]  # fmt: skip


def xliff(*units, inner="", version="1.2"):
    """A file with these contents of units."""
    space = f'xmlns="urn:oasis:names:tc:xliff:document:{version}" xmlns:its="http://www.w3.org/2005/11/its"'
    wrap = "<trans-unit id='u{}'>{}</trans-unit>"
    if version != "1.2":
        wrap = "<unit id='u{}'><segment>{}</segment></unit>"
    body = "".join(wrap.format(i, unit) for i, unit in enumerate(units))
    body = f"<body>{body}</body>" if version == "1.2" else body
    return (
        f'<xliff version="{version}" trgLang="de" srcLang="en" {space}>'
        f'<file source-language="en" target-language="de">{body}</file></xliff>'
    )


def targets(*units, version="1.2", change=capitals):
    """The segments of units, and their targets."""
    document = document_of("a.xlf", xliff(*units, version=version).encode())
    written = document.written([change(one) for one in document.segments])
    etree.fromstring(written)
    return document.segments, re.findall("<target>(.*?)</target>", written.decode(), re.DOTALL)


CODES = [
    # XLIFF 1.2, 2.4 and 3.5: nested sub-flows, codes in pairs, isolated codes, protected text
    ('See <ph id="1">&lt;img alt="<sub>My <ph id="2">&lt;b&gt;</ph> dog</sub>"/&gt;</ph> here',
     "See <x0/> here", "SEE {} HERE"),
    ('<bpt id="1">{\\b </bpt>bold<ept id="1">}</ept> <bx id="2" rid="7"/>a<ex id="3" rid="7"/>',
     "<x0>bold</x0> <x1>a</x1>", "{}BOLD{} {}A{}"),
    ('<it id="3" pos="open">&lt;i&gt;</it>a <g id="1">b <x id="2"/></g>',
     "<x0/>a <x1>b <x2/></x1>", "{}A {}B {}{}"),
    ('a <mrk mtype="protected">The <g id="1">dog</g></mrk> <mrk mtype="x-term">b</mrk>',
     "a <x0/> <x1>b</x1>", "A {} {}B{}"),
    ('a <mrk mtype="x" its:translate="no">dog</mrk><!-- b --><?c d?>', "a <x0/><x1/><x2/>",
     "A {}{}{}"),
    # Angular's extraction
    ('<x id="START_BOLD_TEXT" ctype="x-b" equiv-text="&lt;b&gt;"/>a<x id="CLOSE_BOLD_TEXT"/> '
     '<x id="INTERPOLATION" equiv-text="{{a}}"/>', "<x0>a</x0> <x1/>", "{}A{} {}"),
    ("&lt;b&gt;a&lt;/b&gt; &lt;x id=\"INTERPOLATION\"/&gt; %1$s", "<x0>a</x0> <x1/> "
     "<code>%1$s</code>", None),
    ("&amp;Open &lt;file", "Open &lt;file", "&amp;OPEN &lt;FILE"),
    ("AT&amp;T, &amp;amp;", "AT&amp;T, &amp;amp;", None),
]  # fmt: skip
CODES_2 = [
    # XLIFF 2.0, 4.2.3
    ('a <pc id="1">b <sc id="4"/>c<ec startRef="4"/> <cp hex="001b"/></pc> <ph id="3"/>',
     "a <x0>b <x1>c</x1> <x2/></x0> <x3/>", "A {}B {}C{} {}{} {}"),
    ('a <mrk id="m" translate="no">dog</mrk> <mrk id="n" type="term">b</mrk>', "a <x0/> <x1>b</x1>",
     "A {} {}B{}"),
]  # fmt: skip


def test_codes_of_xliff_are_kept():
    for version, table in (("1.2", CODES), ("2.0", CODES_2)):
        for source, segment, text in table:
            segments, (target,) = targets(f"<source>{source}</source>", version=version)
            assert segments == [segment], source
            codes = re.findall(
                r"<ph.*</ph>|<mrk[^>]*(?:\"no\"|protected).*?</mrk>|<(?:it|bpt|ept).*?</(?:it|bpt|ept)>"
                r"|<!--.*?-->|<[^>]*>",
                source,
            )
            if text is not None:
                assert target == text.format(*codes), source
            assert Counter(re.findall("<[^>]*>", target)) == Counter(re.findall("<[^>]*>", source))
            assert targets(f"<source>{source}</source>", version=version, change=str)[1] == [source]


def test_messages_in_xliff():
    sources = [
        "{n, plural, one {&lt;b&gt;# dog&lt;/b&gt; &amp; a} "
        'other {<g id="1">it\'s</g> <x id="2"/>}} b',
        '{VAR_PLURAL, plural, =0 {<x id="START_PARAGRAPH" ctype="x-p"/>test'
        '<x id="CLOSE_PARAGRAPH"/>} }',
    ]
    sources.append("{a&amp;b} {n, number} it's {\n c}")
    segments, written = targets(*(f"<source>{one}</source>" for one in sources))
    assert segments.pop() == "<code>{a&amp;b}</code> <x0/> it's <x1/>"
    assert segments == [
        "<x0/> b", "<x0><code>#</code> dog</x0> &amp; a", "<x0>it's</x0> <x1/>", "<x0>test</x0>"
    ]  # fmt: skip
    for old, new in (
        ("dog", "DOG"),
        ("a}", "A}"),
        ("it's", "IT'S"),
        ("} b", "} B"),
        ("test", "TEST"),
    ):
        sources = [source.replace(old, new) for source in sources]
    assert written == sources


def test_a_tag_across_branches_is_left_untranslated(capsys):
    source = '<source>a {n, plural, one {<g id="1">b} other {c</g>}}</source>'
    assert targets(source, "<source>d</source>") == (["d"], ["D"])
    assert "a tag crosses the border of a branch" in capsys.readouterr().err


def test_untranslated_groups_and_units():
    unit = "<trans-unit id='{0}' {1}><source>{0}</source></trans-unit>"
    group = "<group translate='no'>" + unit.format("a", "") + unit.format("b", "translate='yes'")
    kept = unit.format("c", 'translate="no"')
    text = xliff().replace("<body>", f"<body>{group}</group>{kept}")
    assert document_of("a.xlf", text.encode()).segments == ["b"]


def test_segments_of_tools_are_repeated_in_the_target():
    segmented = (
        '<mrk mtype="seg" mid="1">One.</mrk> <g id="2"><mrk mtype="seg" mid="2">Two <g id="3">'
        'three <mrk mtype="term">four</mrk></g>.</mrk></g> <mrk mtype="seg" mid="3">5</mrk>'
    )
    segments, (target,) = targets(
        f"<source>One. Two three four. 5</source><seg-source>{segmented}</seg-source>"
    )
    assert segments == ["One.", "Two <x0>three <x1>four</x1></x0>."]
    assert target == segmented.replace("One", "ONE").replace("Two", "TWO").replace(
        ">three", ">THREE"
    ).replace("three ", "THREE ").replace("four", "FOUR")
    for source, target in (  # of SDL Trados; without segments
        (
            '<mrk mtype="seg" mid="1">Alpha <x id="1"/> beta</mrk>',
            '<mrk mtype="seg" mid="1"></mrk>',
        ),
        ('<mrk mtype="x">One</mrk>', ""),
    ):
        unit = f"<source>One</source><seg-source>{source}</seg-source><target>{target}</target>"
        found = targets(unit)[1]
        assert found == [re.sub("(?<=>)[^<]+", lambda match: match[0].upper(), source)]


# A translator that reverses, drops and doubles words, and places marks by its attention.
WORDS = ["dogs", "it", "l", "a", "house", "Öl", "I"]


def faked(draw, segment):
    markup = Markup(segment, "html")
    words = markup.plain.split()
    order = draw(st.lists(st.integers(0, len(words) - 1), min_size=1, max_size=2 * len(words)))
    weights = np.full((len(order), len(words)), 0.01)
    weights[range(len(order)), order] = 1
    target = [words[i] for i in order]
    return placed(markup, " ".join(target), weights, target, words)


def argument(inner):
    selectors = st.lists(st.sampled_from(["=0", "one", "few", "male"]), unique=True, max_size=2)
    branches = st.builds(
        lambda names, space, texts: space.join(
            f"{name} {{{text}}}" for name, text in zip([*names, "other"], texts, strict=False)
        ),
        selectors, st.sampled_from([" ", "", "\n  "]), st.lists(inner, min_size=3, max_size=3),
    )  # fmt: skip
    return st.builds(
        "{{{}, {}, {}{}}}".format,
        st.sampled_from(["n", "VAR", "a.b"]),
        st.sampled_from(["plural", "selectordinal"]),
        st.sampled_from(["", "offset:1 "]),
        branches,
    ) | st.builds("{{g,select,{}}}".format, branches)


PARTS = st.sampled_from(
    [*WORDS, "{name}", "{0, number, integer}", "{d, date, 'at' y}", "'{'", "'}'", "''", "#",
     "'{a'' b}'", "<b>", "</b>", "%s"]
)  # fmt: skip
MESSAGES = st.recursive(
    st.lists(PARTS, max_size=5).map(" ".join),
    lambda inner: st.lists(PARTS | argument(inner), max_size=4).map(" ".join),
    max_leaves=12,
)


def parsed(message):
    return Parser({"require_other": False}).parse(message)


def shape(parts):
    """The arguments and selectors of a parsed message, and its characters of the syntax."""
    text = "".join(part for part in parts if isinstance(part, str))
    found = Counter(one for one in text if one in "{}")
    arguments = sorted(
        (
            repr(sorted((key, one[key]) for key in one if key != "options")),
            sorted((name, shape(inner)) for name, inner in one.get("options", {}).items()),
        )
        for part in parts
        if isinstance(part, dict)
        for one in [part]
    )
    return sorted(found.items()), arguments


@settings(max_examples=30, deadline=None)
@given(st.data(), MESSAGES)
def test_arguments_and_selectors_survive_any_translation(data, text):
    message = Message(text + " {n, number}", marks_of(), (), xml=False)
    assert not any("\n" in one for one in message.segments)
    whole = text + " {n, number}"
    written = message.restored(faked(data.draw, one) for one in message.segments)
    assert shape(parsed(written)) == shape(parsed(whole))
    for kept in ("%s", "<b>", "</b>"):
        assert written.count(kept) == whole.count(kept)
    assert message.restored(iter(message.segments)) == whole


def element(inner):
    return st.builds(
        lambda name, parts: f'<{name} id="{{}}">{"".join(parts)}</{name}>'.replace(
            "{}", str(abs(hash(parts)) % 99)
        ),
        st.sampled_from(["g", "mrk"]),
        st.lists(inner, max_size=4).map(tuple),
    )


XML = st.recursive(
    st.sampled_from(
        ["dogs ", " it's ", "a", " &amp;Open ", " &lt;b&gt;", "&lt;/b&gt; ", "%s", " ",
         '<x id="START_B"/>', '<x id="CLOSE_B"/>', '<ph id="4">a<sub>b<ph id="5">c</ph></sub></ph>',
         '<bpt id="6">a</bpt>', '<ept id="6">b</ept>', '<mrk mtype="protected">c<g id="7"/></mrk>',
         '<it id="8" pos="open">d</it>', "<!-- e -->"]
    ),
    element,
    max_leaves=15,
)  # fmt: skip


def tree(one):
    """An element with its attributes and, in any order, its children; codes with their texts."""
    name = etree.QName(one).localname if isinstance(one.tag, str) else "comment"
    if name not in ("g", "mrk", "source", "target") or one.get("mtype"):
        return name, etree.tostring(one, with_tail=False)
    return name.replace("target", "source"), dict(one.attrib), sorted(map(tree, one), key=repr)


@settings(max_examples=30, deadline=None)
@given(st.data(), st.lists(XML, max_size=5).map("".join))
def test_inline_elements_survive_any_translation(data, source):
    document = document_of("a.xlf", xliff(f"<source>dogs {source}</source>").encode())
    written = etree.fromstring(
        document.written([faked(data.draw, one) for one in document.segments])
    )
    before, after = written.find(".//{*}source"), written.find(".//{*}target")
    assert tree(before) == tree(after)
    for kept in ("%s", "<b>", "</b>"):
        texts = ["".join(one.itertext()) for one in (before, after)]
        assert texts[0].count(kept) == texts[1].count(kept)
    same = etree.fromstring(document.written(document.segments)).find(".//{*}target")
    assert etree.tostring(same, method="c14n", with_tail=False) == etree.tostring(
        before, method="c14n", with_tail=False
    ).replace(b"source", b"target")


@settings(max_examples=30, deadline=None)
@given(st.data(), st.lists(st.sampled_from([*WORDS, "%s", "&&", "開く"]), min_size=1, max_size=5),
       st.sampled_from("&_"), st.booleans())  # fmt: skip
def test_a_translation_has_one_mnemonic(data, words, marker, follows):
    words = [f"{marker}Open", *words] if not follows else [*words, f"開く({marker}O)"]
    if marker == "_":
        words = [one for one in words if one != "&&"]
    text = " ".join(words)
    message = Message(text, marks_of(), (), xml=False)
    (segment,) = message.segments
    assert f"{marker}O" not in segment
    translation = faked(data.draw, segment)
    written = message.restored(iter([translation]))
    if translation != segment:
        assert len(re.findall(f"{marker}(?!{marker}| )", written.replace("&&", ""))) == 1
    assert written.count("%s") == text.count("%s")
    shown = re.sub("(?<!<code>)%s|<.*?>", "", translation).replace("&amp;", "&")
    unmarked = re.sub(rf"\({marker}.\)", "", written).replace(marker * 2, "\1").replace(marker, "")
    assert translation == segment or unmarked.replace("\1", marker).split() == shown.split()


@pytest.mark.parametrize("text", ["{a" * 10_000, "'{" * 10_000, "&a" * 10_000, "(&a" * 10_000,
                                  "{a, plural, other {" * 2000, "%" * 20_000, "{{" * 10_000,
                                  "{n, plural, other {a}} " * 500])  # fmt: skip
def test_long_messages_take_little_time(text):
    from bombs import bounded

    with bounded(seconds=20, mebibytes=800):
        Message(text, marks_of(), (), xml=False)


def test_a_text_of_symbols_keeps_its_outer_spaces():
    marked = MarkedText("  a\n b <i>c</i>\t", marks_of())
    assert marked.segment == "a<x0/>b <x1>c</x1>"
    assert marked.restored("x<x0/><x1>y</x1>") == "  x\n <i>y</i>\t"
