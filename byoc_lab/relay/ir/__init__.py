"""The nodes, types, attributes and modules of Relay, and how to walk and rebuild them."""
