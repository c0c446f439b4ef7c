"""Recordings of a real TVM's passes: the recorder file, and the reader that makes a Trace."""

from byoc_lab.lab.tracing.recording.reading import is_recording, read_recording, recorder_source
from byoc_lab.lab.tracing.recording.replayed import RecordedStage, ReplayedTrace

__all__ = [
    "RecordedStage",
    "ReplayedTrace",
    "is_recording",
    "read_recording",
    "recorder_source",
]
