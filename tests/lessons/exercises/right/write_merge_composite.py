"""Other right answers to "write-merge-composite"."""

from __future__ import annotations

from byoc_lab.lessons.solutions.write_merge_composite import merged
from byoc_lab.relay import Call, Function, IRModule, Var
from byoc_lab.relay.ir.visit import post_order, rebuild
from byoc_lab.relay.patterns import WildcardPattern
from byoc_lab.relay.typing.infer import infer_module


def by_methods(mod, table):
    for entry in table:
        name, pattern = entry[0], entry[1]
        check = entry[2] if len(entry) > 2 else (lambda root: True)
        mod["main"] = pattern.partition(mod["main"], {"Composite": name}, check)
        mod = infer_module(mod)
    return mod


def _cut(root, pattern):
    """The nodes of a match before `root`, for patterns of calls and wildcards."""
    if isinstance(pattern, WildcardPattern):
        return []
    found = [root]
    for arg, part in zip(root.args, pattern.args, strict=True):
        found += _cut(arg, part)
    return found


def from_the_ground_up(mod, table):
    """Without `partition`: copies each match into a function, from the inputs to the result."""
    main = mod["main"]
    for name, pattern, *check in table:
        users = {}
        for node in post_order(main.body):
            for part in node.args if isinstance(node, Call) else ():
                users.setdefault(part, []).append(node)
        taken, roots = set(), {}
        # TVM matches from the result to the inputs, and each call is in one match only.
        for root in reversed(list(post_order(main.body))):
            if not isinstance(root, Call) or isinstance(root.op, Function):
                continue
            if not pattern.match(root):
                continue
            inside = _cut(root, pattern)
            if any(node in taken for node in inside) or (check and not check[0](root)):
                continue
            leaks = [u for n in inside if n is not root for u in users[n] if u not in inside]
            if leaks or (main.body in inside and main.body is not root):
                continue
            taken.update(inside)
            roots[root] = inside
        main = _replaced(main, roots, name)
        main = infer_module(IRModule.from_expr(main))["main"]
    return IRModule.from_expr(main)


def _replaced(main, roots, name):
    new = {}
    for node in post_order(main.body):
        if not isinstance(node, Call):
            new[node] = node
        elif node in roots:
            new[node] = _composite(node, roots[node], new, name)
        else:
            args = [new[arg] for arg in node.args]
            new[node] = Call(node.op, args, node.attrs)
    return Function(main.params, new[main.body])


def _composite(root, inside, new, name):
    params, copies = {}, {}
    for node in reversed(inside):
        for arg in node.args:
            if arg not in inside and arg not in params:
                params[arg] = Var(f"in{len(params)}", arg.checked_type)
        args = [copies[a] if a in inside else params[a] for a in node.args]
        copies[node] = Call(node.op, args, node.attrs)
    function = Function(list(params.values()), copies[root]).with_attr("Composite", name)
    return Call(function, [new[arg] for arg in params])


def in_another_order(mod, table):
    """The parameters of a composite may have any order."""

    def change(pre, post):
        if not (isinstance(post, Call) and isinstance(post.op, Function)):
            return post
        function = post.op
        turned = Function(function.params[::-1], function.body, attrs=function.attrs)
        return Call(turned, post.args[::-1])

    out = merged(mod, table)
    return IRModule.from_expr(rebuild(out["main"], change))


RIGHT = (by_methods, from_the_ground_up, in_another_order)
