"""What the names of a Python script stand for, by the rules of the catalogue.

In: the tree. Out: for each expression the full names it may be (``pd.crosstab`` is
``pandas.crosstab``) with their rules, and the marks of `ScriptMarks`. Scopes are not told apart: a
name counts as data if it is data anywhere.
"""

from __future__ import annotations

import builtins
import re
import sys
from collections.abc import Iterable, Iterator, Sequence

from discreet_fire.catalogue import Action, CommandRule, ScriptPolicy
from discreet_fire.flow.script_marks import DATA, NO_CHOICE, VALUES, ScriptMarks
from discreet_fire.scripts import (
    Binding,
    Node,
)

_BUILTINS = frozenset(dir(builtins))
_MOST_PARTS = 6
_MOST_ALIASES = 5_000
_OF_FILE = ("__name__", "__file__")
_SAFE = "discreet_fire.statistics."
_LARGE = ("pandas.*", "polars.*", "narwhals.*", "pathlib.*", "numpy.*", "scipy.*")
_MAKING = ("from_", "set_", "now", "today", "cwd", "home")
#: Modules that are known by their own rules wherever they are found.
_MODULES = frozenset(sys.stdlib_module_names) | {"builtins", "bltns"}
_HIDDEN = ("read", "open")
_VIEWS = ("items", "values", "get", "setdefault", "pop")


