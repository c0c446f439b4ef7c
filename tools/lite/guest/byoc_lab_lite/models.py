"""The models of widgets: their synchronised traits are the same in Python and in the page."""

import weakref
from itertools import count

import traitlets

from byoc_lab_lite.channel import send

_models = weakref.WeakValueDictionary()
_numbers = count(1)


class Model(traitlets.HasTraits):
    """Traits with `sync=True` are sent to the page when they change; the page can also set them."""

    def __init__(self, **values):
        self.model_id = f"model{next(_numbers)}"
        self._from_page = {}
        super().__init__(**values)
        _models[self.model_id] = self
        weakref.finalize(self, send, "model", model=self.model_id, values=None)
        names = self.trait_names(sync=True)
        send("model", model=self.model_id, values={name: getattr(self, name) for name in names})
        self.observe(self._send, names)

    def _send(self, change):
        name, value = change["name"], change["new"]
        if name not in self._from_page or self._from_page[name] != value:
            send("model", model=self.model_id, values={name: value})

    def set_state(self, sync_data):
        """Set the traits that the page has changed."""
        self._from_page = sync_data
        try:
            with self.hold_trait_notifications():
                for name in self.trait_names(sync=True):
                    if name in sync_data:
                        setattr(self, name, sync_data[name])
        finally:
            self._from_page = {}


def receive(model, values):
    """Set traits of a model; if Python no longer has the model, the page deletes it."""
    found = _models.get(model)
    if found is not None:
        found.set_state(values)
