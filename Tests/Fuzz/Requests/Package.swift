// swift-tools-version: 6.2
import PackageDescription

// A separate package, so that all of it is built with the fuzzer's instrumentation. The request reader is not part of a product, so its
// sources and those of its dependencies are included by symbolic links. Run it by scripts/fuzz.
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
