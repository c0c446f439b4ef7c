"""Messages of the passes that annotate and partition."""

from __future__ import annotations

from byoc_lab.lab.explaining.messages.own import (
    CHECK_FOR_OPERATOR,
    CHECK_THE_CALLEE,
    MET_COMPOSITE,
    MET_GLOBAL,
)
from byoc_lab.lab.explaining.messages.record import Message

VARIABLES = r"free variables: \[(?P<variables>(?:relay\.)?Var\([^\n]{0,2000})"
FUNCTION = r"fv\.size\(\) == 0 ?\(\d+ vs\. 0\) ?: ?Function:\s*fn \("
TO_VARIABLES = r"[^\n]*\{\n[\s\S]{0,150000}?" + VARIABLES
ANY_TVM = "TVM 0.6 to 0.19"
EARLIEST = "January to April 2020"
OPEN = (
    "is the input of a region that was opened and has no end, so that no function was made of it: "
    "a compiler_begin without its compiler_end, one more begin in a region, a value of a region "
    "that is used outside without its end, or a begin around the value of a let, as AnnotateTarget "
    "writes it"
)
CLOSE = (
    "Put the compiler_end where the value of the region leaves, and use the end outside; remove a "
    "begin on the value of a let (byoc_lab's AnnotateTarget writes none), or run ToGraphNormalForm "
    "first"
)
OPEN_RULES = ("BYL002", "BYL010", "BYL004", "BYL003", "BYL008", "BYL006")
NESTED_RULES = ("BYL003", "BYL001", "BYL008", "BYL004")

