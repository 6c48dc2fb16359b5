"""Parse XML of documents without entities and network access."""

from typing import Any

from ..errors import CgruError
from ..system.versions import installed

_ENTITIES = "its XML declares entities, which are not read"


def etree() -> Any:
    """lxml.etree. Raises CgruError if it is not installed."""
    return installed("lxml.etree", "documents")


def parsed(content: bytes) -> Any:
    """The tree of a file. Raises CgruError if the file declares entities."""
    parser = etree().XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree().fromstring(content, parser)
    except etree().XMLSyntaxError as error:
        if "entity amplification" in str(error):  # libxml2's own limit applies before this check
            raise CgruError(_ENTITIES) from None
        raise
    declared = root.getroottree().docinfo.internalDTD
    if declared is not None and any(True for _ in declared.iterentities()):
        raise CgruError(_ENTITIES)
    return root.getroottree()


def serialised(tree: Any) -> bytes:
    """The content of a file for a tree, in its encoding."""
    info = tree.docinfo
    return etree().tostring(
        tree,
        xml_declaration=True,
        encoding=info.encoding or "UTF-8",
        standalone=info.standalone or None,
    )
