// swift-tools-version: 6.2
import PackageDescription

/// Every Swift target of the package: Swift 6 language mode (the tools version's default), warnings are errors,
/// and no reliance on what another file happened to import.
let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")

/// A product that only the command, or only the service, needs: resolved when the trait is enabled (see Decisions/Traits.md).
func product(_ name: String, _ package: String, for trait: String) -> Target.Dependency {
    .product(name: name, package: package, condition: .when(traits: [trait]))
}
let argumentParser = product("ArgumentParser", "swift-argument-parser", for: "Command")
let nioCore = product("NIOCore", "swift-nio", for: "Service")
let nioEmbedded = product("NIOEmbedded", "swift-nio", for: "Service")
let nioPosix = product("NIOPosix", "swift-nio", for: "Service")
let metrics = product("Metrics", "swift-metrics", for: "Service")

let package = Package(
    name: "imgcache",
    products: [
        .library(name: "ImageCache", targets: ["ImageCache", "Transfer"]),
        .library(name: "HTTPCaching", targets: ["HTTPCaching", "HTTPSemantics"]),
        .library(name: "MemoryCache", targets: ["MemoryCache"]),
        .library(name: "RecordLists", targets: ["RecordLists"]),
        .library(name: "Fleet", targets: ["Fleet"]),
        .library(name: "ImageCacheTesting", targets: ["ImageCacheTesting"]),
        .executable(name: "imgcache", targets: ["imgcache"]),
        .executable(name: "imgcache-server", targets: ["imgcache-server"]),
    ],
    traits: [
        // Who uses the library alone depends on this package with `traits: []`, and resolves three packages.
        .default(enabledTraits: ["Command", "Service"]),
        .trait(name: "Command", description: "The command imgcache."),
        .trait(name: "Service", description: "The service imgcache-server."),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        .package(url: "https://github.com/apple/swift-http-structured-headers", from: "1.2.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.3.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        // The service's alone. swift-configuration comes
        // without its JSON provider, which brings all of Foundation (see Sources/imgcache-server/Configuration).
        .package(url: "https://github.com/apple/swift-configuration", from: "1.0.0", traits: []),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.86.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.8.0"),
    ],
    targets: [
        // System libraries and C shims.
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .target(name: "CLibcurl", linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
        .target(name: "CLinux"),
        .target(name: "CXXHash"),
        .target(
            name: "CImageCodec",
            linkerSettings: ["dl", "m"].map { .linkedLibrary($0) }),

        // The house: arrows go down only (see Sources/ImageCache/ImageCache.docc/Architecture.md).
        .target(name: "ConcurrencyPrimitives", swiftSettings: strict),
        .target(name: "Digests", dependencies: ["DynamicLibraries"], swiftSettings: strict),
        .target(
            name: "DownloadLists", dependencies: ["Digests", "HTTPSemantics", "TextIdentity", "XMLParsing"],
            swiftSettings: strict),
        .target(
            name: "DynamicLibraries", dependencies: ["ConcurrencyPrimitives"], swiftSettings: strict,
            linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
        .target(name: "JSONParsing", dependencies: ["TextIdentity"], swiftSettings: strict),
        .target(name: "ProcessLimits", swiftSettings: strict),
        .target(name: "ProgramVersion", dependencies: ["CLinux"], swiftSettings: strict),
        .target(name: "TextIdentity", swiftSettings: strict),
        .target(name: "Units", swiftSettings: strict),
        .target(name: "XMLParsing", dependencies: ["DynamicLibraries"], swiftSettings: strict),
        .target(name: "Zsync", dependencies: ["Digests"], swiftSettings: strict),
        .target(name: "URLSigning", dependencies: ["Digests"], swiftSettings: strict),
        .target(name: "HTTPSemantics", dependencies: ["DynamicLibraries", httpTypes], swiftSettings: strict),
        .target(
            name: "HTTPCaching",
            dependencies: [
                "Digests", "HTTPSemantics", httpTypes,
                .product(name: "RawStructuredFieldValues", package: "swift-http-structured-headers"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Transfer",
            dependencies: [
                "CLibcurl", "HTTPSemantics", "ConcurrencyPrimitives", "TextIdentity", "Units", httpTypes,
            ],
            swiftSettings: strict),
        .target(
            name: "RemoteStore",
            dependencies: ["ConcurrencyPrimitives", "Digests", "HTTPSemantics", "Transfer", "XMLParsing", httpTypes],
            swiftSettings: strict),
        .target(
            name: "DiskStore",
            dependencies: [
                "CLinux", "CSQLite", "CXXHash", "ConcurrencyPrimitives", "TextIdentity", "Units", logging,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "MemoryCache", dependencies: ["CLinux", "ConcurrencyPrimitives", logging], swiftSettings: strict),
        .target(name: "ImageCodec", dependencies: ["CImageCodec", "CLinux"], swiftSettings: strict),
        .target(
            name: "ImageEffects", dependencies: ["CXXHash", "Digests", "ImageCodec"], swiftSettings: strict),
        .target(name: "WorkerProcesses", dependencies: ["CLinux", "ConcurrencyPrimitives"], swiftSettings: strict),
        .target(
            name: "ImageCache",
            dependencies: [
                "CXXHash", "Digests", "DiskStore", "HTTPCaching", "HTTPSemantics", "ImageCodec",
                "ImageEffects", "ConcurrencyPrimitives", "JSONParsing",
                "MemoryCache", "TextIdentity", "Transfer", "Units", "WorkerProcesses", httpTypes,
                logging,
                .product(name: "RawStructuredFieldValues", package: "swift-http-structured-headers"),
            ],
            swiftSettings: strict
        ),
        // A bucket that machines share.
        .target(
            name: "Fleet",
            dependencies: [
                "ConcurrencyPrimitives", "Digests", "DiskStore", "HTTPCaching", "HTTPSemantics", "ImageCache",
                "RemoteStore", "TextIdentity", "Transfer", httpTypes, logging,
            ],
            swiftSettings: strict
        ),
        // Lists of records in sync with a server.
        .target(
            name: "RecordLists",
            dependencies: [
                "ConcurrencyPrimitives", "DiskStore", "HTTPSemantics", "ImageCache", "JSONParsing", "TextIdentity",
                "Transfer", "Units", httpTypes,
            ],
            swiftSettings: strict
        ),
        // For users' tests, and ours: a cache without a network.
        .target(
            name: "ImageCacheTesting",
            dependencies: ["HTTPSemantics", "ImageCache", "ConcurrencyPrimitives", "Transfer", httpTypes],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "imgcache",
            dependencies: [
                "DiskStore", "Digests", "DownloadLists", "Fleet", "HTTPSemantics", "ImageCache", "ImageCodec",
                "ImageEffects",
                "ConcurrencyPrimitives", "JSONParsing", "ProcessLimits", "ProgramVersion", "RecordLists", "RemoteStore",
                "TextIdentity",
                "Transfer", "URLSigning", "Units", "Zsync", logging,
                argumentParser,
            ],
            swiftSettings: strict
        ),
        // The service.
        .target(
            name: "HTTPServer",
            dependencies: [
                "CLinux", "HTTPSemantics", "ConcurrencyPrimitives", httpTypes,
                nioCore,
                nioPosix,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "ImageProxy",
            dependencies: [
                "CLinux", "Digests", "HTTPCaching", "HTTPSemantics", "HTTPServer", "ImageCache", "ImageEffects",
                "ConcurrencyPrimitives",
                "RemoteStore", "Transfer", "URLSigning", "Units", "Zsync",
                httpTypes,
            ],
            swiftSettings: strict
        ),
        .target(
            name: "ImageProxyAdmin",
            dependencies: [
                "Digests", "Fleet", "HTTPCaching", "HTTPSemantics", "HTTPServer", "ImageCache", "ImageProxy",
                "ConcurrencyPrimitives", "Units",
                httpTypes,
                logging,
                metrics,
                nioCore,
                nioPosix,
            ],
            resources: [.embedInCode("Page")],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "imgcache-server",
            dependencies: [
                "CLinux", "Digests", "Fleet", "HTTPCaching", "HTTPSemantics", "HTTPServer", "ImageCache", "ImageCodec",
                "ImageProxy",
                "ImageProxyAdmin", "ConcurrencyPrimitives", "JSONParsing", "ProcessLimits", "ProgramVersion",
                "RemoteStore", "Transfer",
                "URLSigning", "Units", httpTypes,
                logging,
                product("Configuration", "swift-configuration", for: "Service"),
                nioCore,
                nioPosix,
                product("ServiceLifecycle", "swift-service-lifecycle", for: "Service"),
                product("UnixSignals", "swift-service-lifecycle", for: "Service"),
            ],
            swiftSettings: strict
        ),

        // Examples: built with everything else, so that they stay right.
        .executableTarget(
            name: "example-downloader", dependencies: ["ImageCache"], path: "Examples/Downloader",
            swiftSettings: strict),
        .executableTarget(
            name: "example-offline-reader", dependencies: ["ImageCache"], path: "Examples/OfflineReader",
            swiftSettings: strict),
        .executableTarget(
            name: "example-zip-list", dependencies: ["ImageCache"], path: "Examples/ZipList",
            swiftSettings: strict),

        // Tests: unit tests open no socket and no database; integration tests use the real thing.
        .target(
            name: "TestSupport", dependencies: ["ConcurrencyPrimitives", "ImageCodec", logging],
            path: "Tests/TestSupport",
            swiftSettings: strict),
        .target(
            name: "CacheTestSupport",
            dependencies: [
                "ConcurrencyPrimitives", "ImageCache", "ImageCacheTesting", "TestSupport", logging,
            ],
            path: "Tests/CacheTestSupport", swiftSettings: strict),
        // A process whose every system call is seen, and may be its last (see Tests/CrashPoints/CrashPoints.swift).
        .target(name: "CTracing", path: "Tests/CTracing"),
        .executableTarget(
            name: "crash-points", dependencies: ["CSQLite", "CTracing", "ConcurrencyPrimitives", "DiskStore", logging],
            path: "Tests/CrashPoints", swiftSettings: strict),
        .testTarget(name: "ConcurrencyPrimitivesTests", dependencies: ["ConcurrencyPrimitives"], swiftSettings: strict),
        .testTarget(name: "DigestsTests", dependencies: ["Digests"], swiftSettings: strict),
        .testTarget(name: "DownloadListsTests", dependencies: ["Digests", "DownloadLists"], swiftSettings: strict),
        .testTarget(name: "DynamicLibrariesTests", dependencies: ["DynamicLibraries"], swiftSettings: strict),
        .testTarget(name: "JSONParsingTests", dependencies: ["JSONParsing", "TestSupport"], swiftSettings: strict),
        .testTarget(name: "TextIdentityTests", dependencies: ["TextIdentity"], swiftSettings: strict),
        .testTarget(name: "UnitsTests", dependencies: ["Units"], swiftSettings: strict),
        .testTarget(name: "WorkerProcessesTests", dependencies: ["CLinux", "WorkerProcesses"], swiftSettings: strict),
        .testTarget(name: "ZsyncTests", dependencies: ["Digests", "TestSupport", "Zsync"], swiftSettings: strict),
        .testTarget(name: "XMLParsingTests", dependencies: ["XMLParsing"], swiftSettings: strict),
        .testTarget(name: "URLSigningTests", dependencies: ["URLSigning"], swiftSettings: strict),
        .testTarget(
            name: "HTTPSemanticsTests", dependencies: ["DynamicLibraries", "HTTPSemantics", "TestSupport", httpTypes],
            swiftSettings: strict
        ),
        .testTarget(
            name: "HTTPCachingTests", dependencies: ["HTTPCaching", "HTTPSemantics", "TestSupport", httpTypes],
            swiftSettings: strict),
        .testTarget(
            name: "TransferTests", dependencies: ["HTTPSemantics", "Transfer", "TestSupport", "Units", httpTypes],
            swiftSettings: strict),
        .testTarget(
            name: "RemoteStoreTests",
            dependencies: ["ConcurrencyPrimitives", "Digests", "RemoteStore", "Transfer", httpTypes],
            swiftSettings: strict),
        .testTarget(
            name: "ImageCodecTests", dependencies: ["CImageCodec", "ImageCodec", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "ImageEffectsTests", dependencies: ["ImageCodec", "ImageEffects", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "DiskStoreTests",
            dependencies: ["CLinux", "DiskStore", "ConcurrencyPrimitives", "TestSupport", "TextIdentity", logging],
            swiftSettings: strict),
        .testTarget(
            name: "MemoryCacheTests", dependencies: ["ConcurrencyPrimitives", "MemoryCache", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "MemoryPressureTests",
            dependencies: ["ConcurrencyPrimitives", "MemoryCache", "TestSupport", logging],
            swiftSettings: strict),
        .testTarget(
            name: "ImageCacheTests",
            dependencies: [
                "CacheTestSupport", "Digests", "DiskStore", "HTTPCaching", "HTTPSemantics", "ImageCache",
                "ImageCacheTesting", "ImageCodec", "ImageEffects",
                "ConcurrencyPrimitives", "MemoryCache",
                "TestSupport", "TextIdentity",
                "Transfer", "WorkerProcesses", httpTypes,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "FleetTests",
            dependencies: [
                "CacheTestSupport", "ConcurrencyPrimitives", "Digests", "Fleet", "HTTPSemantics", "ImageCache",
                "ImageCacheTesting", "RemoteStore", "TestSupport", "Transfer", httpTypes,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "RecordListsTests",
            dependencies: [
                "CacheTestSupport", "ConcurrencyPrimitives", "DiskStore", "ImageCache", "ImageCacheTesting",
                "RecordLists",
                "TestSupport", "Transfer", httpTypes,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "CommandTests",
            dependencies: [
                "DiskStore", "DownloadLists", "HTTPSemantics", "ImageCache", "ImageEffects", "ProcessLimits",
                "TestSupport", "imgcache",
                argumentParser,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "CSQLite", "CacheTestSupport", "DiskStore", "Fleet", "HTTPCaching", "ImageCache", "ImageCodec",
                "ConcurrencyPrimitives",
                "TestSupport",
                "Transfer", "Units", "imgcache", httpTypes, logging,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "HTTPServerTests",
            dependencies: [
                "HTTPSemantics", "HTTPServer", "ConcurrencyPrimitives", "TestSupport", httpTypes,
                nioCore,
                nioEmbedded,
                nioPosix,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ImageProxyTests",
            dependencies: [
                "ConcurrencyPrimitives", "HTTPServer", "ImageCache", "ImageEffects", "ImageProxy", "TestSupport",
                "Transfer", "URLSigning",
                httpTypes,
                nioCore,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ImageProxyAdminTests",
            dependencies: [
                "ConcurrencyPrimitives", "HTTPCaching", "HTTPServer", "ImageCache", "ImageProxy", "ImageProxyAdmin",
                "Units",
                httpTypes,
                metrics,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ServerTests",
            dependencies: [
                "ConcurrencyPrimitives", "HTTPSemantics", "HTTPServer", "ImageCache", "ImageProxy", "ProcessLimits",
                "RemoteStore", "TestSupport", "imgcache-server", httpTypes, logging,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ServerIntegrationTests",
            dependencies: [
                "HTTPServer", "ImageCache", "ImageCodec", "ConcurrencyPrimitives", "TestSupport", "URLSigning",
                "imgcache",
                "imgcache-server",
                httpTypes,
                nioCore,
                nioPosix,
            ],
            exclude: [
                "Framing/llhttp.js", "Soak/clients.py", "Soak/origin.py", "Soak/plot.py", "Soak/service_soak.py",
            ],
            swiftSettings: strict),
    ]
)
