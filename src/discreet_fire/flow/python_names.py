"""What the names of a Python script stand for, and which of them tell of the data.

In: the syntax tree. Out: for each expression the full names it may be (``pd.crosstab`` is
``pandas.crosstab``), and whether it is clean: made of constants and safe results only; for each
condition the names that are changed only if it holds, or as often as it holds:
``for v in df.x: n += 1`` counts the records, and reads none. Scopes are not told apart: a name
counts as data if it is data anywhere.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from discreet_fire.catalogue import Action, CommandRule, ScriptPolicy
from discreet_fire.flow.engine import ControlFlow, Names, SingleValues, View, grown
from discreet_fire.scripts import (
    HOLDERS,
    PythonBindings,
    arguments_of,
    attribute_of,
    methods_of,
    root_of,
    roots_of,
    text_of,
    word_of,
)

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_LEFT = (*_LOOPS, *_FUNCTIONS)
_TRIES = (ast.Try, ast.TryStar)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)


class PythonFlows(ControlFlow[ast.AST]):
    r"""The flow of control through one script.

    >>> tree = ast.parse("n = 0\nfor v in d:\n    n += 1")
    >>> flows = PythonFlows(tree, PythonBindings(tree), {"append"}.__contains__)
    >>> [sorted(names) for _, names in flows.under]
    [['n', 'v']]
    """

    def __init__(
        self, tree: ast.Module, bindings: PythonBindings, acts: Callable[[str], bool]
    ) -> None:
        super().__init__()
        self.bindings, self.acts = bindings, acts
        self.find_jumps(tree)
        self._changed: dict[str, set[str]] = {}
        self._changed = self._changes()
        called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Lambda):
                self.loose |= self._below(node)
            elif isinstance(node, ast.Name | ast.Attribute) and id(node) not in called:
                word = node.id if isinstance(node, ast.Name) else node.attr
                if isinstance(node.ctx, ast.Load):
                    self.loose |= self._changed.get(word, set())
        self.find_changes(tree)

    def parts(self, node: ast.AST) -> Iterator[tuple[ast.AST, list[ast.AST]]]:
        """The parts of a node, each with the conditions under which it runs."""
        return _children(node)

    def leaves(self, node: ast.AST, within: set[str]) -> str:
        """Whether a node leaves a loop or function; an error that is caught does so too."""
        if isinstance(node, ast.Return):
            return "function"
        raised = isinstance(node, ast.Raise) and "try" in within
        return "loop" if raised or isinstance(node, ast.Break | ast.Continue) else ""

    def frame(self, node: ast.AST) -> str:
        """Whether a node is a loop, a function or a `try`."""
        kinds = (("loop", _LOOPS), ("function", _FUNCTIONS), ("try", _TRIES))
        return next((name for name, kind in kinds if isinstance(node, kind)), "")

    def _changes(self) -> dict[str, set[str]]:
        """The names that each function of the script changes, also by others it calls."""
        own = [node for node in self.bindings.own.values() if isinstance(node, _FUNCTIONS)]
        for node in self.bindings.own.values():
            if isinstance(node, ast.ClassDef):
                own.extend(methods_of(node))
        changed: dict[str, set[str]] = {}
        calls: dict[str, set[str]] = {}
        for node in own:
            changed.setdefault(node.name, set()).update(self._below(node))
            inside = (item for item in ast.walk(node) if isinstance(item, ast.Call))
            calls.setdefault(node.name, set()).update(word_of(item.func) for item in inside)
        size = -1
        while size != (size := sum(map(len, changed.values()))):
            for name, others in calls.items():
                for other in others & set(changed):
                    changed[name] |= changed[other]
        return changed

    def _below(self, node: ast.AST) -> set[str]:
        return {name for item in ast.walk(node) for name in self.changed_by(item)}

    def changed_by(self, node: ast.AST) -> Iterator[str]:
        """The names that a node itself changes."""
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Attribute | ast.Subscript):
            if not isinstance(node.ctx, ast.Load):
                yield from roots_of(node.value)
        elif isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Call):
            attribute = attribute_of(node.func)
            word = word_of(node.func)
            if attribute and word and self.acts(word):
                yield from roots_of(attribute[0])
            elif word == "next":
                yield from (name for arg in node.args for name in roots_of(arg))
            yield from self._changed.get(word, ())


def _children(node: ast.AST) -> Iterator[tuple[ast.AST, list[ast.AST]]]:
    conditions: list[ast.AST] = []
    free: set[int] = set()
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        conditions, free = [node.test], {id(node.test)}
    elif isinstance(node, ast.For | ast.AsyncFor):
        conditions, free = [node.iter], {id(node.iter)}
    elif isinstance(node, ast.BoolOp):
        conditions, free = list(node.values[:-1]), {id(node.values[0])}
    elif isinstance(node, ast.Compare) and len(node.ops) > 1:
        # The third part is looked at only if the first comparison holds.
        conditions = [node.left, *node.comparators[:-1]]
        free = {id(node.left), id(node.comparators[0])}
    elif isinstance(node, _COMPREHENSIONS):
        for part in node.generators:
            conditions += [part.iter, *part.ifs]
        free = {id(node.generators[0].iter)}
    elif isinstance(node, ast.Match):
        conditions, free = [node.subject], {id(node.subject)}
    elif isinstance(node, ast.match_case) and node.guard is not None:
        conditions, free = [node.guard], {id(node.guard)}
    elif isinstance(node, _TRIES):
        conditions = list(failing(node))
    for child in ast.iter_child_nodes(node):
        yield child, [] if id(child) in free else conditions


def failing(node: ast.Try | ast.TryStar) -> Iterator[ast.expr]:
    """The expressions that decide whether the body of a `try` fails."""
    for statement in node.body:
        for item in ast.walk(statement):
            if isinstance(item, ast.stmt):
                inside = ast.iter_child_nodes(item)
                yield from (part for part in inside if isinstance(part, ast.expr))


_BUILTINS = frozenset(dir(builtins))
_MOST_PARTS = 6
_MOST_ALIASES = 5_000
_OF_FILE = ("__name__", "__file__")
_SAFE = "discreet_fire.statistics."
_LOGGER = frozenset({"logging.Logger"})
_FOLLOWED = (
    ast.Name, ast.Attribute, ast.IfExp, ast.BoolOp, ast.NamedExpr, ast.Call,
)  # fmt: skip
_LARGE = ("pandas.*", "polars.*", "narwhals.*", "pathlib.*", "numpy.*", "scipy.*")
_MAKING = ("from_", "set_", "now", "today", "cwd", "home")
#: Modules that are known by their own rules wherever they are found.
_MODULES = frozenset(sys.stdlib_module_names) | {"builtins", "bltns"}
_PIECES = (
    ast.BinOp, ast.BoolOp, ast.Compare, ast.UnaryOp, ast.IfExp, ast.Tuple, ast.List, ast.Set,
    ast.Dict, ast.Starred, ast.Slice, ast.Subscript, ast.JoinedStr, ast.FormattedValue,
    ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.comprehension, ast.NamedExpr,
    ast.operator, ast.boolop, ast.cmpop, ast.unaryop, ast.expr_context, ast.keyword,
)  # fmt: skip


class PythonNames(Names[ast.AST]):
    r"""The names of one script.

    >>> tree = ast.parse("import pandas as pd\nf = pd.crosstab\nn = 3\nt = f(a, b)")
    >>> names = PythonNames(tree, ScriptPolicy.default("python"))
    >>> names.resolved(ast.parse("f", mode="eval").body), sorted(names.tainted)
    (frozenset({'pandas.crosstab'}), ['f', 't'])
    """

    def __init__(self, tree: ast.Module, policy: ScriptPolicy) -> None:
        super().__init__(policy)
        self.tree = tree
        self.made = PythonBindings(tree)
        self.aliases = self.made.aliases
        self.bindings, self.direct = self.made.pairs, self.made.direct
        self.own, self.methods = self.made.own, self.made.methods
        self.functions = self.made.functions
        self.bound = self.made.names
        for name, value in self.bindings:
            self.values.setdefault(name, []).append(value)
        self._whole = {name for name, _ in self.direct}
        self._given = {name for name, value in self.bindings if value is None}
        self.follow_aliases(self.direct, _MOST_ALIASES)
        self.flows = PythonFlows(tree, self.made, self.acts)
        #: Names of objects that other names hold too, and of constants.
        self._held: dict[str, set[str]] = defaultdict(set)
        varied = {name for name, value in self.bindings if not isinstance(value, _CONSTANT)}
        self._fixed = {name for name, _ in self.bindings} - varied - set(self.own)
        units = [*self._units(), *((names, ast.Name(name)) for name, names in self._held.items())]
        grown(self.tainted, units, lambda node: not self.clean(node))

    def resolved(self, node: ast.AST) -> frozenset[str]:
        """The full names that an expression may stand for; none if it is no plain name."""
        if isinstance(node, ast.Name):
            names = set(self.aliases.get(node.id, ()))
            if node.id == "__builtins__":
                return frozenset({"builtins"})
            if node.id in _BUILTINS:
                names.add(f"builtins.{node.id}")
            elif node.id not in self.bound:
                names.add(node.id)
            return frozenset(names)
        if isinstance(node, ast.IfExp):
            return self.resolved(node.body) | self.resolved(node.orelse)
        if isinstance(node, ast.BoolOp):
            return frozenset[str]().union(*(self.resolved(value) for value in node.values))
        if isinstance(node, ast.NamedExpr):
            return self.resolved(node.value)
        attribute = attribute_of(node)
        if attribute is None or attribute[1] is None:
            if isinstance(node, ast.Call) and "logging.getLogger" in self.resolved(node.func):
                return _LOGGER
            return frozenset()
        return frozenset(f"{base}.{attribute[1]}" for base in self.resolved(attribute[0]))

    def rules(self, node: ast.AST) -> list[CommandRule]:
        """The rules on a function or value, by its full names or as a method of anything."""
        full = self.resolved(node)
        rules = [rule for name in sorted(full) for rule in self.of_name(name)]
        attribute = attribute_of(node)
        if attribute is not None and attribute[1] is not None:
            method = self.policy.rule(f".{attribute[1]}")
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
        rules = [rule]
        if not rule.known:
            return rules + self._of_modules(parts, 1)
        method = self.policy.rule(f".{parts[-1]}")
        if method.action is Action.REFUSED:
            rules.append(method)
        elif rule.name in _LARGE and len(parts) > 2 and parts[-2][:1].isupper():
            # A method of a class of a large package: ``polars.DataFrame.serialize``.
            unknown = not method.known and not parts[-1].startswith(_MAKING)
            rules += [method] if unknown else []
        rules += self._of_modules(parts, rule.name.count("."))
        builtin = self.policy.rule(f"builtins.{parts[-1]}")
        shows = builtin.role == "shows" or builtin.name == "builtins.open"
        if not builtin.name.endswith("*") and (builtin.action is Action.REFUSED or shows):
            rules.append(builtin)
        return rules

    def _of_modules(self, parts: list[str], first: int) -> list[CommandRule]:
        """The rules on modules that another one has loaded: ``typing.sys.modules``."""
        rules = []
        for place in range(first, len(parts) - 1):
            part = parts[place].strip("_")
            if part in _MODULES and (place > 1 or part != parts[0]):
                rules.append(self.policy.rule(".".join([part, *parts[place + 1 :]])))
        return rules

    def given_names(self, function: ast.AST) -> frozenset[str]:
        """The full names of a function that an import or Python gives.

        None for a method of an object that nothing in this script binds: it may be data.
        """
        full = self.resolved(function)
        root = root_of(function)
        unbound = root is not None and root not in self.aliases and root not in _BUILTINS
        return frozenset() if unbound and attribute_of(function) is not None else full

    def facts(self, function: ast.AST) -> list[CommandRule]:
        """The rules that state what a call may do with values; none for functions of the script."""
        full = self.given_names(function)
        attribute = attribute_of(function)
        if full:
            return [rule for name in sorted(full) for rule in self._facts_of(name)]
        if attribute is None or attribute[1] is None:
            return []
        rule = self.policy.rule(f".{attribute[1]}")
        return [rule] if rule.known or attribute[1] not in self.methods else []

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

    def has(self, name: str, trait: str) -> bool:
        """Whether a rule states this of a name."""
        return trait in self.policy.rule(name).traits

    def acts(self, method: str) -> bool:
        """Whether a method changes its object."""
        return self.policy.rule(f".{method}").role == "acts"

    def is_own(self, node: ast.AST) -> bool:
        """Whether a function is one of this script."""
        if isinstance(node, ast.Name):
            return node.id in self.own and not self.resolved(node)
        attribute = attribute_of(node)
        return attribute is not None and attribute[1] in self.methods

    def is_safe(self, node: ast.AST) -> bool:
        """Whether an expression is a call of a safe function."""
        if not isinstance(node, ast.Call):
            return False
        names = self.resolved(node.func)
        rules = [self.policy.rule(name) for name in names if name.startswith(_SAFE)]
        is_safe = bool(rules) and len(rules) == len(names) and all(map(self._gives_clean, rules))
        return is_safe and not self._rebound(node.func)

    def _rebound(self, node: ast.AST) -> bool:
        root = root_of(node)
        return root in self.own or root in self._given or root in self._whole

    def clean(self, node: ast.AST) -> bool:
        """Whether an expression tells nothing of the data."""
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, ast.Name):
            if node.id in self.tainted:
                return False
            if alias := self.aliases.get(node.id):
                return all(self._clean_name(name) for name in alias)
            return node.id in self.bound or node.id in _BUILTINS or node.id in _OF_FILE
        if isinstance(node, ast.Call):
            return self.is_safe(node) or self._clean_call(node)
        if isinstance(node, ast.Attribute):
            full = self.resolved(node)
            if full:
                return all(self._clean_name(name) for name in full)
            if isinstance(node.value, ast.Name) and node.value.id in self.functions:
                return False
            hidden = node.attr.startswith(("read", "open")) or (
                node.attr == "evidence" and not self.policy.rule(".evidence").known
            )
            return self.clean(node.value) and not hidden
        if isinstance(node, _PIECES):
            return all(self.clean(child) for child in ast.iter_child_nodes(node))
        return False

    @staticmethod
    def _gives_clean(rule: CommandRule) -> bool:
        return rule.known and rule.action is Action.ALLOWED and rule.role == "clean"

    def _clean_name(self, name: str) -> bool:
        if name.rpartition(".")[2].startswith(("read", "open")):
            return False
        return all(map(self._gives_clean, self.of_name(name)))

    def is_plain_error(self, node: ast.AST) -> bool:
        """Whether an expression is an error class of this script that says what it is given."""
        own_class = self.own.get(node.id) if isinstance(node, ast.Name) else None
        if not isinstance(own_class, ast.ClassDef) or node.id in self.tainted:  # type: ignore[attr-defined]
            return False
        quiet = all(isinstance(item, ast.Pass | ast.Expr) for item in own_class.body)
        return quiet and not own_class.keywords and all(
            isinstance(base, ast.Name) and (base.id in _BUILTINS or self.is_plain_error(base))
            for base in own_class.bases
        )  # fmt: skip

    def _clean_call(self, node: ast.Call) -> bool:
        if not all(self.clean(item) for item in (*node.args, *node.keywords)):
            return False
        if self.is_own(node.func):
            return self.is_plain_error(node.func)
        full = self.resolved(node.func)
        if full:
            known = all(self._clean_name(name) for name in full) or self._clean_method(node.func)
            return known and not self._rebound(node.func)
        attribute = attribute_of(node.func)
        if attribute is None or attribute[1] is None or attribute[1].startswith(("read", "open")):
            return False
        rule = self.policy.rule(f".{attribute[1]}")
        if attribute[1] in ("format", "format_map") and not _plain_template(attribute[0]):
            return False
        return rule.known and rule.action is not Action.REFUSED and self.clean(attribute[0])

    def _clean_method(self, function: ast.expr) -> bool:
        """Whether it is a method of a clean value of a module: ``sys.version.split``."""
        whole = isinstance(function, ast.Attribute) and all(
            rule.name.endswith(".*") and rule.action is Action.ALLOWED
            for name in self.resolved(function)
            for rule in self.of_name(name)
        )
        if not whole or not isinstance(function, ast.Attribute):
            return False
        return self._gives_clean(self.policy.rule(f".{function.attr}")) and self.clean(
            function.value
        )

    def _followed(self, value: ast.AST) -> Iterable[str]:
        return roots_of(value) if isinstance(value, _FOLLOWED) else ()

    def _functions_in(self, value: ast.AST) -> set[str]:
        short = {item for item in self.resolved(value) if item.count(".") <= _MOST_PARTS}
        return {item for item in short if self.policy.rule(item).known}

    # ------------------------------------------------------------ what is tainted

    def _units(self) -> list[tuple[set[str], ast.AST]]:
        """Expressions with the names that hold data if the expression does."""
        units: list[tuple[set[str], ast.AST]] = []
        targets = self.bound - set(self.aliases)
        for name, value in self.bindings:
            if value is None:
                self.tainted.add(name)
                continue
            units.append(({name}, value))
            if isinstance(value, ast.Attribute) and self.acts(value.attr):
                self.tainted |= self._fillable(roots_of(value) & targets)
            if isinstance(value, HOLDERS):
                self._held[name] |= self._fillable(_names(value))
            elif isinstance(value, ast.Subscript) or _is_view(value):
                self._held[name] |= self._fillable(roots_of(value))
        units += [(changed & targets, unit) for unit, changed in self.flows.under]
        self.tainted |= self.flows.loose & targets
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                self._fill(node, units)
        return units

    def _fillable(self, names: Iterable[str]) -> set[str]:
        return set(names) - self._fixed - self.functions

    def _fill(self, call: ast.Call, units: list[tuple[set[str], ast.AST]]) -> None:
        """A method with data makes its object data; own functions may fill what they get."""
        arguments = arguments_of(call)
        attribute = attribute_of(call.func)
        targets: set[str] = set()
        full = self.resolved(call.func)
        if attribute is not None and not self.resolved(attribute[0]):
            targets |= {root for root in roots_of(attribute[0]) if not self.aliases.get(root)}
        if full and any(rule.role == "acts" for rule in self.rules(call.func)):
            targets |= {name for item in arguments for name in roots_of(item)}
        out = [keyword.value for keyword in call.keywords if keyword.arg == "out"]
        targets |= {name for item in out for name in roots_of(item)}
        if targets := self._fillable(targets & self.bound):
            units.extend((targets, item) for item in arguments)
            if out and attribute is not None:
                units.append((targets, attribute[0]))
        plain = {item.id for item in arguments if isinstance(item, ast.Name)} & self.bound
        if self.is_own(call.func) or not (full or attribute):
            self.tainted |= self._fillable(plain)
        if any(isinstance(item, ast.Lambda) or self._is_function(item) for item in arguments):
            # A function that is handed over may fill what is handed over beside it.
            self.tainted |= self._fillable(plain - set(self.aliases))
        for argument in arguments:
            # A method that fills its object is handed over: ``map(found.append, df.x)``.
            if isinstance(argument, ast.Attribute) and self.acts(argument.attr):
                self.tainted |= self._fillable(roots_of(argument) & self.bound)

    def _is_function(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id in self.functions


def _plain_template(node: ast.AST) -> bool:
    """Whether a template takes its arguments as they are, not parts of them: ``{0.part}``."""
    text = text_of(node)
    return text is not None and not re.search(r"\{[^{}:!]*[.\[][^{}]*\}", text)


_VIEWS = ("items", "values", "get", "setdefault", "pop")
_CONSTANT = (ast.Constant, ast.JoinedStr)


def _is_view(node: ast.AST) -> bool:
    """Whether an expression hands out the parts of an object as they are."""
    attribute = attribute_of(node.func) if isinstance(node, ast.Call) else None
    return attribute is not None and attribute[1] in _VIEWS


def _names(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, HOLDERS):
        return set[str]().union(*(_names(child) for child in ast.iter_child_nodes(node)))
    return set()


_SMALL = 10
_NAMING = frozenset(("name", "names", "columns", "keys", "schema", None))
_QUANTILES = (0.01, 0.99)


class PythonPicks(SingleValues[ast.AST]):
    r"""Judges what is put into columns and labels.

    >>> from discreet_fire.catalogue.script_policy import ScriptPolicy
    >>> tree = ast.parse("import pandas as pd\nd = pd.read_csv('a')\nd['m'] = d.x.max()")
    >>> picks = PythonPicks(PythonNames(tree, ScriptPolicy.default("python")))
    >>> picks.spreads(tree.body[2]), picks.labels(tree.body[2])
    (True, False)
    """

    def __init__(self, names: PythonNames) -> None:
        self.names = names
        pairs = [*names.direct]
        for name in sorted(names.functions):
            given = (n for n in ast.walk(names.own[name]) if isinstance(n, ast.Return))
            pairs += [(name, item.value) for item in given]
        super().__init__(names, pairs, ast.walk(names.tree))

    def view(self, node: ast.AST) -> View[ast.AST]:
        """What a node is."""
        if isinstance(node, ast.Name):
            return View("name", [], node.id)
        if isinstance(node, ast.Call):
            return View("call", [node.func, *arguments_of(node)], word_of(node.func))
        if isinstance(node, ast.Subscript):
            return View("place", [node.value, node.slice])
        if isinstance(node, ast.Attribute):
            return View("part", [node.value])
        if isinstance(node, ast.Compare):
            return View("compared", [node.left, *node.comparators])
        if isinstance(node, ast.Lambda | ast.Constant):
            return View("plain", [])
        return View("other", list(ast.iter_child_nodes(node)))

    def _selects(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Subscript):
            return self._mask(_parts(node.slice)[0])
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            return any(self._mask(_unwrapped(side)) for side in (node.left, node.right))
        return isinstance(node, ast.Call) and self._does(node, "selects")

    def _copies(self, name: str, value: ast.AST) -> bool:
        root = root_of(value)
        return root is not None and root != name and root in self.names.values

    def _does(self, node: ast.AST, act: str) -> bool:
        filled = act == "carries" and isinstance(node, ast.Call) and (
            word_of(node.func) in ("fillna", "fill_null")
            and any(keyword.arg in ("method", "strategy") for keyword in node.keywords)
        )  # fmt: skip
        return filled or super()._does(node, act)

    def _operands(self, node: ast.AST) -> list[ast.expr]:
        assert isinstance(node, ast.Call)
        attribute = attribute_of(node.func)
        full = self.names.given_names(node.func)
        inside = [attribute[0]] if attribute is not None and not full else []
        return [*inside, *arguments_of(node)] or [node.func]

    def _crosses(self, node: ast.AST) -> bool:
        assert isinstance(node, ast.Call)
        return any(
            text_of(keyword.value) == "cross" for keyword in node.keywords if keyword.arg == "how"
        )

    def _picks_place(self, node: ast.AST) -> bool:
        assert isinstance(node, ast.Subscript)
        if self.picks(node.value):
            return True
        place = _parts(node.slice)[0]
        if self._is_place(node.value):
            single = isinstance(place, ast.Constant | ast.UnaryOp | ast.Name)
            return single and not self._mask(place) and not self.names.clean(node.value)
        inner = place.operand if isinstance(place, ast.UnaryOp) else place
        number = isinstance(inner, ast.Constant) and type(inner.value) is int
        word = getattr(node.value, "attr", "")
        return number and word not in ("str", "shape") and not self._schema(node.value)

    def _is_place(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Attribute) and self.names.states(f".{node.attr}", "place")

    def _picks_call(self, node: ast.AST) -> bool:
        assert isinstance(node, ast.Call)
        arguments = arguments_of(node)
        attribute = attribute_of(node.func)
        dirty = attribute is not None and not self.names.clean(attribute[0])
        if self.names.given_names(node.func):
            dirty = dirty or not all(map(self.names.clean, arguments))
        may = self.names.may
        if dirty and (
            may(node.func, "picks")
            or (may(node.func, "ends") and not all(map(_inner_quantile, arguments)))
            or (may(node.func, "few") and any(map(_is_small, arguments)))
            or (may(node.func, "runs") and any(map(self._names_picking, arguments)))
        ):
            return True
        inside = attribute[0] if attribute is not None else node.func
        return any(map(self.picks, [inside, *arguments]))

    def _names_picking(self, node: ast.AST) -> bool:
        """Whether a text or a name is that of a function that picks."""
        text = text_of(node)
        if text is not None:
            return self.names.states(f".{text}", "picks")
        return bool(self.names.resolved(node)) and self.names.may(node, "picks")

    def _part_that_gets(self, node: ast.AST) -> ast.AST | None:
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(target, ast.Attribute | ast.Subscript) for target in targets):
                return node.value if self._of_data(targets) else None
        return None

    def _of_data(self, targets: list[ast.expr]) -> bool:
        """Whether targets are parts of names that hold data from elsewhere too."""
        return any(root_of(target) in self.names.tainted for target in targets)

    def _label_from(self, node: ast.AST) -> list[ast.expr]:
        if isinstance(node, ast.Assign):
            parts = [target for target in node.targets if isinstance(target, ast.Attribute)]
            labels = any(map(self._is_label, parts)) and self._of_data(node.targets)
            return [node.value] if labels else []
        if isinstance(node, ast.Call) and attribute_of(node.func) is not None:
            return arguments_of(node) if self.names.does(node.func, "labels") else []
        return []

    def _is_label(self, node: ast.Attribute) -> bool:
        own = root_of(node) in {*self.names.made.selves, *self.names.own}
        rule = self.names.policy.rule(f".{node.attr}")
        return rule.may("named") and (rule.known or not own)

    def _turns(self, node: ast.AST) -> bool:
        if not isinstance(node, ast.Call):
            inner = node
            while isinstance(inner, ast.Attribute) and inner.attr == "T":
                inner = inner.value
            if inner is not node:
                return not self.names.clean(inner)
            return self._is_place(node) and self.turns(self.view(node).pieces[0])
        attribute = attribute_of(node.func)
        full = self.names.given_names(node.func)
        inside = [*([attribute[0]] if attribute is not None and not full else []), *node.args]
        values = [keyword.value for keyword in node.keywords]
        if self.names.may(node.func, "turns"):
            given = [*inside, *([] if full == {"builtins.dict"} else values)]
            return not all(map(self.names.clean, given))
        named = [keyword.value for keyword in node.keywords if keyword.arg in _NAMING]
        if self.names.may(node.func, "frames") and not all(map(self._schema, named)):
            return True
        if isinstance(node.func, ast.Name):
            inside.append(node.func)
        return any(map(self.turns, [*inside, *values]))

    def turns(self, node: ast.AST) -> bool:
        """Whether an expression may be a frame whose columns are called by values."""
        if isinstance(node, ast.Dict | ast.DictComp):
            keys = [node.key] if isinstance(node, ast.DictComp) else node.keys
            if not all(key is None or self._schema(key) for key in keys):
                return True
        return super().turns(node)

    def _names_column(self, node: ast.AST) -> str | None:
        places: list[ast.expr] = []
        target: ast.expr | None = None
        if isinstance(node, ast.Assign):
            for item in node.targets:
                if isinstance(item, ast.Subscript) and getattr(item.value, "attr", "") != "iloc":
                    target = item
                    places.append(_parts(item.slice)[-1])
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "insert":
            target, places = node.func, node.args[1:2]
        if target is None or all(self._schema(place) or self._mask(place) for place in places):
            return None
        return root_of(target)

    def _mask(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self.masks
        if isinstance(node, ast.BinOp):
            return self._mask(node.left) and self._mask(node.right)
        if isinstance(node, ast.UnaryOp):
            return self._mask(node.operand)
        attribute = attribute_of(node.func) if isinstance(node, ast.Call) else None
        chooses = attribute is not None and self.names.has(f".{attribute[1]}", "chooses")
        return isinstance(node, ast.Compare) or chooses

    def _schema_of(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Lambda):
            return True
        if isinstance(node, ast.Attribute):
            inner: ast.expr = node
            while isinstance(inner, ast.Attribute):
                if self.names.has(f".{inner.attr}", "schema"):
                    return True
                inner = inner.value
            return self._schema(inner)
        if isinstance(node, ast.Call):
            inside = arguments_of(node)
            full = self.names.resolved(node.func)
            if any(not name.startswith("builtins.") for name in full):
                return False
            if not full and isinstance(node.func, ast.Attribute):
                inside.append(node.func.value)
            return all(map(self._schema, inside))
        if isinstance(node, ast.expr | ast.comprehension):
            return all(map(self._schema, ast.iter_child_nodes(node)))
        return True


def _parts(place: ast.expr) -> list[ast.expr]:
    """Rows and columns of a place; itself where these are not told apart."""
    return place.elts if isinstance(place, ast.Tuple) and place.elts else [place]


def _unwrapped(node: ast.expr) -> ast.expr:
    """A condition without what makes it numbers: ``(df.id == 17).astype(int)``."""
    inner = attribute_of(node.func) if isinstance(node, ast.Call) else None
    return inner[0] if inner is not None and inner[1] in ("astype", "cast") else node


def _is_small(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value < _SMALL


def _inner_quantile(node: ast.AST) -> bool:
    shares = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    return all(
        isinstance(share, ast.Constant)
        and isinstance(share.value, float)
        and _QUANTILES[0] <= share.value <= _QUANTILES[1]
        for share in shares
    )
