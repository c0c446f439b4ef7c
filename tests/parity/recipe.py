"""A module as plain JSON, to send it to the oracle without Relay text.

    recipe_of(mod)          byoc_lab's module -> recipe, by its nodes
    build(recipe, tvm, np)  recipe -> TVM's module

The module that TVM reads from byoc_lab's text is compared with the module built from the recipe.
The file also runs under TVM's Python, so it imports neither byoc_lab nor TVM.

A recipe is {"types": [...], "functions": [[name, node]], "nodes": [[kind, ...], ...]}, in which a
node comes after its operands and refers to them by their position.
"""

from __future__ import annotations

import base64
from typing import Any


def recipe_of(mod: Any) -> dict[str, Any]:
    """The recipe of a byoc_lab module.

    Raises KeyError for an unknown kind of node.
    """
    return _Writer(mod).recipe()


class _Writer:
    def __init__(self, mod: Any) -> None:
        self.mod = mod
        self.nodes: list[list[Any]] = []
        self.place: dict[Any, int] = {}
        self.type_vars: dict[Any, int] = {}

    def recipe(self) -> dict[str, Any]:
        types = [
            {
                "name": data.header.name_hint,
                "vars": [self.type(v) for v in data.type_vars],
                "constructors": [
                    [c.name_hint, [self.type(t) for t in c.inputs]] for c in data.constructors
                ],
            }
            for data in self.mod.type_definitions.values()
        ]
        functions = []
        for gv, function in self.mod.functions.items():
            for node in _post_order(function):
                if node not in self.place:
                    made = [type(node).__name__, *self.fields(node)]
                    self.place[node] = len(self.nodes)
                    self.nodes.append(made)
            functions.append([gv.name_hint, self.place[function]])
        return {"types": types, "functions": functions, "nodes": self.nodes}

    def fields(self, node: Any) -> list[Any]:
        at = self.place
        kind = type(node).__name__
        if kind == "Var":
            return [node.name_hint, self.type(node.type_annotation)]
        if kind in ("GlobalVar", "Op"):
            return [node.name_hint if kind == "GlobalVar" else node.name]
        if kind == "Constructor":
            return list(node.identity)
        if kind == "Constant":
            return self.array(node.data.numpy())
        if kind == "Call":
            attrs = None if node.attrs is None else self.attrs(node.attrs)
            return [at[node.op], [at[a] for a in node.args], attrs]
        if kind == "Function":
            params, types = [at[p] for p in node.params], [self.type(t) for t in node.type_params]
            attrs = self.value(dict(node.attrs.items()))
            return [params, at[node.body], self.type(node.ret_type), types, attrs]
        if kind == "TupleGetItem":
            return [at[node.tuple_value], node.index]
        if kind == "Tuple":
            return [[at[f] for f in node.fields]]
        if kind == "Match":
            clauses = [[self.pattern(c.lhs), at[c.rhs]] for c in node.clauses]
            return [at[node.data], clauses, node.complete]
        names = {"Let": ("var", "value", "body"), "If": ("cond", "true_branch", "false_branch")}
        names |= {"RefCreate": ("value",), "RefRead": ("ref",), "RefWrite": ("ref", "value")}
        return [at[getattr(node, name)] for name in names[kind]]

    def array(self, array: Any) -> list[Any]:
        data = base64.b64encode(array.tobytes()).decode("ascii")
        return [array.dtype.name, list(array.shape), data]

    def pattern(self, p: Any) -> list[Any]:
        kind = type(p).__name__
        if kind == "PatternVar":
            return [kind, self.place[p.var]]
        below = [self.pattern(q) for q in p.patterns]
        return [kind, below, *([p.constructor.identity] if kind == "PatternConstructor" else [])]

    def attrs(self, attrs: Any) -> list[Any]:
        return [attrs.type_key, {name: self.value(value) for name, value in attrs.items()}]

    def value(self, value: Any) -> Any:
        """Plain values unchanged; other values as {kind: content}."""
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, int) or type(value).__module__ == "numpy":
            return value if isinstance(value, int) else self.value(value.item())
        if isinstance(value, float):
            return {"float": value.hex()}
        if isinstance(value, (tuple, list)):
            return [self.value(v) for v in value]
        if hasattr(value, "type_key"):
            return {"attrs": self.attrs(value)}
        if hasattr(value, "data"):
            return {"constant": self.array(value.data.numpy())}
        return {"map": [[key, self.value(v)] for key, v in value.items()]}

    def type(self, ty: Any) -> Any:
        kind = type(ty).__name__
        if ty is None:
            return None
        if kind == "TensorType":
            return [kind, [d if isinstance(d, int) else "?" for d in ty.shape], ty.dtype]
        if kind == "TupleType":
            return [kind, [self.type(t) for t in ty.fields]]
        if kind == "FuncType":
            args, params = (list(map(self.type, t)) for t in (ty.arg_types, ty.type_params))
            return [kind, args, self.type(ty.ret_type), params]
        if kind == "RefType":
            return [kind, self.type(ty.value)]
        if kind == "TypeCall":
            return [kind, self.type(ty.func), [self.type(t) for t in ty.args]]
        if kind == "GlobalTypeVar":
            return [kind, ty.name_hint]
        if kind == "TypeVar":
            return [kind, ty.name_hint, self.type_vars.setdefault(ty, len(self.type_vars))]
        raise KeyError(kind)


