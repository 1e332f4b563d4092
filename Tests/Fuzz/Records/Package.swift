// swift-tools-version: 6.2
import PackageDescription

let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")

// The readers of data from the disk, and of the field that names files. A separate package, so that all of it is built with the fuzzer's
// instrumentation. The modules are included by symbolic links, because a package cannot contain a target with the name of another package's
// target. Run it by scripts/fuzz.
let package = Package(
    name: "FuzzRecords",
    dependencies: [
        .package(url: "https://github.com/apple/swift-http-structured-headers", from: "1.2.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.3.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
    ],
    targets: [
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3"),
        .target(name: "CXXHash"),
        .target(name: "CLinux"),
        .target(name: "ConcurrencyPrimitives"),
        .target(name: "Units"),
        .target(
            name: "DiskStore",
            dependencies: [
                "CLinux", "CSQLite", "CXXHash", "ConcurrencyPrimitives", "Units",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: [.unsafeFlags(["-enable-testing"])]),
        .target(name: "Digests", linkerSettings: [.linkedLibrary("dl")]),
        .target(name: "HTTPSemantics", linkerSettings: [.linkedLibrary("dl")]),
        .target(
            name: "HTTPCaching",
            dependencies: [
                "Digests", "HTTPSemantics", httpTypes,
                .product(name: "RawStructuredFieldValues", package: "swift-http-structured-headers"),
            ]),
        .executableTarget(name: "RecordFuzzer", dependencies: ["DiskStore", "HTTPCaching", httpTypes]),
    ]
)