MESSAGES = (
    Message(
        "check-met-composite",
        ("'Function' object has no attribute 'name", "function.Function'> has no attribute name"),
        r"(?:AttributeError: )?(?:'Function' object|<class '[\w.]*?\.Function'>(?: object)?) "
        r"has no attribute '?name\b'?",
        ANY_TVM,
        "A check or a predicate reads op.name of a call whose callee is a Function. "
        + MET_COMPOSITE,
        CHECK_THE_CALLEE,
        ("AttributeError: <class 'tvm.relay.function.Function'> has no attribute name",
         "AttributeError: 'Function' object has no attribute 'name'"),
    ),
    Message(
        "check-met-global-function",
        ("'GlobalVar' object has no attribute 'name'", "expr.GlobalVar'> has no attribute name"),
        r"(?:AttributeError: )?(?:'GlobalVar' object|<class '[\w.]*?\.GlobalVar'>(?: object)?) "
        r"has no attribute '?name\b'?",
        ANY_TVM,
        "A check or a predicate reads op.name of a call of a global function. " + MET_GLOBAL,
        CHECK_FOR_OPERATOR,
        ("AttributeError: <class 'tvm.ir.expr.GlobalVar'> has no attribute name",
         "AttributeError: 'GlobalVar' object has no attribute 'name'"),
    ),
    Message(
        "check-met-other-node",
        ("object has no attribute 'op'", "'> has no attribute op",
         "object has no attribute 'args'", "'> has no attribute args"),
        r"(?:AttributeError: )?(?:'(?P<kind>Var|Constant|Tuple|TupleGetItem|Function|Let|If)' "
        r"object|<class 'tvm\.relay\.[\w.]*?\.(?P<tvm>\w+)'>(?: object)?) has no attribute "
        r"'?(?P<name>op|args)\b'?",
        ANY_TVM,
        "A check or a predicate reads .{name} of a {kind}{tvm}: an operand of a match can be any "
        "expression, not only a call. Operands of add and multiply come in both orders",
        "Test isinstance(expr, relay.Call) first, and return False for other expressions",
        ("AttributeError: <class 'tvm.relay.expr.Var'> has no attribute op",
         "AttributeError: 'Constant' object has no attribute 'args'"),
    ),
    Message(
        "check-met-tuple-type",
        ("'TupleType' object has no attribute", "TupleType'> has no attribute"),
        r"(?:'TupleType' object|<class 'tvm\.[\w.]*?\.TupleType'>) has no attribute "
        r"'?(?P<name>shape|dtype|concrete_shape)\b'?",
        ANY_TVM,
        "A check or a predicate reads .{name} of the type of a tuple: the operand of a "
        "concatenate, or the result of an operator with several results",
        "Test isinstance(type, TensorType) first; .fields of a TupleType has those of its parts",
        ("AttributeError: <class 'tvm.ir.type.TupleType'> has no attribute shape",
         "AttributeError: 'TupleType' object has no attribute 'dtype'"),
    ),
    Message(
        "nested-region",
        ("fv.size() == 0",),
        FUNCTION + r"[^\n]*Compiler=\"(?P<compiler>[^\"\n]+)\"" + TO_VARIABLES,
        "TVM 0.8 to 0.19",
        "The function that PartitionGraph made of a region of {compiler} uses variables of another "
        "function{variables}: the region uses a value of @main, or the end of another region, on "
        "an argument that has no compiler_begin, so that one region is nested in another",
        "Put compiler_begin on every argument of a region that comes from outside: on parameters, "
        "on constants, and on the results of other regions",
        (
            "Check failed: fv.size() == 0 (2 vs. 0) : Function:\nfn (%dnnl_6_i0: Tensor[(16), "
            "float32], global_symbol=\"dnnl_main_6\", Primitive=1, Compiler=\"dnnl\") {\n  "
            "free_var %data;\n  @dnnl_main_0(%data)\n}\ncontains free variables: [Var(data, "
            "ty=TensorType([1, 3], float32)), Var(w, ty=TensorType([16], float32))]",
        ),
        NESTED_RULES,
        "nested-partition",
    ),
    Message(
        "open-region",
        ("free variables: [Var(",),
        r"free variables: \[Var\((?P<variable>\w+?_\d+_i\d+),",
        "TVM 0.7 to 0.19",
        "%{variable} " + OPEN,
        CLOSE,
        (
            "Check failed: fv.size() == 0 (2 vs. 0) : There are free variables: "
            "[Var(match_key_4_i0, ty=TensorType([], int32)), Var(match_key_8_i0, "
            "ty=TensorType([], int32))].",
            "contains free variables: [Var(dnnl_0_i0, ty=TensorType([1, 3], float32))]",
        ),
        OPEN_RULES,
        "let-bound-calls",
    ),
    Message(
        "open-region-2020",
        ("free variables: [Var(",),
        r"free variables: \[Var\((?P<variable>\w+?_input\d+),",
        EARLIEST,
        "%{variable} is the input of a subgraph that was opened and never closed",
        "Put a compiler_end on the value that leaves it, or remove the begin",
        ("Check failed: fv.size() == 0 (1 vs. 0) : There are free variables: "
         "[Var(dnnl_input4, ty=TensorType([10, 10], float32))]",),
        ("BYL002", "BYL003"),
    ),
    Message(
        "open-region-in-function",
        ("fv.size() == 0",),
        FUNCTION + r"(?:(?!Compiler=)[^\n])*\{\n[\s\S]{0,150000}?" + VARIABLES,
        "TVM 0.8 to 0.19",
        "A function uses variables that it does not bind{variables}. If PartitionGraph left it "
        "so, each " + OPEN,
        CLOSE,
        (
            "Check failed: fv.size() == 0 (1 vs. 0) : Function:\nfn (%x: Tensor[(2, 2), float32]) "
            "-> Tensor[(2, 2), float32] {\n  free_var %x1: Tensor[(2, 2), float32];\n  "
            "nn.relu(%x1)\n}\ncontains free variables: [Var(x, ty=TensorType([2, 2], float32))]",
        ),
        OPEN_RULES,
        "let-bound-calls",
    ),
    Message(
        "free-variables",
        ("free variables: [Var(", "free variables: [relay.Var("),
        VARIABLES,
        ANY_TVM,
        "A function uses variables that it does not bind{variables}. Where PartitionGraph made it, "
        "a region uses a value of @main, or the end of another region, on an argument that has no "
        "compiler_begin; where @main uses them, a region was opened and has no end",
        "Put compiler_begin on every argument of a region that comes from outside, and a "
        "compiler_end where its value leaves",
        (
            "ValueError: There are free variables: [Var(x, ty=TensorType([10], float32))] in "
            "function: fn () { %x }",
        ),
        (*NESTED_RULES, "BYL002", "BYL010", "BYL006"),
        "nested-partition",
    ),
    Message(
        "inconsistent-arguments",
        ("Arg regions are inconsistent",),
        r"Arg regions are inconsistent(?:: ?(?:#\[version[^\n]*\n(?:[^\n]*;\n)*)?"
        r"(?P<node>[^\n]{1,300}))?",
        "TVM 0.7 to 0.19",
        "A call has some arguments inside a region and some outside{node}. Constants count, too",
        "Put compiler_begin on the arguments that come from outside. If a pass after "
        "AnnotateTarget made them (SimplifyInference makes constants of a batch norm), run it "
        "before",
        ("Check failed: region.defined() == arg_region.defined() (1 vs. 0) : Arg regions are "
         "inconsistent: add(%0, 1e-05f)",
         "InternalError: Check failed: (region.defined() == arg_region.defined()) is false: Arg "
         "regions are inconsistent: #[version = \"0.0.5\"]\nfree_var %x;\nadd(%x, %y)"),
        ("BYL001", "BYL015", "BYL006", "BYL003"),
        "batch-norm",
        stated=True,
    ),
    Message(
        "no-region-for-end",
        ("Cannot find the corresponding region for end annotation",
         "Cannot find the corresponding subgraph for end annotation"),
        r"Cannot find the corresponding (?:region|subgraph) for end annotation",
        ANY_TVM,
        "A compiler_end closes a value that is in no region: no argument of it has a "
        "compiler_begin, or there is a let, an if or a reference between",
        "Put compiler_begin on every input of the region that the end closes, or remove the end. "
        "Regions cannot cross let, if and references",
        ("TVMError: Cannot find the corresponding region for end annotation:\n"
         "#[version = \"0.0.5\"]\nannotation.compiler_end(%0, compiler=\"dnnl\")",),
        ("BYL001", "BYL010", "BYL003", "BYL006"),
    ),
    Message(
        "no-subgraph-for-begin",
        ("Cannot find the corresponding subgraph for start annotation",),
        r"Cannot find the corresponding subgraph for start annotation",
        EARLIEST,
        "A compiler_begin opens a subgraph that nothing closes",
        "Put a compiler_end on the value that leaves the subgraph, or remove the begin",
        ("Check failed: sg != nullptr: Cannot find the corresponding subgraph for start "
         "annotation:\nannotation.compiler_begin(%x)",),
        ("BYL002", "BYL003"),
    ),
    Message(
        "two-compilers",
        ("region->GetTarget() == target", "region->GetTarget(), target"),
        r"region->GetTarget\(\) == target\)?(?: is false)?(?: \((?P<opened>[\w.-]+) vs\. "
        r"(?P<closed>[\w.-]+)\))?",
        "TVM 0.7 to 0.19",
        "A region is opened for one compiler and closed for another: {opened} and {closed}. Two "
        "runs of AnnotateTarget on one module do this, too",
        "Use one compiler for the begins and ends of a region; annotate once, with a list: "
        "AnnotateTarget(['a', 'b'])",
        ("Check failed: region->GetTarget() == target (dnnl vs. default) :",),
        ("BYL006",),
        stated=True,
    ),
    Message(
        "name-clash",
        ("(*it).second == var",),
        r"\(\*it\)\.second == var(?: \((?:I\.)?GlobalVar\(\"?(?P<name>[^\")]+))?",
        "TVM 0.7 to 0.19",
        "An external function would get a name that the module already has: {name}. Partitioning a "
        "module twice does this",
        "Partition once, or give PartitionGraph another mod_name",
        ("Check failed: (*it).second == var (I.GlobalVar(\"tvmgen_default_A_main_0\") vs. "
         "I.GlobalVar(\"tvmgen_default_A_main_0\"))",),
        ("BYL009",),
    ),
    Message(
        "duplicate-variable",
        ("Found multiple parameters share the same variable name",),
        r"Found multiple parameters share the same variable name(?: `?(?P<name>\w+))?",
        "TVM 0.8 to 0.19",
        "DefuseOps replaces parameters by name, but a function has two parameters with the name "
        "{name}",
        "Rename one parameter",
        ("Found multiple parameters share the same variable name `x` which introduces ambiguity",),
        stated=True,
    ),
    Message(
        "same-parameter-name",
        ("Multiple args in the function have name",),
        r"Multiple args in the function have name (?P<name>\S+)",
        ANY_TVM,
        "Two parameters of a function are named %{name}, so binding this name is ambiguous",
        "Rename one of them before bind_params_by_name",
        ("ValueError: Multiple args in the function have name weight",),
        stated=True,
    ),
    Message(
        "untyped",
        ("he type checker has not populated the checked_type",),
        r"[Tt]he type checker has not populated the checked_type(?: field)?"
        r"(?: for (?P<node>[^\n]{1,200}))?",
        ANY_TVM,
        "A pass needs types, but the module has none{node}: a pass that is called directly does "
        "not run the passes that it requires",
        "Run InferType first, or put the passes into a Sequential",
        ("internal error: the type checker has not populated the checked_type field for "
         "Var(x, ty=TensorType([1], float32))",),
        stated=True,
    ),
    Message(
        "rewrites-without-end",
        ("Observed 100 rewrite passes",),
        r"Observed 100 rewrite passes",
        "TVM 0.8 to 0.19",
        "The result of a DFPatternCallback matches its own pattern again, so rewriting does not "
        "terminate",
        "Return `post` if nothing changes, make the pattern narrower, or set rewrite_once=True",
        ("Check failed: (count < 100) is false: Observed 100 rewrite passes, possible conflicting "
         "passes?",),
    ),
    Message(
        "recursion",
        ("Segmentation fault", "SIGSEGV", "maximum recursion depth exceeded"),
        r"Segmentation fault|SIGSEGV|maximum recursion depth exceeded",
        ANY_TVM,
        "The process ran out of stack. In MergeCompilerRegions and PartitionGraph it means that a "
        "region needs its own result (a value leaves it, is used outside and comes back), or that "
        "a compiler_end names no compiler; in other places, that the graph is too deep",
        "End the region at the value that leaves, and begin another after it; annotate the code "
        "between for 'default', so that MergeCompilerRegions sees it",
        ("Segmentation fault (core dumped)",
         "RecursionError: maximum recursion depth exceeded while calling a Python object"),
        ("BYL007", "BYL013", "BYL005", "BYL003"),
    ),
    Message(
        "null-object",
        ("(ptr != nullptr) is false",),
        r"\(ptr != nullptr\) is false",
        "TVM 0.13 to 0.19",
        "A pass got a null pointer instead of an object. In partitioning passes: a compiler_begin "
        "or compiler_end without attributes, which names no compiler",
        "Give the annotation its compiler: compiler_begin(x, \"dnnl\") in Python; in text "
        "compiler=\"dnnl\", attrs_type_key=\"relay.attrs.CompilerAttrs\"",
        ("InternalError: Check failed: (ptr != nullptr) is false:",),
        ("BYL005",),
    ),
)  # fmt: skip
