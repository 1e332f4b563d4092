// swift-tools-version: 6.2
import PackageDescription

// A separate package, so that all of it is built with the fuzzer's instrumentation. ImageCodec is not a product of imgcache, so its sources
// are included by symbolic links. Run it by scripts/fuzz.
let package = Package(
    name: "FuzzImages",
    targets: [
        .target(name: "CImageCodec", linkerSettings: ["dl", "m"].map { .linkedLibrary($0) }),
        .target(name: "CLinux"),
        .target(name: "ImageCodec", dependencies: ["CImageCodec", "CLinux"]),
        .executableTarget(name: "ImageFuzzer", dependencies: ["CImageCodec", "ImageCodec"]),
    ]
)
