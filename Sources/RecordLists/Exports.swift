// The types of other modules that are part of this module's public API.
@_exported public import struct JSONParsing.JSONPointer
