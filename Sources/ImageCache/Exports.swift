// The facade is the only module that users import: its requests and answers are made of these modules' types.
@_exported public import DiskStore
@_exported public import HTTPCaching
@_exported public import HTTPSemantics
@_exported public import HTTPTypes
@_exported public import ImageCodec
@_exported public import MemoryCache
@_exported public import Transfer

@_exported public import struct Digests.Digest
@_exported public import enum Digests.DigestAlgorithm
@_exported public import struct Digests.PieceDigests
