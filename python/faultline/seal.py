# SPDX-License-Identifier: Apache-2.0
"""The checksums at the ends of a run's files, by which damage is seen: src/runs/seal.hpp."""

import zlib

JSON = (b',\n"checksum": "', b'"}\n')
DATABASE = (b"faultline checksum ", b"")


def seal_of(content, kind):
    """What stands behind these bytes in a file that is whole."""
    before, after = kind
    return before + b"%08x" % zlib.crc32(content) + after


def is_sealed(data, kind):
    content = memoryview(data)[:-len(seal_of(b"", kind))]
    return data[len(content):] == seal_of(content, kind)
