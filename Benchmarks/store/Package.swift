// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that imgcache's stays without it. DiskStore is no product of imgcache, so its sources, and what they need
// of other modules, are here by symbolic links.
let package = Package(
    name: "store-benchmark",
    dependencies: [.package(url: "https://github.com/apple/swift-log", from: "1.6.0")],
    targets: [
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3"),
        .target(name: "CXXHash"),
        .target(name: "CLinux"),
        .target(name: "ConcurrencyPrimitives"),
        .target(name: "TextIdentity"),
        .target(name: "Units"),
        .target(
            name: "DiskStore",
            dependencies: [
                "CLinux", "CSQLite", "CXXHash", "ConcurrencyPrimitives", "TextIdentity", "Units",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: [.enableUpcomingFeature("InternalImportsByDefault")]),
        .executableTarget(name: "store-benchmark", dependencies: ["ConcurrencyPrimitives", "DiskStore"]),
    ]
)
