"""`relay.build` and what runs its result: executors, virtual machine, arrays, parameters."""
