"""anywidget's interface for the page; the page's script is the front end of byoc_lab's widgets."""

from byoc_lab_lite.models import Model


class AnyWidget(Model):
    """A widget whose model is transferred by the worker of the page."""
