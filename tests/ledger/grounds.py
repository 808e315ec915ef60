"""Where a ledger is, in the hands of somebody without its key: every byte can be read, written and deleted."""

import shutil
from pathlib import Path

from engines.store import BUCKET, client


class Ground(dict):
    """The files of a ledger by their paths, as they were when they were looked at."""

    def matching(self, *starts):
        return sorted(path for path in self if path.startswith(starts))


class FolderGround:
    """A folder of this machine."""

    def __init__(self, folder):
        self.folder, self.count = Path(folder), 0

    def new(self):
        self.count += 1
        return str(self.folder / f"ledger {self.count}")

    def look(self, place):
        files = (path for path in Path(place).rglob("*") if path.is_file())
        return Ground({path.relative_to(place).as_posix(): path.read_bytes() for path in files})

    def lay(self, place, files):
        shutil.rmtree(place, ignore_errors=True)
        for name, content in files.items():
            path = Path(place, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


class StoreGround:
    """An object store on loopback."""

    def __init__(self, address):
        self.client, self.address, self.count = client(address), address, 0

    def new(self):
        self.count += 1
        return f"s3://{BUCKET}/ledger{self.count}?endpoint_override={self.address}&scheme=http&region=us-east-1"

    def _listed(self, place):
        prefix = place.partition("?")[0].removeprefix(f"s3://{BUCKET}/") + "/"
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        return prefix, [each["Key"] for page in pages for each in page.get("Contents", ())]

    def look(self, place):
        prefix, keys = self._listed(place)
        return Ground(
            {key.removeprefix(prefix): self.client.get_object(Bucket=BUCKET, Key=key)["Body"].read() for key in keys}
        )

    def lay(self, place, files):
        prefix, keys = self._listed(place)
        for key in keys:
            self.client.delete_object(Bucket=BUCKET, Key=key)
        for name, content in files.items():
            self.client.put_object(Bucket=BUCKET, Key=prefix + name, Body=content)
