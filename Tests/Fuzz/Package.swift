// swift-tools-version: 6.2
import PackageDescription

// A separate package, so that all of it is built with the fuzzer's instrumentation. Run it by scripts/fuzz.
let package = Package(
    name: "Fuzz",
    dependencies: [
        .package(name: "imgcache", path: "../.."),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.3.0"),
    ],
    targets: [
        .executableTarget(
            name: "CachingFuzzer",
            dependencies: [
                .product(name: "HTTPCaching", package: "imgcache"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        )
    ]
)
