// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that imgcache's stays without it. Run: swift run -c release
let package = Package(
    name: "decision-benchmark",
    dependencies: [
        .package(name: "imgcache", path: "../.."),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.3.0"),
    ],
    targets: [
        .executableTarget(
            name: "decision-benchmark",
            dependencies: [
                .product(name: "HTTPCaching", package: "imgcache"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        )
    ]
)
