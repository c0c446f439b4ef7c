"""anywidget's interface in the page, whose script is the front end of byoc_lab's widgets."""

from byoc_lab_lite.models import Model


class AnyWidget(Model):
    """A widget whose model is carried by the worker of the page."""
