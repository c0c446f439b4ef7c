"""Type inference of calls of operators and functions.

Source: src/relay/transforms/type_infer.cc of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from byoc_lab.errors import ArgumentError, ByocLabError, TypeInferenceError, counted
from byoc_lab.relay.ir.attrs import Attrs
from byoc_lab.relay.ir.expr import Call, Expr, GlobalVar, Op, describe
from byoc_lab.relay.ir.types import FuncType, IncompleteType, TensorType, Type, replace
from byoc_lab.relay.op.framework.registry import OpDef, identity
from byoc_lab.relay.typing.infer_adt import is_of_anything
from byoc_lab.relay.typing.infer_errors import fail
from byoc_lab.relay.typing.unify import Unifier


class CallRules:
    """A mixin with rules for calls; the inference provides the types so far, their unifier, and
    `now_or_later` for rules that must wait for more types."""

    unifier: Unifier
    types: dict[Expr, Type]
    instances: dict[Expr, list[Type]]  # call of a generic function -> its type arguments
    unify: Callable[..., Type]
    now_or_later: Callable[[Sequence[Type], Callable[[], bool]], None]
    open_calls: list[tuple[Call, Type]]  # (call of an untyped callee, type of its result)

    def call_type(self, call: Call) -> Type:
        if isinstance(call.op, Op):
            return self._op_call(call, call.op.definition)
        result = IncompleteType()
        self.now_or_later([self.types[call.op]], lambda: self._apply(call, result))
        return result

    def _apply(self, call: Call, result: Type) -> bool:
        callee = self.unifier.head(self.types[call.op])
        if isinstance(callee, IncompleteType):
            if isinstance(call.op, GlobalVar):
                args = [self.types[a] for a in call.args]
                self.unify(call, callee, FuncType(args, result), "the callee")
                return True
            self.open_calls.append((call, result))
            return False
        if not isinstance(callee, FuncType):
            fail(
                call,
                f"only a function can be called, found {describe(call.op)} of type {callee}",
                facts={"kind": "callee", "found": callee},
            )
        if callee.type_params:
            # Each call has separate type arguments, so the function's result type must be known
            # first.
            callee = self.unifier.resolve(callee)
            assert isinstance(callee, FuncType)
            if callee.ret_type.has_holes and not is_of_anything(callee.ret_type):
                return False
            given = call.type_args or [IncompleteType() for _ in callee.type_params]
            if len(given) != len(callee.type_params):
                count = len(callee.type_params)
                fail(call, f"expected {count} type arguments, found {len(given)}")
            self.instances[call] = list(given)
            holes: dict[Type, Type] = dict(zip(callee.type_params, given, strict=True))
            callee = FuncType(
                [replace(t, holes) for t in callee.arg_types], replace(callee.ret_type, holes)
            )
        if len(callee.arg_types) != len(call.args):
            few = "few" if len(call.args) < len(callee.arg_types) else "many"
            fail(
                call,
                f"too {few} arguments: expected {len(callee.arg_types)}, found {len(call.args)}",
                facts={
                    "kind": "arguments",
                    "expected": len(callee.arg_types),
                    "found": len(call.args),
                },
            )
        for n, (arg, wanted) in enumerate(zip(call.args, callee.arg_types, strict=True)):
            self.unify(call, self.types[arg], wanted, f"argument {n}")
        self.unify(call, result, callee.ret_type, "the result")
        return True

    def guess(self) -> bool:
        """Assume, for a callee of unknown type, that it is a function of exactly the types of the
        call. Returns whether there was such a call."""
        while self.open_calls:
            call, result = self.open_calls.pop(0)
            callee = self.unifier.head(self.types[call.op])
            if isinstance(callee, IncompleteType):
                args = [self.types[a] for a in call.args]
                self.unify(call, callee, FuncType(args, result), "the callee")
                return True
        return False

    def _op_call(self, call: Call, definition: OpDef) -> Type:
        if len(call.args) != len(definition.inputs):
            names = ", ".join(n.rstrip("*") for n in definition.inputs)
            fail(
                call,
                f"{definition.name} takes {counted(len(definition.inputs), 'argument')} ({names}), "
                f"found {len(call.args)}",
                facts={
                    "kind": "arguments",
                    "expected": len(definition.inputs),
                    "found": len(call.args),
                },
            )
        attrs, schema = call.attrs, definition.attrs
        if schema is not None and attrs is not None and attrs.type_key != schema.type_key:
            fail(call, f"{definition.name} takes {schema.type_key}, found {attrs.type_key}")
        args = [self.types[a] for a in call.args]
        if definition.relation is identity:
            return args[0]  # even a hole is assigned: both types are resolved together
        attrs = definition.attributes(attrs)
        if not any(t.has_holes for t in args):  # the usual case: operands and result are known
            *wanted, result = self._relate(call, definition, attrs, args)
            self._check_arguments(call, definition, args, wanted)
            if result is not None and not result.has_holes:
                return result
        hole = IncompleteType()
        self.now_or_later([*args, hole], lambda: self._retry(call, definition, attrs, hole))
        return hole

    def _retry(self, call: Call, definition: OpDef, attrs: Attrs | None, result: Type) -> bool:
        args = [self.types[a] for a in call.args]
        known = [self.unifier.known(t) for t in args]
        *wanted, found = self._relate(call, definition, attrs, known)
        self._check_arguments(call, definition, args, wanted)
        if found is not None:
            self.unify(call, result, found, "the result")
        return found is not None and not any(
            self.unifier.resolve(t).has_holes for t in (*args, result)
        )

    def _relate(
        self, call: Call, definition: OpDef, attrs: Attrs | None, known: Sequence[Type | None]
    ) -> Sequence[Type | None]:
        try:
            found = definition.relation(attrs, *known)
        except (TypeInferenceError, ArgumentError) as error:
            fail(call, str(error), error)
        except ByocLabError:
            raise
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            # For example a stride of 0, an infinite scale, or a dtype that NumPy lacks.
            fail(call, f"{definition.name}: an attribute is out of range ({error})", error)
        result = found[-1]
        if isinstance(result, TensorType) and any(
            isinstance(d, int) and d < 0 for d in result.shape
        ):
            fail(
                call,
                f"{definition.name}: the result would be {result}; a dimension cannot be "
                "negative, so "
                f"an attribute is out of range",
            )
        return found

    def _check_arguments(
        self, call: Call, definition: OpDef, args: Sequence[Type], wanted: Sequence[Type | None]
    ) -> None:
        for name, arg, want in zip(definition.inputs, args, wanted, strict=True):
            if want is not None and want is not arg:
                what = f"{definition.name}: {name.rstrip('*')}"
                self.unify(call, arg, want, what, found_first=True)
