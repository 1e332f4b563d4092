// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that nobody who uses the library gets Hummingbird. `scripts/build-examples` builds it.
let package = Package(
    name: "HummingbirdService",
    dependencies: [
        .package(name: "imgcache", path: "../.."),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.20.0", traits: []),
    ],
    targets: [
        .executableTarget(
            name: "HummingbirdService",
            dependencies: [
                .product(name: "ImageCache", package: "imgcache"),
                .product(name: "Hummingbird", package: "hummingbird"),
            ])
    ]
)
