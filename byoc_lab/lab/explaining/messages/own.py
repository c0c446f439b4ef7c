"""Messages of byoc_lab itself."""

from __future__ import annotations

from byoc_lab.lab.explaining.messages.record import Message

HERE = "byoc_lab"
MET_COMPOSITE = (
    "MergeComposite applies the table in order: an operand can already be a call of a composite "
    "function, which an earlier entry of the table made, and a function has no name"
)
RAISED = (
    r"(?P<who>back end '[^']+': [^\n]{1,200}?|a pattern table: [^\n]{1,200}?) raised "
    r"(?P<error>\w+): (?P<why>[^\n]{0,300}?)\. It was asked about (?P<call>[^\n]{1,200}?);"
)
CHECK_FOR_OPERATOR = (
    "Test the callee before its name: isinstance(call.op, Op) (tvm.ir.Op) and call.op.name == ..., "
    "and return False for other callees"
)
CHECK_THE_CALLEE = (
    CHECK_FOR_OPERATOR
    + "; the entry of a check can also come before those that make such composites"
)
MET_GLOBAL = (
    "Such a function, for example the region of an earlier partitioning, is called by its "
    "GlobalVar, which has name_hint, not name"
)

MESSAGES = (
    Message(
        "own-refused-by-codegen-of-relax",
        ("DNNL has no counterpart of relax.",),
        r"(?:region @(?P<symbol>[^\s:]+): )?DNNL has no counterpart of (?P<name>relax\.[\w.]+)",
        HERE,
        "A region has {name}, but DNNL does not compile it",
        "Leave {name} out of the pattern table, or let the check of its pattern refuse it; "
        "byoc_lab.relax.partition_for_dnnl only offloads operators that DNNL compiles. "
        "byoc_lab.lint of the "
        "module after FuseOpsByPattern reports it earlier",
        ("region @fused_relax_cumsum1_dnnl: DNNL has no counterpart of relax.cumsum",),
        ("BYR009",),
        stated=True,
    ),
    Message(
        "own-refused-by-codegen",
        ("ccompiler has no C for ", "DNNL has no counterpart of "),
        r"(?:region @(?P<symbol>[^\s:]+): )?(?:ccompiler has no C for|DNNL has no counterpart of) "
        r"(?P<name>[^\n;]{1,200}?)(?:\(\.\.\.\))?(?:;[^\n]*|$|(?=\n))",
        HERE,
        "A region has {name}, but its back end does not compile it",
        "Leave {name} to the host: the predicate or the pattern's check must refuse it; or use "
        "byoc_lab.build(fallback=True). byoc_lab.lint(mod, backend=...) reports it earlier",
        ("region @r: ccompiler has no C for nn.conv2d(...); it has it for abs, add",),
        ("BYL026",),
        stated=True,
    ),
    Message(
        "own-in-compat",
        ("whose table is in byoc_lab.compat",),
        r"no (?:back end is registered (?:as|for the compiler)|pipeline is named) '(?P<name>[^']+)'"
        r"[^\n]*?whose table is in byoc_lab\.compat[^\n]*",
        HERE,
        "{name} is one of TVM's integrations. byoc_lab has its pattern table, for scripts of TVM, "
        "and registers it on request; it has no code generator for it",
        "import byoc_lab.compat.integrations, then explain, lint and trace know {name}. To build, "
        "register a code generator of that name, or use build(fallback=True)",
        ("UnknownNameError: no back end is registered as 'cutlass'; 'cutlass' is one of TVM's "
         "integrations, whose table is in byoc_lab.compat: `import byoc_lab.compat.integrations`",),
        ("BYL017", "BYL020"),
        stated=True,
    ),
    Message(
        "own-check-met-composite",
        ("raised AttributeError: '", "raised UnknownAttributeError: '"),
        r"(?P<who>back end '[^']+': [^\n]{1,200}?|a pattern table: [^\n]{1,200}?) raised "
        r"(?:Unknown)?AttributeError: 'Function' "
        r"object has no attribute 'name'[^\n]*?(?:\. It was asked about (?P<call>[^\n]{1,200}?);"
        r"[^\n]*|(?=\n|$))",
        HERE,
        "{who} failed: it reads op.name of a call whose callee is a Function. "
        + MET_COMPOSITE,
        CHECK_THE_CALLEE,
        ("PredicateError: back end 'npu': the check of the pattern 'npu.conv_res' raised "
         "AttributeError: 'Function' object has no attribute 'name'. It was asked about add(...) "
         "of type Tensor[(1, 8), float32]; return False for what is not supported",),
        stated=True,
    ),
    Message(
        "own-check-met-global-function",
        ("raised AttributeError: 'GlobalVar'", "raised UnknownAttributeError: 'GlobalVar'"),
        r"(?P<who>back end '[^']+': [^\n]{1,200}?|a pattern table: [^\n]{1,200}?) raised "
        r"(?:Unknown)?AttributeError: 'GlobalVar' object has no attribute 'name'"
        r"[^\n]*?(?:\. It was asked about (?P<call>[^\n]{1,200}?);[^\n]*|(?=\n|$))",
        HERE,
        "{who} failed: it reads op.name of a call of a global function. " + MET_GLOBAL,
        CHECK_FOR_OPERATOR,
        ("PredicateError: back end 'npu': the predicate of add raised AttributeError: 'GlobalVar' "
         "object has no attribute 'name'. It was asked about add(...) of type Tensor[(4), int8]; "
         "return False for what is not supported, and True for what is",),
        stated=True,
    ),
    Message(
        "own-tuple-parameter",
        (" is a tuple, expected a tensor, found ",),
        r"region @(?P<symbol>\S+) of (?P<compiler>\S+): parameter (?P<param>%\S+) is a tuple, "
        r"expected a tensor, found (?P<type>[^\n]{1,300}?)\. Put[^\n]*",
        HERE,
        "The function of a region of {compiler} has the parameter {param} of type {type}, but "
        "the code of regions expects tensors",
        "Annotate again, with compiler_begin on the fields of the tuple; byoc_lab.fix(mod, "
        "backend=...) of the annotated module does it",
        ("BuildError: region @work of dnnl: parameter %pair is a tuple, expected a tensor, found "
         "(Tensor[(4), float32], Tensor[(4), float32]). Put compiler_begin on the fields of the "
         "tuple, so that the region makes the tuple itself",),
        ("BYL027",),
        stated=True,
    ),
    Message(
        "own-repeated-operand",
        ("because a repeated operand is one parameter",),
        r"(?P<what>(?:The region|\w[\w.\-]*) has \d+ parameters?: %\w+ stands for \d+ operands), "
        r"because a repeated operand is one parameter",
        HERE,
        "{what}: the passes make one parameter, and one argument, of a value that is used several "
        "times (x * x). Code that reads one for each operand fails",
        "Read the operands from the calls in the body of the function, and look up the argument of "
        "each parameter; or leave such calls to the host: a check, or a predicate of supports=, "
        "finds one node twice among the operands (of x * x, call.args[0] is call.args[1])",
        ("BuildError: the code generator of back end 'npu' failed for the function @f: IndexError: "
         "tuple index out of range. It is called as codegen(function, symbol). npu.mul has 1 "
         "parameter: %FunctionVar_0_0 stands for 2 operands, because a repeated operand is one "
         "parameter",),
        ("BYL035",),
    ),
    Message(
        "own-codegen-failed",
        ("the code generator of back end ",),
        r"the code generator of back end '(?P<who>[^']+)' failed for the function @(?P<symbol>\S+?)"
        r"(?: at \S+:\d+)?: (?P<error>\w+): (?P<why>[^\n]{0,300})",
        HERE,
        "The code generator of {who} is faulty, or does not support the function: {error}: {why}",
        "Correct the code generator; the message has its line if known. It must raise "
        "BuildError for what it cannot compile: for Relay, byoc_lab.build(fallback=True) then "
        "leaves such functions to the host; on Relax, compiles= of relax.register refuses them",
        ("the code generator of back end 'mcu' failed for the function @r at npu.py:7: KeyError: "
         "'nn.relu'",),
        ("BYL035", "BYL027", "BYL026"),
    ),
    Message(
        "own-code-does-not-compile",
        (": its code does not compile:",),
        r"region @(?P<symbol>\S+): its code does not compile:[\s\S]{0,4000}?: error: "
        r"(?P<why>[^\n]{1,200})",
        HERE,
        "The compiler rejects the source that the code generator wrote for the region {symbol}: "
        "{why}",
        "Correct the source that the code generator writes; the message has its lines",
        ("BuildError: region @r: its code does not compile:\nsource_0.c: In function 'r':\n"
         "source_0.c:2:9: error: expected ';' before return",),
        stated=True,
    ),
    Message(
        "own-cannot-be-exported",
        (" cannot be exported: ",),
        r"the code that (?P<compiler>\S+) made of @(?P<symbol>\S+) cannot be exported: "
        r"(?P<why>[^\n]{1,80}?)\. [^\n]*",
        HERE,
        "The program runs in this process, but the code of its region {symbol} cannot be written "
        "to a file: {why}",
        "Compile the region with byoc_lab.backends.c_library, or export the module from before the "
        "partitioning; for a module of Relay, byoc_lab.build(mod, offload=False) can be exported",
        ("BuildError: the code that py made of @r cannot be exported: it is Python. What byoc_lab."
         "backends.c_library compiles can be exported",),
        stated=True,
    ),
    Message(
        "own-codegen-returned",
        ("the code generator of back end ",),
        r"the code generator of back end '(?P<who>[^']+)' returned (?P<kind>\w+) for the function "
        r"@(?P<symbol>\S+?); it must return a compiled region",
        HERE,
        "The code generator of {who} returned {kind}, which is not a compiled region",
        "Return byoc_lab.backends.PythonRegion(function over arrays), the region that c_library or "
        "another library makes (docs/backends.md has them), or raise BuildError for what it cannot "
        "compile; a function without return returns NoneType",
        ("BuildError: the code generator of back end 'npu' returned NoneType for the function @r; "
         "it must return a compiled region (byoc_lab.run.CompiledRegion)",),
        stated=True,
    ),
    Message(
        "own-open-region",
        (" contains free variables: [%",),
        r"@(?P<function>\S+) contains free variables: \[%(?P<variable>\w+?_\d+_i\d+)\b",
        HERE,
        "%{variable}, in @{function}, is the input of a region that was opened and has no end: a "
        "compiler_begin without its compiler_end, one more begin in a region, or a begin around "
        "the value of a let",
        "Put the compiler_end where the value of the region leaves, or remove the second begin or "
        "the begin on the value of the let; byoc_lab.lint of the annotated module names the edge",
        ("FreeVariableError: @main contains free variables: [%dnnl_0_i0: Tensor[(4, 4), float32]]. "
         "A global function may only use its own parameters;",),
        ("BYL002", "BYL010", "BYL004", "BYL003", "BYL008", "BYL006"),
        "let-bound-calls",
    ),
    Message(
        "own-free-variables",
        (" contains free variables: [%",),
        r"@(?P<function>\S+) contains free variables: \[(?P<variables>%[^\n]{0,2000}?)"
        r"(?=\](?![\],])|\n|$)",
        HERE,
        "@{function} uses variables that it does not bind{variables}. Where PartitionGraph made "
        "it, a region has an input without compiler_begin, or one that is opened and never closed",
        "Add the variable to the parameters of the function; if PartitionGraph made it, "
        "byoc_lab.lint of the annotated module names the edge",
        ("FreeVariableError: @dnnl_main_6 contains free variables: [%data, %w]. A global function "
         "may only use its own parameters;",
         "@main contains free variables: [%x: Tensor[(1, 8), float32], %y: Tensor[(8), int8]]. A "
         "global function may only use its own parameters;"),
        ("BYL003", "BYL001", "BYL002", "BYL004", "BYL008", "BYL010"),
        "nested-partition",
    ),
    Message(
        "own-mixed-arguments",
        ("with values from outside",),
        r"(?P<call>\S+) mixes values of a region of (?P<compiler>\S+) with values from outside: "
        r"(?P<outside>[^\n]{1,300}?)\. Put[^\n]*",
        HERE,
        "{call} has arguments in a region of {compiler} and arguments outside: {outside}",
        "Put compiler_begin on the arguments from outside",
        ("nn.relu(...) mixes values of a region of dnnl with values from outside: variable %y. Put "
         "compiler_begin[dnnl] on these arguments (TVM: Arg regions are inconsistent)",),
        ("BYL001", "BYL015", "BYL006", "BYL003"),
        "batch-norm",
        stated=True,
    ),
    Message(
        "own-end-without-region",
        ("] closes nothing: ",),
        r"compiler_end\[(?P<compiler>[^\]]+)\] closes nothing: (?P<value>[^\n]{1,200}?) is in no "
        r"region[^\n]*",
        HERE,
        "A compiler_end of {compiler} is on {value}, which is in no region",
        "Put compiler_begin on every input of the region to close, or remove the end",
        ("compiler_end[dnnl] closes nothing: variable %a is in no region. Put compiler_begin on "
         "every input of what it is to close, or remove it (TVM: Cannot find the corresponding "
         "region for end annotation)",),
        ("BYL001", "BYL010", "BYL003", "BYL006"),
        stated=True,
    ),
    Message(
        "own-two-compilers",
        (" and is closed for ",),
        r"a region was opened for (?P<opened>\S+) and is closed for (?P<closed>[^,\s]+), at "
        r"(?P<value>[^;\n]{1,200}?);[^\n]*",
        HERE,
        "A region is opened for {opened} and closed for {closed}, at {value}",
        "Use one compiler for both; annotate once, with a list of targets",
        ("a region was opened for dnnl and is closed for default, at nn.relu(...); use one "
         "compiler for both (TVM: Check failed: region->GetTarget() == target)",),
        ("BYL006",),
        stated=True,
    ),
    Message(
        "own-cycle",
        ("depends on its own result: ", "depends on itself through another region"),
        r"a region depends on its own result: (?P<path>[^\n]{1,500}?)\. A value|depends on itself "
        r"through another region",
        HERE,
        "A region needs its own result: a value leaves it, is used outside, and comes back. {path}",
        "End the region at the value that leaves, and begin another after it",
        ("a region depends on its own result: add(...) <- tanh(...) <- exp(...). A value leaves "
         "it, is used outside, and comes back.",
         "the region of dnnl that computes add(...) depends on itself through another region; end "
         "it at the value that leaves it"),
        ("BYL007", "BYL001"),
        stated=True,
    ),
    Message(
        "own-name-taken",
        (" would be named @",),
        r"the external function @(?P<name>\w+) would be named @(?P<taken>\w+)",
        HERE,
        "The module already has a function @{taken}; partitioning a module twice does this",
        "Partition once, or give PartitionGraph another mod_name",
        ("the external function @dnnl_main_0 would be named @tvmgen_default_dnnl_main_0, which the "
         "module already has; give PartitionGraph another mod_name",),
        ("BYL009",),
        stated=True,
    ),
    Message(
        "own-check-in-other-order",
        ("A pattern takes the operands of add and multiply in either order",),
        RAISED + r"[^\n]*? A pattern takes the operands of add and multiply in either order",
        HERE,
        "{who} raised {error}: {why}. It was asked about {call}, and answers if the operands are "
        "in the other order",
        "Look for the operand on both sides, because add and multiply may have their operands in "
        "either order",
        ("PredicateError: back end 'npu': the check of the pattern 'npu.conv' raised "
         "AttributeError: 'Var' object has no attribute 'op'. It was asked about add(...) of type "
         "Tensor[(1, 4), float32]; return False for what is not supported, and True for what is. "
         "A pattern takes the operands of add and multiply in either order: the check must look",),
        stated=True,
    ),
    Message(
        "own-check-met-other-node",
        ("' object has no attribute 'op'. It was", "' object has no attribute 'args'. It was"),
        RAISED.replace("(?P<why>", "(?P<why>'(?P<kind>Var|Constant|Tuple|TupleGetItem|Function|Let|"
                       "If)' object has no attribute '(?P<name>op|args)'"),
        HERE,
        "{who} raised {error}: {why}. It was asked about {call}, but reads .{name} of a {kind}: an "
        "operand of a match can be any expression, not only a call",
        "Test isinstance(expr, relay.Call) first, and return False for other expressions",
        ("PredicateError: back end 'npu': the check of the pattern 'npu.dense' raised "
         "AttributeError: 'Constant' object has no attribute 'op'. It was asked about nn.dense(..."
         ") of type Tensor[(1, 4), float32]; return False for what is not supported",),
        stated=True,
    ),
    Message(
        "own-predicate-raised",
        (". It was asked about ",),
        RAISED,
        HERE,
        "{who} raised {error}: {why}. It was asked about {call}",
        "Let it return False, or Refused('why'), for calls that it does not support",
        ("PredicateError: back end 'npu': the predicate of nn.relu raised AttributeError: "
         "'NoneType' object has no attribute 'axis'. It was asked about nn.relu(...) of type "
         "Tensor[(1, 4), float32]; return False for what is not supported",),
        stated=True,
    ),
    Message(
        "own-no-back-end",
        ("no back end is registered",),
        r"no back end is registered (?:as|for the compiler) '(?P<name>[^']+)'",
        HERE,
        "No back end is called {name}: a misspelt name, or its module was not imported",
        "Correct the name (byoc_lab.backends.names() lists them), or register it",
        ("UnknownNameError: no back end is registered as 'dnll'; did you mean 'dnnl'?",),
        ("BYL020", "BYL034"),
    ),
)  # fmt: skip
