"""`relay.build` and the runtime of its result: executors, virtual machine, arrays, parameters."""
