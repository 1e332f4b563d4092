// swift-tools-version: 6.2
import PackageDescription

let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")

// What is read back from the disk, and from a field that names files. A package of its own: all of it is built with the
// fuzzer's instrumentation. What is no product of imgcache is here by symbolic links. Run it by scripts/fuzz.
let package = Package(
    name: "FuzzRecords",
    dependencies: [
        .package(name: "imgcache", path: "../../.."),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.3.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
    ],
    targets: [
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3"),
        .systemLibrary(name: "CXXHash", pkgConfig: "libxxhash"),
        .target(name: "CLinux"),
        .target(name: "Locking"),
        .target(name: "Units"),
        .target(
            name: "DiskStore",
            dependencies: [
                "CLinux", "CSQLite", "CXXHash", "Locking", "Units", .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: [.unsafeFlags(["-enable-testing"])]),
        .executableTarget(
            name: "RecordFuzzer",
            dependencies: ["DiskStore", httpTypes, .product(name: "HTTPCaching", package: "imgcache")]),
    ]
)
