"""Messages of type inference."""

from __future__ import annotations

from byoc_lab.lab.explaining.messages.record import Message

_DIFFER = r"(?:The Relay type checker is unable to show the following types match|unable to unify)"
_OPERANDS = (
    "Look at the operands of the call that is shown: a weight in a different layout, a bias that "
    "is not broadcast, or a parameter that was bound to an array of a different shape"
)

MESSAGES = (
    Message(
        "types-differ",
        ("unable to show the following types match", "unable to unify"),
        rf"{_DIFFER}(?![\s\S]{{0,600}}?dimension \d+ conflicts: )",
        "TVM 0.7 to 0.19",
        "Two types should be one and are not",
        _OPERANDS,
        ("The Relay type checker is unable to show the following types match:\n  int64\n  int32",),
        stated=True,
    ),
    Message(
        "dimensions-differ",
        ("unable to show the following types match", "unable to unify"),
        rf"{_DIFFER}[\s\S]{{0,600}}?dimension (?P<axis>\d+) conflicts: (?P<found>[^\n]{{1,80}}?) "
        r"does not match (?P<wanted>[^\n]{1,80}?)(?=\.?(?:\s|$))",
        "TVM 0.7 to 0.19",
        "Two types should be equal but differ. Dimension {axis}: {found} and {wanted}",
        _OPERANDS,
        ("The Relay type checker is unable to show the following types match:\n  Tensor[(16), "
         "float32]\n  Tensor[(3), float32]\nIn particular:\n  dimension 0 conflicts: 16 does not "
         "match 3.",
         "The Relay type checker is unable to show the following types match:\n  Tensor[(16, ?), "
         "float32]\n  Tensor[(16, 16), float32]\nIn particular:\n  dimension 1 conflicts: T.Any() "
         "// 2 does not match 16."),
        stated=True,
    ),
    Message(
        "unresolved-type",
        ("Cannot resolve type of", "checked_type.as<IncompleteType>()"),
        r"(?:Cannot resolve type of (?P<node>[^\n]{1,200})|checked_type\.as<IncompleteType>\(\))",
        "TVM 0.6 to 0.19",
        "Nothing determines the type of an expression: a variable without type annotation{node}",
        "Give the variable a shape and a dtype",
        ("Check failed: checked_type.as<IncompleteType>() == nullptr: Cannot resolve type of "
         "Var(x) at (nullptr)",),
    ),
    Message(
        "do-not-broadcast",
        ("Incompatible broadcast type",),
        r"Incompatible broadcast type (?P<left>[^\n]{1,200}?) and (?P<right>Tensor[^\n]{1,200})",
        "TVM 0.7 to 0.19",
        "The operands of an operator have shapes that do not broadcast: {left} and {right}",
        "Compare the shapes from the right: dimension sizes must be equal, or one of them 1. The "
        "bias of a "
        "convolution in NCHW has the shape (channels, 1, 1), or goes into nn.bias_add",
        ("Incompatible broadcast type TensorType([2, 2], float32) and TensorType([3], float32)",),
        stated=True,
    ),
    Message(
        "concatenated-shapes",
        ("relay.concatenate requires all tensors",),
        r"relay\.concatenate requires all tensors have the same shape",
        "TVM 0.6 to 0.19",
        "The tensors of a concatenate differ in a dimension other than its axis",
        "Check its axis, and the shapes of its operands",
        ("TVMError: relay.concatenate requires all tensors have the same shape on "
         "non-concatenating axes",),
        stated=True,
    ),
    Message(
        "under-constrained",
        ("unable to infer a type for this expression",),
        r"was unable to infer a type for this expression",
        "TVM 0.7 to 0.19",
        "Nothing determines the type of an expression: a variable has no type, or a different "
        "error, which is also reported, prevents it",
        "Read the other messages first; give each variable a shape and a dtype",
        ("The type inference pass was unable to infer a type for this expression.",),
    ),
    Message(
        "bound-again",
        ("bound more than once", "WellFormed(e)", "WellFormed(func", "WellFormed(resolved"),
        r"(?:(?:The variable |%)(?P<variable>\w+)(?: in @\w+)? is bound more than once|"
        r"WellFormed\((?:e|func\w*|resolved\w*)\))",
        "TVM 0.6 to 0.19, and byoc_lab",
        "Two binders (function parameters, lets, match patterns) bind the same variable, or a "
        "variable is used outside of its scope: {variable}",
        "Give each binder a variable of its own; byoc_lab.lint names the variables",
        ("The IR is not well formed with: The variable y is bound more than once, this is not "
         "valid IR",
         "InternalError: Check failed: (WellFormed(e)) is false: #[version = \"0.0.5\"]",
         "WellFormedError: %y is bound more than once; give each binder a variable of its own"),
        ("BYL004",),
    ),
    Message(
        "let-in-own-value",
        ("is_functional_literal ||", "in the value of its own let"),
        r"(?:is_functional_literal \|\| !(?:this->)?type_map_\.count|"
        r"%(?P<variable>\w+)(?: in @\w+)? is used in the value of its own let)",
        "TVM 0.6 to 0.19, and byoc_lab",
        "The value of a let uses the variable of the let{variable}, which has no value there: "
        "only a function literal may refer to itself",
        "Use another operand in the value, or bind another variable; byoc_lab.lint names it",
        ("InternalError: Check failed: (is_functional_literal || "
         "!this->type_map_.count(op->var)) is false: ",
         "Check failed: is_functional_literal || !type_map_.count(let->var): ",
         "TypeInferenceError: %y is used in the value of its own let, which is not a function "
         "literal; use another operand"),
        ("BYL004",),
    ),
    Message(
        "diagnostics",
        ("one or more error diagnostics were emitted",),
        r"one or more error diagnostics were emitted",
        "TVM 0.7 to 0.19",
        "The program has errors in its text or its types, which are printed above this message",
        "Read the lines that begin with 'error:' above it; --> gives the source location",
        ("DiagnosticError: one or more error diagnostics were emitted, please check diagnostic "
         "render for output.",),
        stated=True,
    ),
)  # fmt: skip
