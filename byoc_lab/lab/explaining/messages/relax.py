"""Messages of Relax, today's language of TVM."""

from __future__ import annotations

from byoc_lab.lab.explaining.messages.record import Message

HERE = "byoc_lab"
RELAX = "Relax in TVM 0.20 to 0.27"

MESSAGES = (
    Message(
        "relax-merge-call-tir",
        ("MergeCompositeFunctions",),
        r"MergeCompositeFunctions[\s\S]{0,4000}?(?:Segmentation fault|Segfault|SIGSEGV)",
        "Relax in TVM 0.12 to 0.17",
        "MergeCompositeFunctions crashed. This happens if a module calls a kernel with "
        "R.call_tir, or has another argument to which it assigns no group",
        "Run MergeCompositeFunctions before LegalizeOps, or use a newer TVM",
        ("mod = relax.transform.MergeCompositeFunctions()(mod)\nSegmentation fault (core dumped)",),
        lesson="relax-call-tir",
    ),
    Message(
        "relax-invalid-pattern",
        ("Invalid pattern: ",),
        r"Invalid pattern: (?P<what>[^\n]{1,100})",
        RELAX,
        "FuseOpsByPattern got {what} instead of an entry of a pattern table",
        "Give a list of entries (name, pattern) or (name, pattern, annotations, check), or of "
        "FusionPatterns; relax.backend.get_patterns_with_prefix gives the table of a name",
        ("ValueError: Invalid pattern: n",),
        stated=True,
    ),
    Message(
        "relax-bind-params",
        ("Function does not have parameter with name",),
        r"Function does not have parameter with name \"(?P<name>[^\"\n]{1,100})\"",
        RELAX,
        "BindParams got a value for {name}, but the function has no parameter with that name",
        "Use the names that the message lists",
        (
            'Check failed: (it != string_lookup.end()) is false: Function does not have parameter '
            'with name "w".  Function parameters are named ("x0",)',
        ),
        rules=("BYR004",),
        stated=True,
    ),
    Message(
        "relax-input-type",
        ("ErrorContext(fn=",),
        r"ErrorContext\(fn=(?P<function>[\w.]{1,100}), loc=param\[\d+\], "
        r"param=(?P<param>[^,\n]{1,100}), annotation=(?P<type>[^\n]{1,300}?)\)(?=  ?\S| ,|\n|$)",
        RELAX,
        "The argument for %{param} of @{function} is not a {type}",
        "Give a value of that type; sizes that differ between runs must be symbolic in the type",
        (
            "Check failed: input_shape[i] == reg (3 vs. 2) : ErrorContext(fn=main, loc=param[0], "
            'param=x0, annotation=R.Tensor((2, 4), dtype="float32"))  match_cast error,  shape[0] '
            "mismatch to specified constant.",
        ),
        stated=True,
    ),
    Message(
        "relax-number-of-inputs",
        ("Invoking function ",),
        r"Invoking function (?P<function>[\w.]{1,100}) expects (?P<wanted>\d+) arguments "
        r"\((?P<names>[^)\n]{0,1000})\), but (?P<given>\d+) arguments were provided",
        RELAX,
        "@{function} was called with {given} arguments, and takes {wanted}: {names}",
        "Give a value for each; relax.transform.BindParams before the build makes constants of "
        "weights",
        (
            "Check failed: static_cast<size_t>(gfunc.num_args) == args.size() (1 vs. 0) : Invoking "
            "function main expects 1 arguments (x0), but 0 arguments were provided.",
        ),
        stated=True,
    ),
    Message(
        "relax-no-codegen",
        ("Codegen is not found",),
        r"Codegen is not found: relax\.ext\.(?P<compiler>[\w.\-]+)",
        "Relax in TVM 0.27",
        'A function has Codegen="{compiler}", and no code generator is registered for it',
        "Import the package that registers relax.ext.{compiler}, or register that function with "
        "tvm_ffi.register_global_func before RunCodegen",
        (
            "InternalError: Check failed: (codegen.has_value()) is false: Codegen is not found: "
            "relax.ext.mychip",
        ),
        rules=("BYR002",),
        stated=True,
    ),
    Message(
        "relax-tir-vars",
        ("unexpected keyword argument 'tir_vars'",),
        r"call_tir\w*\(\) got an unexpected keyword argument 'tir_vars'",
        "Relax in TVM 0.27",
        "call_tir no longer has an argument tir_vars",
        "Pass the values in args, after the tensors",
        ("TypeError: call_tir() got an unexpected keyword argument 'tir_vars'",),
        lesson="relax-tir-vars",
        stated=True,
    ),
    Message(
        "relax-composite-prefix",
        ("should start with a compiler name",),
        r"The pattern name for a composite function should start with a compiler name followed by "
        r"period",
        RELAX,
        "The name of a pattern, and so of its composite, does not begin with a back end",
        'Name the pattern "<back end>.<name>", such as "dnnl.relu": MergeCompositeFunctions reads '
        "the back end from it",
        (
            "Check failed: (delim_pos != std::string::npos) is false: The pattern name for a "
            "composite function should start with a compiler name followed by period.",
        ),
        rules=("BYR007",),
        stated=True,
    ),
    Message(
        "relax-no-rule",
        ("Do not have a default for ", "Invalid type: relax.expr."),
        r"(?:Do not have a default for|Invalid type:) (?:relax\.expr|ir)\.(?P<kind>\w+)",
        RELAX,
        "A pass of TVM met {kind}, for which it has no rule. MergeCompositeFunctions has none for "
        "branches (If), R.match_cast (MatchCast), texts (StringImm) and packed functions "
        "(ExternFunc): those of R.call_packed and R.call_dps_packed, and the calls that "
        "RunCodegen creates",
        "After RunCodegen: partition before it, and only once. Else leave the pass out and give "
        "FuseOpsByPattern annotate_codegen=True, as byoc_lab.relax.partition_for_dnnl does; or "
        "read the module with byoc_lab.importers.relax.from_relax",
        (
            "InternalError: Do not have a default for relax.expr.If",
            "TypeError: Invalid type: relax.expr.MatchCast",
        ),
        stated=True,
    ),
    Message(
        "relax-cycle",
        ("A cyclic dependency detected",),
        r"A cyclic dependency detected between the groups (?P<inside>\w+) and (?P<outside>\w+) "
        r"are in",
        RELAX,
        "FuseOpsByPattern matched %{inside} and an operator before it, and %{outside} is between "
        "the two but not in the match: the composite would need a value that needs the composite",
        "Include %{outside} in the pattern, or match less. If %{outside} is a tuple, write it into "
        "the call instead of binding it: R.concat((a, b))",
        (
            "InternalError: Check failed: (depgroup != cur_group) is false: A cyclic dependency "
            "detected between the groups lv3 and lv2 are in.",
        ),
        stated=True,
    ),
    Message(
        "relax-local-functions",
        ("do not work for local functions",),
        r"VMShapeLower do not work for local functions",
        RELAX,
        "The module has local functions when it is built. A function with the attribute Codegen "
        "has its composites as local functions until RunCodegen compiles it",
        "Run relax.transform.RunCodegen() before relax.build, or build with "
        "byoc_lab.relax.build(mod), which runs it. For your own local functions, run "
        "relax.transform.LambdaLift()",
        (
            "ValueError: VMShapeLower do not work for local functions, make sure  to run it after "
            "LambdaLift",
        ),
    ),
    Message(
        "relax-function-not-found",
        ("in either Relax VM kernel library",),
        r"Cannot find ffi::Function (?P<name>\S+) in either Relax VM kernel library",
        RELAX,
        "The compiled module calls {name}, and no linked library and no registered function has "
        "that name",
        "Register a packed function before: tvm_ffi.register_global_func(name, function). For a "
        "function of a back end, build the module that RunCodegen gave, with its attribute "
        "external_mods",
        (
            "InternalError: Check failed: (func.has_value()) is false: Error: Cannot find "
            "ffi::Function my.copy in either Relax VM kernel library, or in TVM runtime "
            "ffi::Function registry, or in global Relax functions of the VM executable",
        ),
        stated=True,
    ),
    Message(
        "relax-not-lowered",
        ("CodeGenVM cannot emit this Relax operator directly",),
        r"CodeGenVM cannot emit this Relax operator directly\.[\s\S]{0,300}?Offending call:\s*"
        r"(?P<call>[^\n]+)",
        "Relax in TVM 0.27",
        "The call {call} was still there when the module was built: no back end offloaded it, "
        "and LegalizeOps did not lower it",
        "Run relax.transform.LegalizeOps() after the partitioning; relax.build runs it unless "
        "relax_pipeline= is given. An operator without a rule there must be in a region",
        (
            "InternalError: CodeGenVM cannot emit this Relax operator directly. Run the "
            "appropriate lowering pass, or route the operator to an external codegen before VM "
            "codegen.\nOffending call:\nR.nn.relu(x)",
        ),
        stated=True,
    ),
    Message(
        "relax-no-group",
        ("obj2group_",),
        r"Variable (?P<name>\w+) could not be found in any group",
        RELAX,
        "MergeCompositeFunctions met %{name}, a variable of a function other than main, but it "
        "only groups operators of main",
        "Inline the private functions that main calls before the partitioning "
        "(relax.transform.InlinePrivateFunctions; a function with global_symbol is not private). "
        "Leave functions that main does not call out of the module while the pass runs, as "
        "byoc_lab.relax.partition_for_dnnl does",
        (
            "InternalError: Check failed: (it_group != obj2group_.end()) is false: Variable lv "
            "could not be found in any group",
        ),
    ),
    Message(
        "relax-shared-variable",
        ("not single-site assignment",),
        r"The object (?P<name>\w+) appears in multiple partitions, which can occur when the "
        r"IRModule was not single-site assignment",
        RELAX,
        "Two functions bind the variable %{name}, because they share a body",
        "Make each function from variables of its own: relax.utils.copy_with_new_vars(function)",
        (
            "ValueError: Check failed: (!group_map.count(key)) is false: IRModule is invalid.  The "
            "object gv appears in multiple partitions, which can occur when the IRModule was not "
            "single-site assignment",
        ),
        rules=("BYR006",),
    ),
    Message(
        "relax-free-variable",
        ("memo_.count(ffi::GetRef<Expr>(vn))",),
        r"Check failed: \(memo_\.count\(ffi::GetRef<Expr>\(vn\)\)\) is false",
        RELAX,
        "A pass met a variable without a binding in its function. If the module was well-formed, "
        "FuseOpsByPattern moved the binding after a use: a match has a value on which another "
        "operand of the match depends",
        "byoc_lab.lint of the module before the pass names the variable. Make it a parameter of "
        "the function, or bind it before it is used; if FuseOpsByPattern moved it, let the check "
        "of the pattern refuse a match with such a value",
        ("InternalError: Check failed: (memo_.count(ffi::GetRef<Expr>(vn))) is false: ",),
        rules=("BYR005",),
    ),
    Message(
        "relax-not-defined",
        ("is not defined.",),
        r"(?:ValueError: |^)Var (?P<name>\w+) is not defined\.",
        RELAX,
        "A function uses the variable %{name}, and nothing in it binds it",
        "Make the variable a parameter of the function, or bind it before it is used",
        ("ValueError: Var x0 is not defined.",),
        rules=("BYR005",),
        stated=True,
    ),
    Message(
        "relax-unknown-shape",
        ("emit_te now only supports Tensor that has ShapeExpr shape",),
        r"emit_te now only supports Tensor that has ShapeExpr shape",
        RELAX,
        "FoldConstant, LegalizeOps or relax.BlockBuilder.emit_te met a tensor of unknown shape",
        "Give the shape, at least with symbolic sizes: R.Tensor(('n', 'm'), 'float32'), or "
        "R.match_cast",
        ("AssertionError: emit_te now only supports Tensor that has ShapeExpr shape",),
    ),
    Message(
        "relax-operator-not-registered",
        ("Operator relax.",),
        r"Operator (?P<name>relax\.[\w.]+) is not registered(?! [a-z])",
        RELAX,
        "No operator of Relax is named {name}",
        "Correct the name: tvm.ir.Op.list_op_names() has all; Relax writes a dense layer as "
        "relax.matmul of relax.permute_dims",
        (
            "AttributeError: Check failed: (reg != nullptr) is false: Operator relax.nn.dense is "
            "not registered",
        ),
        stated=True,
    ),
    Message(
        "relax-own-shared-variables",
        ("so that passes take the two for one",),
        r"(?P<fault>@\w+ binds [^\n;]{1,300}?, so that passes take the two for one)[^\n]*",
        HERE,
        "{fault}",
        "Make each function from variables of its own: relax.utils.copy_with_new_vars(function) "
        "copies one",
        (
            "WellFormedError: relax.explain: @main binds %x0, and @decode binds the same, so that "
            "passes take the two for one; make each function from variables of its own",
        ),
        rules=("BYR006",),
        stated=True,
    ),
    Message(
        "relax-own-free-variable",
        (", which nothing in it binds",),
        r"(?P<fault>@\w+ uses %[^\n;]{1,300}?, which nothing in it binds)[^\n]*",
        HERE,
        "{fault}",
        "Make the variable a parameter of the function, or bind it before it is used",
        (
            "FreeVariableError: relax.explain: @main uses %x0, which nothing in it binds; make the "
            "variable a parameter of the function, or bind it before it is used",
        ),
        rules=("BYR005",),
        stated=True,
    ),
)  # fmt: skip
