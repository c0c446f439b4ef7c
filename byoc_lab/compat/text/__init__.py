"""TVM's texts: diagnostics, places of nodes, nodes as JSON, which metadata sections may have."""

from byoc_lab.compat.text.node_json import metadata_reader
from byoc_lab.compat.text.node_json_writer import metadata_writer, node_key
from byoc_lab.relay.text.metadata import NodeEntries, read_and_write_nodes

read_and_write_nodes(NodeEntries(node_key, metadata_reader, metadata_writer))
