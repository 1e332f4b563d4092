// swift-tools-version: 6.2
import PackageDescription

// A separate package, so that all of it is built with the fuzzer's instrumentation. HTTPSemantics and Transfer are not products of
// imgcache, so their sources are included by symbolic links. Run it by scripts/fuzz.
let package = Package(
    name: "FuzzWire",
    dependencies: [.package(url: "https://github.com/apple/swift-http-types", from: "1.3.0")],
    targets: [
        .target(name: "CLibcurl", linkerSettings: [.linkedLibrary("dl")]),
        .target(
            name: "HTTPSemantics", dependencies: [.product(name: "HTTPTypes", package: "swift-http-types")],
            linkerSettings: [.linkedLibrary("dl")]),
        .target(name: "ConcurrencyPrimitives"),
        .target(
            name: "Transfer",
            dependencies: [
                "CLibcurl", "HTTPSemantics", "ConcurrencyPrimitives",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]),
        .executableTarget(
            name: "WireFuzzer",
            dependencies: [
                "HTTPSemantics", "Transfer", .product(name: "HTTPTypes", package: "swift-http-types"),
            ]),
    ]
)
