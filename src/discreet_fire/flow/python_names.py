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

from discreet_fire.catalogue import Action, ScriptPolicy, ScriptRule
from discreet_fire.flow.engine import ControlFlow, Names, spread
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
    """The parts of a node, each with the conditions under which it runs."""
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
        spread(self.tainted, self._units(), self.clean, _mentioned, self._held)

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

    def rules(self, node: ast.AST) -> list[ScriptRule]:
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

    def of_name(self, name: str) -> list[ScriptRule]:
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

    def _of_modules(self, parts: list[str], first: int) -> list[ScriptRule]:
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

    def facts(self, function: ast.AST) -> list[ScriptRule]:
        """The rules that state what a call may do with values; none for functions of the script."""
        full = self.given_names(function)
        attribute = attribute_of(function)
        if full:
            return [rule for name in sorted(full) for rule in self._facts_of(name)]
        if attribute is None or attribute[1] is None:
            return []
        rule = self.policy.rule(f".{attribute[1]}")
        return [rule] if rule.known or attribute[1] not in self.methods else []

    def _facts_of(self, name: str) -> list[ScriptRule]:
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
        """Whether the script gives a meaning of its own to the name of a function."""
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
    def _gives_clean(rule: ScriptRule) -> bool:
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

    def _units(self) -> list[tuple[ast.AST, Iterable[str]]]:
        """Expressions with the names that hold data if the expression does."""
        units: list[tuple[ast.AST, Iterable[str]]] = []
        targets = self.bound - set(self.aliases)
        for name, value in self.bindings:
            if value is None:
                self.tainted.add(name)
                continue
            units.append((value, {name}))
            if isinstance(value, ast.Attribute) and self.acts(value.attr):
                self.tainted |= self._fillable(roots_of(value) & targets)
            if isinstance(value, HOLDERS):
                self._held[name] |= self._fillable(_names(value))
            elif isinstance(value, ast.Subscript) or _is_view(value):
                self._held[name] |= self._fillable(roots_of(value))
        units += [(unit, changed & targets) for unit, changed in self.flows.under]
        self.tainted |= self.flows.loose & targets
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                self._fill(node, units)
        return units

    def _fillable(self, names: Iterable[str]) -> set[str]:
        """Names of what something can be put into."""
        return set(names) - self._fixed - self.functions

    def _fill(self, call: ast.Call, units: list[tuple[ast.AST, Iterable[str]]]) -> None:
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
            units.extend((item, targets) for item in arguments)
            if out and attribute is not None:
                units.append((attribute[0], targets))
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
    """Names that a display holds as they are."""
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, HOLDERS):
        return set[str]().union(*(_names(child) for child in ast.iter_child_nodes(node)))
    return set()


def _mentioned(node: ast.AST) -> Iterator[str]:
    return (item.id for item in ast.walk(node) if isinstance(item, ast.Name))
