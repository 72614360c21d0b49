"""Where a command ends, and the words before its arguments: prefixes and the command itself.

In: the text and the first character of a command. Out: its end, the stretches in it that are no
words, the colons, semicolons and braces outside of all brackets; its prefixes (``quietly``,
``by x:``, ``if x``, ``else`` …) and its command word, each with its place. Macros count before
strings, as Stata puts in their contents first. The condition of ``if`` ends at the first word that
can no longer belong to it. The time needed grows as the length of the text: quotes inside quotes
are counted on a stack, once for each line.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

from discreet_fire.catalogue import Forms, canonical, prefix_kind
from discreet_fire.stata.statements import Span, SpanKind, Word

_FORM = Forms(__package__, "scanner")
_BEFORE_SLASHES = frozenset(" \t\r\n\f\v")


def comment_end(text: str, at: int, limit: int) -> int | None:
    """The place behind a comment, in which others may stand; None if it never closes."""
    depth = 0
    for mark in _FORM.comment_mark.finditer(text, at, limit):
        depth += 1 if mark.group() == "/*" else -1
        if depth == 0:
            return mark.end()
    return None


@dataclass(slots=True)
class ScannedCommand:
    """One command as the scanner finds it."""

    start: int
    end: int = -1
    opens: bool = False
    #: Where the first brace stands that opens no block.
    inner: int | None = None
    spans: list[Span] = field(default_factory=list)
    colons: list[int] = field(default_factory=list)
    deep_colons: list[int] = field(default_factory=list)
    semicolons: list[int] = field(default_factory=list)
    unclosed: tuple[int, ...] = ()
    #: A back quote outside of strings that opens a macro which never closes.
    open_macro: int | None = None
    joins: tuple[int, ...] = ()


class Scanner:
    """Finds the ends of commands, comments, strings and macros in a text."""

    def __init__(
        self, text: str, limit: int, *, start: int = 0, flat: bool = False, loose: bool = False
    ) -> None:
        self.text = text
        self.limit = limit
        self.flat = flat
        self.loose = loose
        #: Whether ``;`` ends commands, or line ends do.
        self.semicolons = False
        #: Starts of strings that are never closed.
        self.unclosed: list[int] = []
        #: Starts of lines that go on with a string of the line before, after ``///``.
        self.joins: list[int] = []
        self._matched = (0, 0)
        self._closing: dict[int, int] = {}
        #: From where on no simple, and no compound, string closes while ``;`` ends commands.
        self._no_close = [limit + 1, limit + 1]
        #: Start of a block comment that is never closed.
        self.open_comment: int | None = None
        self._last_close = text.rfind("*/", start, limit) if flat else -1

    # --- strings and macros ---------------------------------------------------------------

    def line_end(self, at: int) -> int:
        """The end of the line, before the characters that end it."""
        match = _FORM.line_end.search(self.text, at, self.limit)
        return match.start() if match else self.limit

    def macro_end(self, at: int) -> int | None:
        """The place behind a macro that opens with a back quote; None if it never closes."""
        simple = _FORM.simple_macro.match(self.text, at, self.limit)
        if simple:
            return simple.end()
        if not self._matched[0] <= at < self._matched[1]:
            self._match_line(at)
        return self._closing.get(at)

    def _match_line(self, at: int) -> None:
        end = self.line_end(at)
        self._matched, self._closing = (at, end), {}
        stack: list[int] = []  # macros by their place, compound strings as -1
        for mark in _FORM.mark.finditer(self.text, at, end):
            sign = mark.group()
            if sign == '`"':
                stack.append(-1)
            elif sign == "`":
                stack.append(mark.start())
            elif stack:
                if stack[-1] >= 0:
                    self._closing[stack.pop()] = mark.end()
                elif sign == "\"'":
                    stack.pop()

    def string_end(self, at: int) -> int:
        """The place behind a string; it ends with its line if it is never closed."""
        simple = _FORM.string.match(self.text, at, self.limit)
        if simple:
            return simple.end()
        return self._walk(at, at + 1, compound=False)

    def _walk(self, start: int, at: int, *, compound: bool) -> int:
        pattern = _FORM.in_compound if compound else _FORM.in_string
        depth, line = 1, start
        if self.semicolons and start > self._no_close[compound]:
            return self._open_string(start)
        while match := pattern.search(self.text, at, self.limit):
            sign, at = match.group(), match.end()
            if sign == "`":
                at = self.macro_end(match.start()) or at
            elif sign == '`"':
                depth += 1
            elif sign in "\r\n":
                joined = self._next_line(line, match.start())
                if joined is None:
                    return self._open_string(start, match.start())
                at = line = joined
            else:
                depth -= 1
                if depth == 0:
                    return at
        self._no_close[compound] = min(self._no_close[compound], start)
        return self._open_string(start, self.limit)

    def _next_line(self, line: int, end: int) -> int | None:
        """The start of the next line if the string goes on there."""
        new = _FORM.new_line.match(self.text, end, self.limit)
        behind = new.end() if new else end + 1
        if self.semicolons:
            return None if _FORM.delimit.match(self.text, behind, self.limit) else behind
        if _FORM.join.search(self.text, line, end):
            self.joins.append(behind)
            return behind
        return None

    def _open_string(self, start: int, end: int | None = None) -> int:
        """A string without end: in its line all of it, among semicolons only its quote."""
        self.unclosed.append(start)
        if end is None or self.semicolons:
            return start + 1
        return end

    # --- comments -------------------------------------------------------------------------

    def block_comment_end(self, at: int) -> int:
        """The place behind a comment that starts with ``/*``; such comments nest."""
        if self.flat:
            close = self.text.find("*/", at + 2, self.limit) if at < self._last_close else -1
            return close + 2 if close >= 0 else at + 2
        end = comment_end(self.text, at, self.limit)
        if end is None and self.open_comment is None:
            self.open_comment = at
        return self.limit if end is None else end

    def star_comment_end(self, at: int) -> tuple[int, list[int]]:
        """The end of a comment that starts with ``*``, and the starts of its further lines."""
        joins: list[int] = []
        pattern = _FORM.in_star_semicolon if self.semicolons else _FORM.in_star
        start, end = at, self._star_stop(at)
        while match := pattern.search(self.text, at + 1 if at == start else at, end):
            sign, at = match.group(), match.end()
            if sign == "/*":
                at = self.block_comment_end(match.start())
                end = end if at <= end else self._star_stop(at)
            elif sign in ";\r\n":
                return match.start(), joins
            elif sign == "//":
                if self.text[at : at + 1] != "/":
                    return end, joins
                at = self.next_line(end)
                joins.append(at)
                end = self._star_stop(at)
        return end, joins

    def _star_stop(self, at: int) -> int:
        """How far a comment with ``*`` can reach at most."""
        return self.limit if self.semicolons else self.line_end(at)

    def next_line(self, at: int) -> int:
        """The place behind the next line end."""
        match = _FORM.new_line.search(self.text, at, self.limit)
        return match.end() if match else self.limit

    def slash_comment(self, at: int) -> Span | None:
        """The comment or continuation that starts at a slash, if one does."""
        text = self.text
        if text.startswith("/*", at):
            return Span("comment", at, self.block_comment_end(at))
        if not text.startswith("//", at) or (at and text[at - 1] not in _BEFORE_SLASHES):
            return None
        if text.startswith("///", at):
            return Span("continuation", at, self.next_line(self.line_end(at)))
        return Span("comment", at, self.line_end(at))

    # --- commands -------------------------------------------------------------------------

    def piece(self, start: int, *, plain: bool = False) -> ScannedCommand:
        """The command that starts here; if `plain`, braces in its midst open no block."""
        piece, at = ScannedCommand(start), start
        text, limit, search = self.text, self.limit, _FORM.sign.search
        brackets = braces = 0
        #: Whether its first words are of a kind that a block follows.
        opener = False if plain else None
        while piece.end < 0 and (match := search(text, at, limit)):
            sign, place, at = match.group(), match.start(), match.end()
            if sign in "([":
                brackets += 1
            elif sign in ")]":
                brackets = max(brackets - 1, 0)
            elif sign == ":":
                (piece.deep_colons if brackets else piece.colons).append(place)
            elif sign == ";":
                if self.semicolons:
                    piece.end = place
                elif not brackets:
                    piece.semicolons.append(place)
            elif sign in "\r\n":
                if not self.semicolons or _FORM.delimit_line.match(text, at, limit):
                    piece.end = place
            elif sign == "/":
                if span := self.slash_comment(place):
                    piece.spans.append(span)
                    at = span.end
            elif sign == "{":
                last = _FORM.last_on_line.match(text, at, limit) is not None
                if opener is None:
                    opener = _FORM.opener.match(text, start, place) is not None
                block = opener and not braces
                if (last and not brackets) or (block and (last or not brackets)):
                    piece.end, piece.opens = at, True
                elif not brackets:
                    braces += 1
                    piece.inner = place if piece.inner is None else piece.inner
            elif sign == "}":
                if not brackets and not braces:
                    piece.end = place
                braces -= not brackets and braces > 0
            else:
                at = self._quoted(piece, place)
        if piece.end < 0:
            piece.end = limit
        if self.unclosed or self.joins:
            piece.unclosed, piece.joins = tuple(self.unclosed), tuple(self.joins)
            self.unclosed, self.joins = [], []
        return piece

    def _quoted(self, piece: ScannedCommand, at: int) -> int:
        """The place behind a string or a macro that starts here."""
        kind: SpanKind = "macro"
        compound = self.text.startswith('`"', at)
        if compound or self.text[at] == '"':
            if self.loose:
                return at + 1 + compound
            kind = "string"
            end = self._walk(at, at + 2, compound=True) if compound else self.string_end(at)
        elif self.text[at] == "$":
            dollar = _FORM.dollar.match(self.text, at, self.limit)
            end = dollar.end() if dollar else at + 1
        else:
            closed = self.macro_end(at)
            if closed is None and piece.open_macro is None:
                piece.open_macro = at
            end = at + 1 if closed is None else closed
        if end > at + 1:
            piece.spans.append(Span(kind, at, end))
        return end