class PythonMarks(ScriptMarks):
    r"""The names of one script, and the marks of its expressions.

    >>> from discreet_fire.scripts import read_python
    >>> text = "import pandas as pd\nf = pd.crosstab\nn = 3\nt = f(a, b)\nd['m'] = t.x.max()"
    >>> marks = PythonMarks(read_python(text), ScriptPolicy.default("python"))
    >>> marks.aliases["f"], [marks.clean(one.parts[0]) for one in marks.tree.parts[1:4]]
    ({'pandas.crosstab'}, [False, True, False])
    >>> marks.spreads(marks.tree.parts[4]), marks.labels(marks.tree.parts[4])
    (True, False)
    """

    def __init__(self, tree: Node, policy: ScriptPolicy) -> None:
        super().__init__(tree, policy)
        classes = [node for node in self.nodes if node.kind == "class"]
        defined = [node for node in self.nodes if node.kind == "define"]
        #: Functions and classes of the script.
        self.own = {node.value: node for node in (*defined, *classes)}
        self.functions = {node.value for node in defined} - {node.value for node in classes}
        inside = [method for node in classes for method in node.methods()]
        self.methods = {method.value for method in inside}
        #: Names of the objects of own classes within their methods.
        self.selves = {name for one in inside for name in one.parts[-1].names[:1] if name}
        self._import()
        self.bound = {*self.values, *self.aliases, *self.own}
        self._inputs = {name for name, value, _ in self.bindings if value is None}
        self._whole = {name for name, _, whole in self.bindings if whole}
        constant = ("number", "string", "format")
        varied = {name for name, one, _ in self.bindings if one is None or one.kind not in constant}
        self._fixed = set(self.values) - varied - set(self.own)
        self.follow_aliases(lambda value: value.roots, self._functions_in, _MOST_ALIASES)
        self.settle(self._filled(), self.bound - set(self.aliases))

    def _bound_by(self, node: Node) -> Iterator[Binding]:
        yield from node.bindings()
        if node.kind == "class":
            # A class holds what its body and its methods put into it; what its metaclass gives is
            # not known.
            for name, part in zip(node.names[:-1], node.parts, strict=False):
                if name != "@":
                    yield node.value, None if name else part, False
            methods = {id(item) for one in node.methods() for item in one.walk()}
            for item in node.parts[-1].walk():
                for _, value, whole in item.bindings():
                    if value is not None and not (whole and id(item) in methods):
                        yield node.value, value, False
        elif node.is_assignment:
            # Names of one object: what is put into it by one is seen by the others.
            target, value = node.parts
            if target.kind == "name" and value.is_assignment and value.parts[0].kind == "name":
                yield value.parts[0].value, target, False

    def _import(self) -> None:
        for node in self.nodes:
            for one in node.parts if node.kind in ("import", "from") else ():
                root = one.value.partition(".")[0]
                name, full = one.names[0] or root, one.value if one.names[0] else root
                if node.kind == "from":
                    dots = node.value if not node.value.strip(".") else f"{node.value}."
                    name, full = one.names[0] or one.value, f"{dots}{one.value}"
                self.aliases.setdefault(name, set()).add(full)

    # ------------------------------------------------------------ names and rules

    def resolved(self, node: Node) -> frozenset[str]:
        """The full names that an expression may stand for; none if it is no plain name."""
        if node.kind == "name":
            names = set(self.aliases.get(node.value, ()))
            if node.value == "__builtins__":
                return frozenset({"builtins"})
            if node.value in _BUILTINS:
                names.add(f"builtins.{node.value}")
            elif node.value not in self.bound:
                names.add(node.value)
            return frozenset(names)
        if node.kind == "if" or node.value in ("and", "or", "<-"):
            parts = node.parts[1 if node.kind == "if" or node.value == "<-" else 0 :]
            return frozenset[str]().union(*map(self.resolved, parts))
        if node.kind == "call" and "logging.getLogger" in self.resolved(node.parts[0]):
            return frozenset({"logging.Logger"})
        if not node.is_part:
            return frozenset()
        return frozenset(f"{base}.{node.parts[1].value}" for base in self.resolved(node.parts[0]))

    def rules(self, function: Node) -> list[CommandRule]:
        """The rules on a function or value, by its full names or as a method of anything."""
        rules = [rule for name in sorted(self.resolved(function)) for rule in self.of_name(name)]
        if function.is_part:
            method = self.policy.rule(f".{function.parts[1].value}")
            known = [rule for rule in rules if rule.known]
            # A function of a module that a rule names as such; otherwise the method counts too.
            exact = [rule for rule in known if not rule.name.endswith(".*")]
            if exact:
                return exact
            if method.known and (not known or method.action is not Action.ALLOWED):
                return [*known, method]
            rules = rules or [method]
        return rules

    def of_name(self, name: str) -> list[CommandRule]:
        """The rules on a full name; what a rule on a whole module covers is judged further.

        A method of a class of a module is judged as a method too, a module that another one
        has loaded (``platform.subprocess``) as itself, and ``module.print`` as `print`.
        """
        rule = self.policy.rule(name)
        if rule.known and not rule.name.endswith(".*"):
            return [rule]
        parts = name.split(".")
        if not rule.known:
            return [rule, *self._of_modules(parts, 1)]
        rules, method = [rule], self.policy.rule(f".{parts[-1]}")
        # A method of a class of a large package: ``polars.DataFrame.serialize``.
        large = rule.name in _LARGE and len(parts) > 2 and parts[-2][:1].isupper()
        unknown = large and not method.known and not parts[-1].startswith(_MAKING)
        rules += [method] if method.action is Action.REFUSED or unknown else []
        rules += self._of_modules(parts, rule.name.count("."))
        builtin = self.policy.rule(f"builtins.{parts[-1]}")
        shows = builtin.role == "shows" or builtin.name == "builtins.open"
        if not builtin.name.endswith("*") and (builtin.action is Action.REFUSED or shows):
            rules.append(builtin)
        return rules

    def _of_modules(self, parts: list[str], first: int) -> Iterator[CommandRule]:
        """The rules on modules that another one has loaded: ``typing.sys.modules``."""
        for place in range(first, len(parts) - 1):
            part = parts[place].strip("_")
            if part in _MODULES and (place > 1 or part != parts[0]):
                yield self.policy.rule(".".join([part, *parts[place + 1 :]]))

    def given_names(self, function: Node) -> frozenset[str]:
        """The full names of a function that an import or Python gives; none for a method of an
        object that nothing in this script binds: it may be data.
        """
        root = function.base
        unbound = root.kind == "name" and root.value not in {*self.aliases, *_BUILTINS}
        return frozenset() if unbound and function.is_part else self.resolved(function)

    def facts(self, function: Node) -> list[CommandRule]:
        """The rules that state what a call may do with values; none for functions of the script."""
        if full := self.given_names(function):
            return [rule for name in sorted(full) for rule in self._facts_of(name)]
        if not function.is_part:
            return []
        word = function.parts[1].value
        rule = self.policy.rule(f".{word}")
        return [rule] if rule.known or word not in self.methods else []

    def _facts_of(self, name: str) -> list[CommandRule]:
        """Where a rule on a whole module states nothing, a method of that name counts.

        So it does where there is no rule at all: on an object that nothing here binds.
        """
        rule = self.policy.rule(name)
        method = self.policy.rule(f".{name.rpartition('.')[2]}")
        if not rule.known and method.known:
            return [rule, method]
        if not rule.name.endswith(".*") or not method.known:
            return [rule]
        if rule.risks is not None:
            return [rule, method, *self._of_modules(name.split("."), rule.name.count("."))]
        return [method] if method.role in ("data", "clean") else [rule]

    def states(self, name: str, risk: str) -> bool:
        """Whether a call of a name that a rule names may do this."""
        rule = self.policy.rule(name)
        return rule.known and rule.may(risk)

    def acts(self, method: str) -> bool:
        """Whether a method changes its object."""
        return self.policy.rule(f".{method}").role == "acts"

    def is_own(self, function: Node) -> bool:
        """Whether a function is one of this script."""
        if function.kind == "name":
            return function.value in self.own and not self.resolved(function)
        return function.is_part and function.parts[1].value in self.methods

    def is_safe(self, node: Node) -> bool:
        """Whether an expression is a call of a safe function."""
        if node.kind != "call":
            return False
        names = self.resolved(node.parts[0])
        rules = [self.policy.rule(name) for name in names if name.startswith(_SAFE)]
        safe = bool(rules) and len(rules) == len(names) and all(map(_gives_clean, rules))
        return safe and not self._rebound(node.parts[0])

    def _rebound(self, node: Node) -> bool:
        root = node.base.value
        return root in self.own or root in self._inputs or root in self._whole

    def _functions_in(self, value: Node) -> set[str]:
        short = {item for item in self.resolved(value) if item.count(".") <= _MOST_PARTS}
        return {item for item in short if self.policy.rule(item).known}

    # ------------------------------------------------------------ what is clean

    def _clean_name(self, node: Node, held: bool) -> bool:
        if held:
            return False
        if alias := self.aliases.get(node.value):
            return all(map(self._is_clean, alias))
        return node.value in self.bound or node.value in _BUILTINS or node.value in _OF_FILE

    def _is_clean(self, name: str) -> bool:
        if name.rpartition(".")[2].startswith(_HIDDEN):
            return False
        return all(map(_gives_clean, self.of_name(name)))

    def _of_function(self, node: Node) -> int:
        return NO_CHOICE | DATA if node.value == "lambda" else NO_CHOICE

    def _of_part(self, node: Node, marks: Sequence[int]) -> int:
        thing, word = node.parts[0], node.parts[1].value
        result = super()._of_part(node, marks) & ~DATA
        if full := self.resolved(node):
            data = not all(map(self._is_clean, full))
        else:
            hidden = word == "evidence" and not self.policy.rule(".evidence").known
            hidden = hidden or word.startswith(_HIDDEN)
            data = hidden or bool(marks[0] & DATA) or thing.value in self.functions
        inner = node
        while inner.is_part:
            if self.has_trait(inner, "schema"):
                result &= ~VALUES
            inner = inner.parts[0]
        turned = (word == "T" and not self.clean(inner)) or (
            self.is_place(node) and self.has(thing, 128)
        )
        return result | (DATA if data else 0) | (128 if turned else 0)

    def _clean_call(self, node: Node) -> bool:
        function, *inputs = node.parts
        if self.is_safe(node):
            return True
        if not all(map(self.clean, inputs)):
            return False
        if self.is_own(function):
            return self.is_plain_error(function)
        if full := self.resolved(function):
            return all(map(self._is_clean, full)) and not self._rebound(function)
        word = function.parts[1].value if function.is_part else "open"
        if word.startswith(_HIDDEN):
            return False
        if word in ("format", "format_map") and not _plain_template(function.parts[0]):
            return False
        rule = self.policy.rule(f".{word}")
        return rule.known and rule.action is not Action.REFUSED and self.clean(function.parts[0])

    def is_plain_error(self, node: Node) -> bool:
        """Whether an expression is an error class of this script that says what it is given."""
        own = self.own.get(node.value) if node.kind == "name" else None
        if own is None or own.kind != "class" or self._held.get(node.value, 0) & DATA:
            return False
        quiet = all(item.kind in ("other", "shown") for item in own.parts[-1].parts)
        return quiet and all(
            base.value in _BUILTINS or self.is_plain_error(base) for base in own.parts[:-1]
        )

    # ------------------------------------------------------------ what is changed

    def _effects(self, node: Node) -> Iterator[str]:
        if node.kind == "class":
            yield node.value
        elif node.kind == "call":
            word = node.parts[0].word
            if node.parts[0].is_part and self.acts(word):
                yield from node.parts[0].parts[0].roots
            elif word == "next":
                yield from (name for inputs in node.parts[1:] for name in inputs.roots)

    def _loose(self) -> set[str]:
        """What a function changes that is not its own, or may be another name for what is not."""
        loose: set[str] = set()
        for function in (node for node in self.nodes if node.kind == "function"):
            inside = [*function.walk()]
            bound = [one for item in inside for one in item.bindings()]
            own = {name for name, value, whole in bound if whole and not _shares(value)}
            stated = {name for item in inside if item.kind == "global" for name in item.names}
            filled = set[str]().union(*map(self._effects, inside))
            filled |= {name for name, _, whole in bound if not whole}
            loose |= filled - own | {name for name, _, _ in bound} & stated | filled & stated
        return loose

    def _returned(self) -> Iterator[tuple[str, Node]]:
        for name in sorted(self.functions):
            for node in self.own[name].walk():
                yield from ((name, item) for item in node.parts if node.kind == "return")

    def _filled(self) -> Iterator[tuple[set[str], Node]]:
        """Expressions with the names that hold data if the expression does, by other ways."""
        targets = self.bound - set(self.aliases)
        for name, value, _ in self.bindings:
            if value is None:
                continue
            if value.is_part and self.acts(value.parts[1].value):
                self._held_by(value.roots & targets)
            if _shares(value):
                yield self._fillable(value.roots), Node("name", name, 0, 0)
        for node in self.nodes:
            if node.kind == "call":
                yield from self._fill(node)

    def _fillable(self, names: Iterable[str]) -> set[str]:
        return set(names) - self._fixed - self.functions

    def _held_by(self, names: Iterable[str]) -> None:
        for name in self._fillable(names):
            self._held[name] |= DATA

    def _fill(self, call: Node) -> Iterator[tuple[set[str], Node]]:
        """A method with data makes its object data; own functions may fill what they get."""
        function, *inputs = call.parts
        targets: set[str] = set()
        full = self.resolved(function)
        if function.is_part and not self.resolved(function.parts[0]):
            roots = function.parts[0].roots
            targets |= {root for root in roots if not self.aliases.get(root)}
        if full and any(rule.role == "acts" for rule in self.rules(function)):
            targets |= {name for item in inputs for name in item.roots}
        out = [value for name, value in call.arguments() if name == "out"]
        targets |= {name for item in out for name in item.roots}
        if targets := self._fillable(targets & self.bound):
            yield from ((targets, item) for item in inputs)
            if out and function.is_part:
                yield targets, function.parts[0]
        # Functions of the script, and what is handed over to run, may fill what is beside them.
        handed = any(
            item.kind == "function" or item.value in self.functions
            or (item.is_part and self.acts(item.parts[1].value))
            for item in inputs
        )  # fmt: skip
        if handed or self.is_own(function) or not (full or function.is_part):
            roots = set[str]().union(*(one.roots for one in inputs))
            self._held_by(roots & self.bound - set(self.aliases))

    # ------------------------------------------------------------ single values and labels

    def thing_of(self, function: Node) -> list[Node]:
        """The object whose method a function is, if it is that of one."""
        method = function.is_part and not self.given_names(function)
        return function.parts[: 1 if method else 0]

    def is_place(self, node: Node) -> bool:
        """Whether single values stand in the brackets behind a part: ``df.iloc[17]``."""
        return node.is_part and self.states(f".{node.parts[1].value}", "place")

    def _names_picking(self, function: Node, name: str | None, node: Node) -> bool:
        if not self.may(function, "runs"):
            return False
        if (text := node.text) is not None:
            return self.states(f".{text}", "picks")
        return bool(self.resolved(node)) and self.may(node, "picks")

    def is_label(self, part: Node) -> bool:
        """Whether a part of an object is a label."""
        own = part.root in {*self.selves, *self.own}
        rule = self.policy.rule(f".{part.parts[1].value}")
        return rule.may("named") and (rule.known or not own)

    def _column_of(self, node: Node) -> tuple[Node, Node] | None:
        inserts = node.kind == "call" and node.parts[0].is_part and len(node.parts) > 2
        if inserts and node.parts[0].parts[1].value == "insert":
            return node.parts[0], node.parts[2]
        return super()._column_of(node)

    def _names_columns(self, call: Node) -> bool:
        function = call.parts[0]
        full = self.resolved(function)
        if any(not name.startswith("builtins.") for name in full):
            return False
        inside = [*call.parts[1:], *(function.parts[:1] if not full and function.is_part else ())]
        return not any(self.has(item, VALUES) for item in inside)

    def has_trait(self, node: Node, trait: str) -> bool:
        """Whether a rule states this of a function or part."""
        return node.is_part and trait in self.policy.rule(f".{node.parts[1].value}").traits


def _shares(value: Node | None) -> bool:
    """Whether a value may be an object that other names hold too."""
    if value is None or value.kind == "call":
        return value is not None and value.parts[0].word in _VIEWS
    shared = ("name", "holder", "dict", "if", "index")
    return value.kind in shared or value.value in ("and", "or", "*", "<-")


def _gives_clean(rule: CommandRule) -> bool:
    return rule.known and rule.action is Action.ALLOWED and rule.role == "clean"


def _plain_template(node: Node) -> bool:
    """Whether a template takes its arguments as they are, not parts of them: ``{0.part}``."""
    text = node.text
    return text is not None and not re.search(r"\{[^{}:!]*[.\[][^{}]*\}", text)