def _post_order(root: Any) -> list[Any]:
    found: dict[Any, None] = {}
    stack = [(root, False)]
    while stack:
        node, done = stack.pop()
        if done:
            found[node] = None
        elif node not in found:
            stack.append((node, True))
            stack += [(p, False) for p in reversed(node.parts())]
    return list(found)


def build(recipe: dict[str, Any], tvm: Any, np: Any) -> Any:
    """TVM's module for a recipe, without inferred types."""
    return _Builder(tvm, np).module(recipe)


class _Builder:
    def __init__(self, tvm: Any, np: Any) -> None:
        self.tvm, self.relay, self.np = tvm, tvm.relay, np
        self.made: list[Any] = []
        self.type_vars: dict[int, Any] = {}
        self.type_names: dict[str, Any] = {}
        self.constructors: dict[tuple[str, str], Any] = {}
        self.globals: dict[str, Any] = {}

    def module(self, recipe: dict[str, Any]) -> Any:
        mod = self.tvm.IRModule()
        for spec in recipe["types"]:
            self.type_names[spec["name"]] = self.relay.GlobalTypeVar(spec["name"])
        for spec in recipe["types"]:
            header = self.type_names[spec["name"]]
            variables = [self.type(v) for v in spec["vars"]]
            made = []
            for name, inputs in spec["constructors"]:
                made.append(self.relay.Constructor(name, [self.type(t) for t in inputs], header))
                self.constructors[spec["name"], name] = made[-1]
            mod[header] = self.relay.TypeData(header, variables, made)
        for name, _ in recipe["functions"]:
            self.globals[name] = self.relay.GlobalVar(name)
        for kind, *fields in recipe["nodes"]:
            self.made.append(getattr(self, "make_" + kind)(*fields))
        for name, at in recipe["functions"]:
            mod[self.globals[name]] = self.made[at]
        return mod

    def make_Var(self, name, ty):
        return self.relay.Var(name, self.type(ty))

    def make_GlobalVar(self, name):
        return self.globals[name]

    def make_Op(self, name):
        return self.relay.op.get(name)

    def make_Constructor(self, *identity):
        return self.constructors[identity]

    def make_Constant(self, dtype, shape, data):
        raw = base64.b64decode(data)
        if dtype == "bfloat16":  # NumPy lacks it: its bits, under another name
            array = self.tvm.nd.empty(tuple(shape), dtype)
            array.copyfrom(self.np.frombuffer(raw, "uint16").reshape(shape))
            return self.relay.Constant(array)
        value = self.np.frombuffer(raw, dtype).reshape(shape).copy()
        return self.relay.Constant(self.tvm.nd.array(value))

    def make_Call(self, op, args, attrs):
        attrs = None if attrs is None else self.attrs(attrs)
        return self.relay.Call(self.made[op], [self.made[a] for a in args], attrs)

    def make_Function(self, params, body, ret_type, type_params, attrs):
        function = self.relay.Function(
            [self.made[p] for p in params],
            self.made[body],
            self.type(ret_type),
            [self.type(t) for t in type_params],
        )
        for key, value in attrs["map"]:
            function = function.with_attr(key, self.value(value))
        return function

    def make_Let(self, var, value, body):
        return self.relay.Let(self.made[var], self.made[value], self.made[body])

    def make_If(self, *parts):
        return self.relay.If(*(self.made[p] for p in parts))

    def make_Tuple(self, fields):
        return self.relay.Tuple([self.made[f] for f in fields])

    def make_TupleGetItem(self, value, index):
        return self.relay.TupleGetItem(self.made[value], index)

    def make_RefCreate(self, value):
        return self.relay.RefCreate(self.made[value])

    def make_RefRead(self, ref):
        return self.relay.RefRead(self.made[ref])

    def make_RefWrite(self, ref, value):
        return self.relay.RefWrite(self.made[ref], self.made[value])

    def make_Match(self, data, clauses, complete):
        made = [self.relay.Clause(self.pattern(p), self.made[rhs]) for p, rhs in clauses]
        return self.relay.Match(self.made[data], made, complete)

    def pattern(self, spec):
        kind, below, *constructor = spec
        if kind == "PatternVar":
            return self.relay.PatternVar(self.made[below])
        if kind == "PatternWildcard":
            return self.relay.PatternWildcard()
        patterns = [self.pattern(p) for p in below]
        if constructor:
            return self.relay.PatternConstructor(self.constructors[tuple(constructor[0])], patterns)
        return self.relay.PatternTuple(patterns)

    def attrs(self, spec):
        key, values = spec
        made = {name: self.value(value) for name, value in values.items()}
        return self.tvm.ir.make_node(key, **made)

    def value(self, value):
        if isinstance(value, list):
            return [self.value(v) for v in value]
        if not isinstance(value, dict):
            if isinstance(value, int):
                small = -(2**31) <= value < 2**31
                dtype = "bool" if isinstance(value, bool) else "int32" if small else "int64"
                return self.tvm.tir.IntImm(dtype, value)
            return value
        ((kind, content),) = value.items()
        if kind == "float":
            number = float.fromhex(content)
            fits = abs(number) <= float(self.np.finfo("float32").max)
            return self.tvm.tir.FloatImm("float32" if fits else "float64", number)
        if kind == "attrs":
            return self.attrs(content)
        if kind == "constant":
            return self.make_Constant(*content)
        return {key: self.value(v) for key, v in content}

    def type(self, spec):
        if spec is None:
            return None
        kind, *rest = spec
        relay = self.relay
        if kind == "TensorType":
            dims = [relay.Any() if d == "?" else d for d in rest[0]]
            return relay.TensorType(dims, rest[1])
        if kind == "TupleType":
            return relay.TupleType([self.type(t) for t in rest[0]])
        if kind == "FuncType":
            args, result, params = rest
            made = [self.type(t) for t in params]  # before they are used
            return relay.FuncType([self.type(t) for t in args], self.type(result), made)
        if kind == "RefType":
            return relay.RefType(self.type(rest[0]))
        if kind == "TypeCall":
            return relay.TypeCall(self.type(rest[0]), [self.type(t) for t in rest[1]])
        if kind == "GlobalTypeVar":
            return self.type_names[rest[0]]
        name, number = rest
        return self.type_vars.setdefault(number, relay.TypeVar(name))
