import ipywidgets

from nousmem.viz._widgets import send_again


class Recording(ipywidgets.HTML):
    """Keeps the values that are sent."""

    def send_state(self, key: object = None) -> None:
        self.__dict__.setdefault("sent", []).append(self.value)
        super().send_state(key)


def test_a_value_is_sent_again_as_it_is_by_then() -> None:
    box = Recording("old")
    before = len(box.__dict__.get("sent", []))
    thread = send_again(box, "value", pauses=[0.2, 0])
    box.value = "new"
    thread.join(10)
    assert box.__dict__["sent"][before:] == ["new", "new", "new"]


def test_a_closed_widget_is_let_be() -> None:
    box = ipywidgets.HTML("old")
    box.close()
    thread = send_again(box, "value", pauses=[0])
    thread.join(10)
    assert not thread.is_alive()
