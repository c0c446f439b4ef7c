# From the TVM forum thread "Confusing Behavior with Graph Partitioning", January 2021, with its
# slips fixed: the functions are looked up under the names they are stored under
# ("library_call_..."), a parenthesis is closed, and the composite's name has a dot, without which
# AnnotateTarget never offloads it.
# call with 0 args
call_pattern = ((df.wildcard())()).has_attr({"match_key": "my_library"})
for i in range(1, 6):
    call_pattern = call_pattern | (df.wildcard()(*[df.wildcard() for j in range(i)]).has_attr({"match_key": "my_library"}))

@tvm.relay.op.contrib.register_pattern_table("match_key")
def call_pattern_table():
    return [
        ('match_key.call', call_pattern, lambda _: True)
    ]

def wrap_call(caller, *args):
    attr =  tvm.ir.make_node("DictAttrs", **{"match_key": "my_library"})
    return relay.Call(caller, args, attrs=attr)

def transform_mod(mod):
    pattern_table = call_pattern_table()
    mod = transform.MergeComposite(pattern_table)(mod)
    mod = transform.AnnotateTarget("match_key")(mod)
    mod = transform.MergeCompilerRegions()(mod)
    mod = transform.PartitionGraph()(mod)
    return mod

def init_mod():
    mod = tvm.IRModule()
    for i in range(6):
        mod[f'library_call_{i}'] = relay.Function([relay.Var(f'arg_{j}', type_annotation=relay.scalar_type('int32')) for j in range(i)], relay.const(0, dtype='int32'), ret_type=relay.scalar_type('int32'))
    return mod

mod = init_mod()
mod['main'] = relay.Function([], wrap_call(mod.get_global_var('library_call_4'), *[relay.const(0, dtype='int32') for i in range(4)]))
print(transform_mod(mod)) # works
single = transform_mod(mod)

mod = init_mod()
x = relay.Var('x')
y = relay.Var('y')
z = relay.Var('z')
mod['main'] = relay.Function([],
    relay.Let(x,
        wrap_call(mod.get_global_var('library_call_3'),
                  *[relay.const(0, dtype='int32') for i in range(3)]),
        relay.Let(y, 
            relay.const(0, dtype='int32'),
            relay.Let(z,
                wrap_call(mod.get_global_var('library_call_2'),
                          x, y),
                z))))
