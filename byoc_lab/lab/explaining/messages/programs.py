"""Messages about programs as text, and about names in modules."""

from __future__ import annotations

from byoc_lab.lab.explaining.messages.record import Message

PARSER = "TVM 0.7 to 0.19"

MESSAGES = (
    Message(
        "number-for-a-name",
        ("expected Object but got int", "expected Object but got str"),
        r"expected Object but got (?P<type>int|str)",
        "TVM 0.6 to 0.19",
        "A function of TVM expected an object but got a Python {type}. If a module was unpacked "
        "or indexed by number: `mod, config = partition_for_tensorrt(mod)` is for older TVMs; "
        "later versions return only the module",
        "Write mod = partition_for_...(mod, params); a function of a module is mod['main']",
        ("Check failed: type_code_ == kTVMObjectHandle (0 vs. 8) : expected Object but got int",),
    ),
    Message(
        "undeclared-variable",
        ("this local variable has not been previously declared",),
        r"this local variable has not been previously declared",
        PARSER,
        "The text uses a variable that no parameter, let or pattern binds",
        "Declare it as a parameter of the function, or correct its name",
        ("error: this local variable has not been previously declared\n --> from_string:2:8",),
        stated=True,
    ),
    Message(
        "undefined-number",
        ("has not yet been defined",),
        r"Local variable (?P<name>%\d+) has not yet been defined",
        PARSER,
        "The text uses {name} before a line defines it",
        "Check the order of the lines, and whether a line was lost in copying",
        ("Local variable %1 has not yet been defined",),
        stated=True,
    ),
    Message(
        "unknown-operator",
        ("perhaps you forgot to register it",),
        r"operator `(?P<name>[^`]+)` not found, perhaps you forgot to register it",
        PARSER,
        "No operator is named {name}",
        "Correct the name",
        ("error: operator `nn.conv` not found, perhaps you forgot to register it?",),
        stated=True,
    ),
    Message(
        "unknown-attribute",
        ("does not have field",),
        r"(?P<attrs>relay\.attrs\.\w+): does not have field '?(?P<name>\w+)'?",
        "TVM 0.6 to 0.19",
        "{attrs} has no attribute {name}",
        "Correct the name; the message lists the possible ones",
        ("relay.attrs.Conv2DAttrs: does not have field 'stride', Possible fields:",),
        stated=True,
    ),
    Message(
        "missing-attribute",
        ("Cannot find required field",),
        r"(?P<attrs>relay\.attrs\.\w+): Cannot find required field '?(?P<name>\w+)'?",
        "TVM 0.6 to 0.19",
        "{attrs} needs a value for {name}",
        "Give the attribute in the call",
        ("relay.attrs.ExpandDimsAttrs: Cannot find required field 'axis' during initialization. If "
         "the key is defined check that its type matches the declared type.",),
        stated=True,
    ),
    Message(
        "attrs-type-key",
        ("unable to determine the 'attrs_type_key'",),
        r"unable to determine the 'attrs_type_key'",
        PARSER,
        "The text gives attributes to an operator without a declared attributes type, such as an "
        "annotation",
        'Write them with their type: compiler="dnnl", attrs_type_key="relay.attrs.CompilerAttrs"',
        ("error: unable to determine the 'attrs_type_key' with which to represent the call "
         "attributes for this operator",),
        stated=True,
    ),
    Message(
        "text-version",
        ("invalid semantic version",),
        r"invalid semantic version",
        PARSER,
        "The first line of the text names a version that this parser does not read, or is missing",
        'Begin the text with #[version = "0.0.5"]; byoc_lab.relay.parse reads 0.0.4 too',
        ("error: invalid semantic version `0.0.4`",),
    ),
    Message(
        "unknown-function",
        ("Cannot find global var", "Cannot find global variable"),
        r"Cannot find global var(?:iable)? \"?(?P<name>\w+)",
        "TVM 0.6 to 0.27",
        "The module has no function @{name}",
        "Correct the name: the message lists the existing names. Passes of Relay and Relax begin "
        "with @main. After Relay's PartitionGraph external functions are called "
        "tvmgen_<mod_name>_<compiler>_<function>_<number>",
        ("ValueError: Cannot find global var \"main_0\" in the Module",),
        stated=True,
    ),
    Message(
        "null-node",
        ("Found null pointer node while traversing AST",),
        r"Found null pointer node while traversing AST",
        "TVM 0.10 to 0.19",
        "A module has a null pointer in place of an expression. The parser leaves one for an "
        "undeclared variable, and a pass or mutator if it returns None",
        "Look for a variable that is used and not declared, and for a visit function without "
        "return",
        ("InternalError: Check failed: (n.defined()) is false: Found null pointer node while "
         "traversing AST. The previous pass may have generated invalid data.",),
    ),
    Message(
        "not-equal",
        ("StructuralEqual check failed",),
        r"StructuralEqual check failed(?:, caused by lhs at (?P<path>[^\s:]+))?",
        "TVM 0.6 to 0.19",
        "Two programs that should be equal differ, at {path}. A node that is shared in one "
        "program but duplicated in the other is a difference, too; an untyped program differs "
        "from a typed one",
        "Type both with InferType; byoc_lab.diff(a, b) shows all differences",
        ("ValueError: StructuralEqual check failed, caused by lhs at <root>.body.args[1]:",),
        stated=True,
    ),
)  # fmt: skip