@dataclass(slots=True)
class Head:
    """Prefixes and command of one statement."""

    prefixes: list[Word] = field(default_factory=list)
    command: Word | None = None


class HeadReader:
    """Reads prefixes and command word of one piece."""

    def __init__(self, text: str, piece: ScannedCommand) -> None:
        self.text = text
        self.piece = piece
        self.end = piece.end - 1 if piece.opens else piece.end
        self.spans = {start: end for _, start, end in piece.spans} if piece.spans else {}

    def read(self, at: int) -> Head:
        """Prefixes and command from `at` on."""
        head = Head()
        while True:
            at = self.skip(at)
            word = self.word(at)
            if word is None:
                if head.prefixes and at >= self.end:
                    head.command = head.prefixes.pop()
                return head
            if (prefix_end := self._prefix(word)) is None:
                head.command = word
                return head
            prefix, at = prefix_end
            head.prefixes.append(prefix)

    def skip(self, at: int) -> int:
        """The next character that is neither blank nor comment."""
        while at < self.end:
            blank = _FORM.blank.match(self.text, at, self.end)
            if blank:
                at = blank.end()
            elif self.text[at] == "/" and at in self.spans:
                at = self.spans[at]
            else:
                break
        return at

    def word(self, at: int) -> Word | None:
        """The word here: letters and macros without a blank between, or a sign of its own."""
        text, end = self.text, self.end
        plain = _FORM.command.match(text, at, end)
        if plain:
            last = plain.end()
            name = plain.group()
            if last >= end or text[last] not in "`$/":
                return Word(name, at, last, canonical(name))
            if text[last] == "/":
                return self._parted(name, at, last)
        last = self._word_end(at)
        if last > at and not text[at].isdigit():
            return Word(text=text[at:last], start=at, end=last, has_macro=True)
        if at < end and text[at] == "!":
            return Word(text="!", start=at, end=at + 1, canonical="shell")
        dotted = _FORM.object_word.match(text, at, end)
        if dotted:
            return Word(text=dotted.group(), start=at, end=dotted.end())
        return None

    def _parted(self, name: str, at: int, last: int) -> Word:
        """A word that a comment parts, ``li/* */st``, if the parts make a command."""
        rest = _FORM.letters.match(self.text, self.spans.get(last, self.end), self.end)
        whole = canonical(name + rest.group()) if rest else None
        if rest is None or whole is None:
            return Word(name, at, last, canonical(name))
        return Word(self.text[at : rest.end()], at, rest.end(), whole)

    def _word_end(self, at: int) -> int:
        text, end = self.text, self.end
        while at < end:
            letters = _FORM.letters.match(text, at, end)
            if letters:
                at = letters.end()
            elif text[at] == "$" or (text[at] == "`" and not text.startswith('"', at + 1)):
                if at not in self.spans and text[at] == "`":
                    break
                at = self.spans.get(at, at + 1)
            else:
                break
        return min(at, end)

    def _prefix(self, word: Word) -> tuple[Word, int] | None:
        """The word as a prefix, and where its command starts; None if it is the command."""
        kind = prefix_kind(word.canonical) if word.canonical else None
        if kind is None:
            return None
        after = self.skip(word.end)
        if kind == "bare":
            if self.text.startswith(":", after) and after < self.end:
                word, after = word._replace(colon=after), self.skip(after + 1)
        elif kind == "condition":
            if word.canonical != "else":
                after = self.skip(self._condition_end(after))
                if after < self.end and self.text[after] in ",:":
                    after = self.skip(after + 1)
                word = word._replace(arguments=(word.end, after))
        elif kind == "word":
            after = after if self.word(after) else self.end
        else:
            return self._with_colon(word)
        return (word, after) if after < self.end else None

    def _condition_end(self, at: int) -> int:
        """The place behind a condition, blanks after it included."""
        text, end, has_value = self.text, self.end, False
        while (at := self.skip(at)) < end:
            sign = text[at]
            goes_on = sign in "([" or _FORM.starts.match(text, at, end) is None
            if sign == "{" or (has_value and not goes_on):
                break
            operator = None if at in self.spans else _FORM.operator.match(text, at, end)
            after = operator.end() if operator else self._value_end(at)
            if after > at:
                at, has_value = after, operator is None
            else:
                at += 1
        return at

    def _value_end(self, at: int) -> int:
        """The place behind values, strings, macros and brackets that stand together."""
        text, end = self.text, self.end
        while at < end:
            if at in self.spans:
                if text[at] == "/":
                    break
                at = self.spans[at]
            elif text[at] in "([":
                at = self._closed(at)
            elif value := _FORM.value.match(text, at, end):
                at = value.end()
            else:
                break
        return at

    def _closed(self, at: int) -> int:
        depth = 0
        while match := _FORM.bracket.search(self.text, at, self.end):
            at = match.start()
            if at in self.spans:
                at = self.spans[at]
                continue
            at += 1
            depth += (match.group() in "([") - (match.group() in ")]")
            if match.group() in ")]" and depth == 0:
                return at
        return self.end

    def _with_colon(self, word: Word) -> tuple[Word, int] | None:
        if word.canonical == "mi" and not _FORM.mi.match(self.text, word.end, self.end):
            return None
        place = bisect_left(self.piece.colons, word.end)
        if place >= len(self.piece.colons):
            return None
        colon = self.piece.colons[place]
        return word._replace(arguments=(word.end, colon), colon=colon), colon + 1


def first_end(piece: ScannedCommand, head: Head, end: int) -> int:
    """The end of the first of the commands behind ``mi xeq:``."""
    if piece.semicolons and any(prefix.canonical == "mi" for prefix in head.prefixes):
        body = head.prefixes[-1].colon or piece.start
        return next((at for at in piece.semicolons if at > body), end)
    return end
