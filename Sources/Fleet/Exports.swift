// The types of other modules that are part of this module's public API.
@_exported public import struct RemoteStore.RemoteConfigurationError
@_exported public import struct RemoteStore.RemoteStoreConfiguration
@_exported public import struct RemoteStore.S3Credentials
@_exported public import struct RemoteStore.S3Location
