// swift-tools-version: 6.2
import PackageDescription

// A package of its own: all of it is built with the fuzzer's instrumentation. The request reader is part of no product, so its
// sources, and what they need of other modules, are here by symbolic links. Run it by scripts/fuzz.
let package = Package(
    name: "FuzzRequests",
    dependencies: [
        .package(url: "https://github.com/apple/swift-http-types", from: "1.3.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.86.0"),
    ],
    targets: [
        .target(
            name: "HTTPSemantics", dependencies: [.product(name: "HTTPTypes", package: "swift-http-types")],
            linkerSettings: [.linkedLibrary("dl")]),
        .target(name: "ConcurrencyPrimitives"),
        .executableTarget(
            name: "RequestFuzzer",
            dependencies: [
                "HTTPSemantics", "ConcurrencyPrimitives",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: [.enableUpcomingFeature("InternalImportsByDefault")]),
    ]
)
