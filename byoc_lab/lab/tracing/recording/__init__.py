"""Recordings of a real TVM's passes: the file that makes them, and reading them as a Trace."""

from byoc_lab.lab.tracing.recording.reading import is_recording, read_recording, recorder_source

__all__ = ["is_recording", "read_recording", "recorder_source"]
