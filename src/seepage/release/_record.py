"""An RO-Crate record of a publication: its files, and the disclosure check that it has passed, as JSON-LD.

The check is described as Five Safes RO-Crate describes one: an AssessAction of the additional type DisclosureCheck.
"""

import hashlib
import json
from collections.abc import Mapping

from seepage._decision import Decision
from seepage._version import __version__
from seepage.release._certificate import Certificate

RECORD = "ro-crate-metadata.json"
_CRATE = "https://w3id.org/ro/crate/1.2"


def record_of(certificate: Certificate, files: Mapping[str, str | bytes]) -> str:
    """Return the record of a certificate and of the files next to it, by their names."""
    contents = {name: text.encode() if isinstance(text, str) else text for name, text in files.items()}
    parts = [
        {
            "@id": name,
            "@type": "File",
            "name": name,
            "contentSize": str(len(content)),
            "sha256": hashlib.sha256(content).hexdigest(),
        }
        for name, content in contents.items()
    ]
    stated = certificate.decision
    decision = [] if stated is None else [f"Stated by the publisher: {Decision(**stated).whole()}"]
    software = {"@id": "https://pypi.org/project/seepage/", "@type": "SoftwareApplication", "name": "seepage"}
    check = {
        "@id": "#disclosure-check",
        "@type": "AssessAction",
        "additionalType": {"@id": "https://w3id.org/shp#DisclosureCheck"},
        "name": "Disclosure check of a published model",
        "description": " ".join([*certificate.targets, *certificate.qualifications, *decision]),
        "actionStatus": "http://schema.org/CompletedActionStatus",
        "endTime": certificate.created,
        "instrument": {"@id": software["@id"]},
        "object": {"@id": "./"},
    }
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": certificate.title,
        "description": f"A {certificate.published['estimator']} with noise, and the certificate of what it reveals.",
        "datePublished": certificate.created,
        "license": "Not stated: the publisher decides.",
        "hasPart": [{"@id": name} for name in files],
        "mentions": [{"@id": check["@id"]}],
    }
    metadata = {"@id": RECORD, "@type": "CreativeWork", "conformsTo": {"@id": _CRATE}, "about": {"@id": "./"}}
    graph = [metadata, root, *parts, check, {**software, "softwareVersion": __version__}]
    return json.dumps({"@context": f"{_CRATE}/context", "@graph": graph}, indent=2) + "\n"
