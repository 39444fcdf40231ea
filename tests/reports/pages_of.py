"""A page taken apart, as its tests look at it."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "br", "link", "img", "input", "hr"}


@dataclass
class Element:
    """One element with its attributes, its children and the text directly in it."""

    tag: str
    attributes: dict[str, str | None]
    parent: Element | None = None
    children: list[Element] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All text in it."""
        return " ".join(" ".join([*self.texts, *(c.text for c in self.children)]).split())

    def find(self, *tags: str) -> list[Element]:
        """All elements of these tags below it, in order."""
        found = []
        for child in self.children:
            found += [child] if child.tag in tags else []
            found += child.find(*tags)
        return found


class _Tree(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = self.here = Element("", {})

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs), self.here)
        self.here.children.append(element)
        if tag not in VOID:
            self.here = element

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.here.children.append(Element(tag, dict(attrs), self.here))

    def handle_endtag(self, tag: str) -> None:
        assert self.here.tag == tag, f"<{self.here.tag}> is closed by </{tag}>"
        assert self.here.parent is not None
        self.here = self.here.parent

    def handle_data(self, data: str) -> None:
        self.here.texts.append(data)


def parsed(html: str) -> Element:
    """The page as a tree; one that is not well formed is an error."""
    tree = _Tree()
    tree.feed(html)
    assert tree.here is tree.root
    return tree.root
